"""Retained runs and their pool: what ends them, who hears of it, and that each gives back its place."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import anyio
import pytest

from serving import PATIENCE_S, BareClient, ServedDaemon, kill_hard, until, workers_of
from tooltoolexec import Executor, HandleReleased, Limits, Run, connect
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import Done, Execute, Invoke, Report, Returns

from .conftest import StartDaemon
from .test_worker_faults import reports, runs_fine

pytestmark = pytest.mark.anyio

ECHO = "async () => __retainHandle((x) => x)"
BUSY = "async () => __retainHandle(() => { console.log('busy'); for (;;); })"


@pytest.fixture
def pool(start_daemon: StartDaemon) -> ServedDaemon:
    """One run at a time, and thirty that are parked."""
    return start_daemon("--workers", "1", "--parked", "30", "--warm", "1")


async def kept(executor: Executor, code: str = ECHO, limits: Limits | None = None) -> Run:
    run = await executor.execute(code, retain_handles=True, limits=limits)
    assert run.failure is None, run.failure
    assert run.retained is not None
    return run


async def released(run: Run) -> str:
    """Why its handle cannot be called any more."""
    with pytest.raises(HandleReleased) as raised:
        await run.result()
    assert run.retained is not None
    assert run.retained.closed
    return str(raised.value)


async def called_until_released(run: Run, *args: int) -> tuple[int, str]:
    """How often its handle could be called, and why no more."""
    calls = 0
    while True:
        try:
            await run.result(*args)
        except HandleReleased as error:
            return calls, str(error)
        calls += 1


def is_at_rest(report: Report) -> bool:
    return (report.running_now, report.parked_now) == (0, 0)


def outcomes(daemon: ServedDaemon) -> list[str]:
    """How the daemon's log says that runs ended."""
    return [line.split('"outcome": "')[1].split('"')[0] for line in daemon.log if '"outcome": "' in line]


async def test_twenty_retained_runs_leave_a_pool_of_one_to_others(pool: ServedDaemon) -> None:
    async with connect(pool.unix) as executor:
        runs = []
        for _ in range(20):
            runs.append(await kept(executor))
            await reports(executor, lambda report: report.parked_now == len(runs))
        await runs_fine(executor)
        await reports(executor, lambda report: (report.running_now, report.parked_now) == (20, 20))
        assert [await run.result(number) for number, run in enumerate(runs)] == list(range(20))
        await runs_fine(executor)
        for run in runs:
            assert run.retained is not None
            await run.retained.aclose()
        await reports(executor, is_at_rest)
    await until(lambda: outcomes(pool) == ["ok"] * 22, "each in the log")


async def test_leaving_the_executor_releases_what_is_open(pool: ServedDaemon) -> None:
    async with connect(pool.unix) as executor:
        run = await kept(executor)
        await run.result()
    assert await released(run) == "The handle was released: its run's isolate has ended"
    async with connect(pool.unix) as executor:
        await reports(executor, is_at_rest)


@pytest.mark.parametrize("place", ["unix", "tcp", "tls"])
async def test_past_the_idle_limit_a_run_is_released(start_daemon: StartDaemon, place: str) -> None:
    """Timers and their log lines go on until then, and make it no longer."""
    daemon = start_daemon("--workers", "1", "--warm", "1", "--retained-idle-s", "0.3")
    lines: list[str] = []
    async with daemon.connect(place) as executor:
        code = "async () => { setInterval(() => console.log('tick'), 20); return __retainHandle(() => 1) }"
        run = await executor.execute(code, retain_handles=True, on_log=lambda _level, text: lines.append(text))
        assert run.retained is not None
        await until(lambda: run.retained is not None and run.retained.closed, "the release")
        assert await released(run) == f"The handle was released: {texts.handles_idle(0.3)}"
        assert len(lines) > 3
        await reports(executor, is_at_rest)
    await until(lambda: outcomes(daemon) == ["ok"], "the log")


