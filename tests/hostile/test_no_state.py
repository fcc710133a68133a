"""Nothing of one run is there for the next, on a daemon whose workers all come from one process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from serving import ServedDaemon, children_of, workers_of
from tooltoolexec import Executor, connect

from .attacks import STORE, answer_one

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def executor(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Executor]:
    """One worker at a time, so each run takes the place of the one before."""
    with ServedDaemon(tmp_path_factory.mktemp("alone"), ["--workers", "1", "--warm", "1"]) as daemon:
        async with connect(daemon.unix) as executor:
            yield executor


LEFT_BEHIND = {
    "a global": ("globalThis.left = 1", "typeof left"),
    "a declaration": ("(0, eval)('var left = 1; function also() {}')", "typeof left + typeof also"),
    "a field of all objects": ("Object.prototype.left = 1", "typeof ({}).left"),
    "a method": ("Array.prototype.map = () => 'left'", "[1].map(String).join()"),
    "how promises go on": ("Promise.prototype.then = 1", "typeof Promise.resolve().then"),
    "the console": ("console.left = 1; console.count(); console.group()", "[console.left, console.count()]"),
    "a setting of the engine": ("Error.stackTraceLimit = 0", "Error.stackTraceLimit"),
    "a provider's field": ("store.left = 1", "typeof store.left"),
    "a shared symbol": ("globalThis[Symbol.for('left')] = 1", "typeof globalThis[Symbol.for('left')]"),
    "the last match": ("/(l)(e)(f)(t)/.test('left')", "RegExp.$1 + RegExp.lastMatch"),
    "the timers' numbers": ("setTimeout(() => {}, 1)", "setTimeout(() => {}, 1)"),
    "the entry object": ("__entry.left = 1", "typeof __entry.left"),
    "what is missing": ("delete globalThis.JSON; delete Math.max", "[typeof JSON, typeof Math.max]"),
}


@pytest.mark.parametrize(("leave", "look"), LEFT_BEHIND.values(), ids=LEFT_BEHIND.keys())
async def test_what_a_run_leaves_behind_is_gone(executor: Executor, leave: str, look: str) -> None:
    fresh = await executor.execute(f"async () => {look}", STORE, dispatch=answer_one)
    left = await executor.execute(f"async () => {{ {leave}; return 1 }}", STORE, dispatch=answer_one)
    assert left.result == 1, left.failure
    after = await executor.execute(f"async () => {look}", STORE, dispatch=answer_one)
    assert (after.result, after.failure, after.logs) == (fresh.result, fresh.failure, fresh.logs)


async def test_a_timer_ends_with_its_run(executor: Executor) -> None:
    calls: list[str] = []

    async def note(_provider: str, tool: str, _args: str) -> str:
        calls.append(tool)
        return '{"result":1}'

    begins = "async () => { setInterval(() => store.ghost(), 1); await store.real(); return 1 }"
    assert (await executor.execute(begins, STORE, dispatch=note)).result == 1
    during = len(calls)
    waits = "async () => { await new Promise((go) => setTimeout(go, 50)); return 2 }"
    assert (await executor.execute(waits, STORE, dispatch=note)).result == 2
    assert len(calls) == during


async def test_a_late_answer_to_one_run_never_reaches_the_next(executor: Executor) -> None:
    """Both runs have a call of the same number on its way at the same time."""
    released, answered = anyio.Event(), anyio.Event()

    async def late(_provider: str, _tool: str, _args: str) -> str:
        try:
            await released.wait()
            return '{"result":"of the first run"}'
        finally:
            answered.set()

    async def own(_provider: str, _tool: str, _args: str) -> str:
        released.set()
        await answered.wait()
        return '{"result":"of the second run"}'

    assert (await executor.execute("async () => { store.f(); return 1 }", STORE, dispatch=late)).result == 1
    assert not answered.is_set()
    assert (await executor.execute("async () => await store.f()", STORE, dispatch=own)).result == "of the second run"


async def test_every_run_has_a_name_of_its_own_which_its_program_cannot_read(executor: Executor) -> None:
    reads = "() => [Object.values(__entry), Reflect.ownKeys(globalThis), new Error().stack].map(String).join()"
    runs = [await executor.execute(reads) for _ in range(5)]
    assert len({run.id for run in runs}) == len(runs)
    assert all(isinstance(run.result, str) and run.id not in run.result for run in runs)


async def test_no_two_workers_draw_the_same_random_numbers(executor: Executor) -> None:
    """They are forked from one process, in which the engine has run already."""
    draws: list[float] = []
    for _ in range(8):
        run = await executor.execute("async () => Array.from({ length: 4 }, Math.random)")
        assert isinstance(run.result, list)
        draws += run.result
    assert len(set(draws)) == len(draws) == 32


async def test_a_worker_has_nothing_of_the_daemons_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLTOOLEXEC_TEST_SECRET", "sesame")
    with ServedDaemon(tmp_path, ["--workers", "1", "--warm", "1"]) as daemon:
        assert b"=sesame" in environment_of(daemon.pid)
        async with connect(daemon.unix) as executor, anyio.create_task_group() as group:
            waiting = anyio.Event()

            async def wait(_provider: str, _tool: str, _args: str) -> str:
                waiting.set()
                await anyio.sleep_forever()
                raise AssertionError

            async def run() -> None:
                await executor.execute("async () => await store.f()", STORE, dispatch=wait)

            group.start_soon(run)
            await waiting.wait()  # So what is looked at is a worker with a run, and no short-lived child of its parent.
            busy = [pid for pid in workers_of(daemon.pid) if has_its_isolate(pid)]
            assert busy
            # An ordinary user may not read a worker's; it is a fork of the zygote, whose file says the same.
            places = busy if os.geteuid() == 0 else children_of(daemon.pid)
            for place in places:
                assert environment_of(place).strip(b"\0") == b""  # What the linker needed is overwritten with zeros.
            group.cancel_scope.cancel()


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def has_its_isolate(pid: int) -> bool:
    """It has threads then; the children in which a zygote tries something out have none."""
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    return False