async def test_calls_put_the_idle_limit_off_and_one_under_way_holds_it_up(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--warm", "1", "--retained-idle-s", "0.3")
    async with connect(daemon.unix) as executor:
        run = await kept(executor, "async () => __retainHandle((ms) => new Promise((go) => setTimeout(go, ms)))")
        for wait_ms in (200, 200, 500):
            await run.result(wait_ms)
        await until(lambda: run.retained is not None and run.retained.closed, "the release")


async def test_a_worker_that_is_killed_releases_its_handles(pool: ServedDaemon) -> None:
    async with connect(pool.unix) as executor:
        run = await kept(executor, "async () => __retainHandle(() => new Promise(() => {}))")
        await reports(executor, lambda report: report.parked_now == 1)

        async def kill() -> None:
            await anyio.wait_all_tasks_blocked()
            for worker in workers_of(pool.pid):
                kill_hard(worker)

        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            assert await released(run) == "The handle was released: its run's isolate has ended"
        await reports(executor, is_at_rest)
        await runs_fine(executor)
    await until(lambda: outcomes(pool) == ["ok"] * 2, "both in the log: the run had worked")


@pytest.mark.parametrize("place", ["unix", "tcp", "tls"])
async def test_a_client_that_goes_ends_the_isolate_even_one_that_computes(
    start_daemon: StartDaemon, place: str
) -> None:
    daemon = start_daemon("--workers", "1", "--warm", "1")
    told = anyio.Event()
    async with daemon.connect(place) as executor, daemon.connect("unix") as other:
        run = await executor.execute(BUSY, retain_handles=True, on_log=lambda _level, _text: told.set())
        async with anyio.create_task_group() as group:
            group.start_soon(released, run)
            await told.wait()
            assert run.retained is not None
            await run.retained.aclose()
        await reports(other, is_at_rest)


async def test_a_memory_bomb_in_a_function_ends_only_its_isolate(pool: ServedDaemon) -> None:
    code = "async () => __retainHandle(() => { const all = []; for (;;) all.push(new Array(1e4).fill(all.length)) })"
    async with connect(pool.unix) as executor:
        run = await kept(executor, code, Limits(memory_mb=32))
        assert await released(run) == f"The handle was released: {texts.memory(32)}"
        await reports(executor, is_at_rest)
        await runs_fine(executor)


async def test_the_cpu_limit_is_for_the_whole_life(pool: ServedDaemon) -> None:
    code = "async () => __retainHandle((ms) => { const end = Date.now() + ms; while (Date.now() < end); return 'ok' })"
    async with connect(pool.unix) as executor:
        run = await kept(executor, code, Limits(cpu_s=0.3, wall_s=20))
        calls, reason = await called_until_released(run, 50)
        assert reason == f"The handle was released: {texts.cpu(0.3)}"
        assert calls >= 2
        await reports(executor, is_at_rest)


async def test_a_drain_lets_retained_runs_go_on_for_the_grace_period(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "2", "--warm", "1", "--grace-s", "1")
    async with connect(daemon.unix) as executor:
        run = await kept(executor)
        os.kill(daemon.pid, signal.SIGTERM)
        await until(lambda: '"draining"' in "".join(daemon.log), "the drain")
        assert await run.result("still here") == "still here"
        await until(lambda: run.retained is not None and run.retained.closed, "the release")
        assert await released(run) == f"The handle was released: {texts.SHUTDOWN}"
    await until(lambda: outcomes(daemon) == ["ok"], "the log")
    await anyio.to_thread.run_sync(daemon.process.wait, PATIENCE_S)
    assert daemon.process.returncode == 0


async def test_a_retained_run_that_ends_lets_a_drain_end(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--warm", "1", "--grace-s", "1000")
    async with connect(daemon.unix) as executor:
        run = await kept(executor)
        os.kill(daemon.pid, signal.SIGTERM)
        await until(lambda: '"draining"' in "".join(daemon.log), "the drain")
        assert run.retained is not None
        await run.retained.aclose()
    await anyio.to_thread.run_sync(daemon.process.wait, PATIENCE_S)
    assert daemon.process.returncode == 0


async def test_a_stopped_worker_is_ended_by_the_daemon(start_daemon: StartDaemon) -> None:
    """It does not see to its own idle limit any more."""
    daemon = start_daemon(
        *("--workers", "1", "--warm", "1", "--retained-idle-s", "0.1"),
        preparation="from tooltoolexec_executor import runs; runs._RETAINED_GRACE_S = 0.1",
    )
    async with connect(daemon.unix) as executor:
        run = await executor.execute(
            "async () => __retainHandle(() => new Promise(() => {}))", retain_handles=True, limits=Limits(wall_s=0.5)
        )
        for worker in workers_of(daemon.pid):
            os.kill(worker, signal.SIGSTOP)
        assert "released" in await released(run)
        await reports(executor, is_at_rest)


async def test_no_use_makes_a_retained_run_live_for_ever(start_daemon: StartDaemon) -> None:
    """That it is in use is what a worker says of itself, so there is a longest life."""
    daemon = start_daemon(
        "--workers", "1", "--warm", "1", preparation="from tooltoolexec_executor import runs; runs._RETAINED_S = 0.5"
    )
    async with connect(daemon.unix) as executor:
        run = await kept(executor)
        await called_until_released(run)
        await reports(executor, is_at_rest)
    await until(lambda: outcomes(daemon) == ["ok"], "the log")


# On the wire.


@pytest.fixture
def client(shared_daemon: ServedDaemon) -> Iterator[BareClient]:
    with ExitStack() as stack:
        client = stack.enter_context(BareClient(shared_daemon.unix))
        client.greet()
        client.send(Execute(id=os.urandom(16).hex(), code=ECHO, retain_handles=True))
        while not isinstance(done := client.receive(), Done):
            assert done is not None
        assert done.retained
        yield client


def test_invocations_come_back_by_their_numbers(client: BareClient) -> None:
    client.send(Invoke(invocations=[(7, "1", '["a"]'), (8, "2", "[]"), (9, "1", "[]")]))
    found: dict[int, str] = {}
    while len(found) < 3:
        message = client.receive()
        assert isinstance(message, Returns)
        found |= dict(message.returns)
    assert found == {7: '{"result":"a"}', 8: '{"error":"The run has no retained function 2."}', 9: '{"result":null}'}


@pytest.mark.parametrize("arguments", ["{}", "1", "", "[1"])
def test_arguments_that_are_no_array_are_an_error_of_the_call(client: BareClient, arguments: str) -> None:
    client.send(Invoke(invocations=[(1, "1", arguments), (2, "1", "[5]")]))
    message = client.receive()
    assert isinstance(message, Returns)
    returns = dict(message.returns)
    assert returns[1].startswith('{"error":')
    assert returns[2] == '{"result":5}'


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"invoke"}',
        b'{"type":"invoke","invocations":{}}',
        b'{"type":"invoke","invocations":[[1,"1"]]}',
        b'{"type":"invoke","invocations":[["1","1","[]"]]}',
        b'{"type":"invoke","invocations":[[-1,"1","[]"]]}',
        b'{"type":"invoke","invocations":[[0.5,"1","[]"]]}',
        b'{"type":"invoke","invocations":[[1e308,"1","[]"]]}',
        b'{"type":"invoke","invocations":[[1e999,"1","[]"]]}',
        b'{"type":"invoke","invocations":[[9007199254740993,"1","[]"]]}',
        b'{"type":"execute"}',
        b"nonsense",
        b"\xff",
    ],
)
def test_what_is_no_message_for_a_worker_ends_the_isolate_with_the_reason(client: BareClient, body: bytes) -> None:
    client.send_body(body)
    refusal = client.refusal()
    assert refusal.code == "released"
    assert refusal.message


def test_a_client_that_half_closes_has_left(client: BareClient, shared_daemon: ServedDaemon) -> None:
    client.socket.shutdown(1)
    assert client.receive() is None
