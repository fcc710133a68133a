# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""Clients and workers that die at every moment: one outcome for each waiter, nothing left behind, the next run fine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from serving import (
    PATIENCE_S,
    BareClient,
    ServedDaemon,
    children_of,
    descriptor_count,
    end_within,
    kill_hard,
    until,
    workers_of,
)
from tooltoolexec import Executor, ExecutorError, Limits, Run, connect
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import Answers, Calls, Done, Outcome, Report, Started

from .conftest import StartDaemon

pytestmark = pytest.mark.anyio

WAITS = "async () => { await store.wait(); return 'went on' }"
STORE = [{"name": "store"}]


async def runs_fine(executor: Executor) -> None:
    assert (await executor.execute("async () => 1")).result == 1


class Gate:
    """A dispatch that holds every call until it is opened; `entered` counts them."""

    def __init__(self) -> None:
        self.entered = 0
        self.opened = anyio.Event()

    async def dispatch(self, _provider: str, _tool: str, _args: str) -> str:
        self.entered += 1
        await self.opened.wait()
        return '{"result":1}'


class Rest:
    """The state a daemon rests in, to be compared with later.

    A pool may keep a worker more than it must, for a run that wanted one and went; each costs the daemon two descriptors.
    """

    def __init__(self, daemon: ServedDaemon, warm: int) -> None:
        self._daemon = daemon
        self._warm = warm
        self._descriptors = 0

    async def reached(self) -> Rest:
        await until(lambda: len(workers_of(self._daemon.pid)) == self._warm, "the warm workers")
        await anyio.sleep(0.05)
        self._descriptors = self._own_descriptors()
        return self

    async def again(self) -> None:
        await until(lambda: len(workers_of(self._daemon.pid)) >= self._warm, "the warm workers again")
        await until(lambda: self._own_descriptors() == self._descriptors, "the descriptors of before")
        assert len(children_of(self._daemon.pid)) == 1

    def _own_descriptors(self) -> int:
        return descriptor_count(self._daemon.pid) - 2 * len(workers_of(self._daemon.pid))


async def reports(executor: Executor, holds: Callable[[Report], bool]) -> None:
    """Wait until the daemon's report is as it must be."""
    with anyio.fail_after(PATIENCE_S):
        while not holds(await executor.status()):  # noqa: ASYNC110 - another process's state makes no event here.
            await anyio.sleep(0.005)


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_an_idle_worker_that_dies_is_never_handed_out(daemon: ServedDaemon, place: str) -> None:
    rest = await Rest(daemon, 2).reached()
    async with connect(getattr(daemon, place)) as executor:
        for _ in range(3):
            await until(lambda: len(workers_of(daemon.pid)) >= 2, "two warm workers")
            for worker in workers_of(daemon.pid):
                kill_hard(worker)
            await runs_fine(executor)
    await rest.again()


@pytest.mark.parametrize("place", ["unix", "tcp"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_busy_worker_that_dies_answers_its_waiter_with_crashed(
    daemon: ServedDaemon, place: str, number: signal.Signals
) -> None:
    rest = await Rest(daemon, 2).reached()
    outcomes: list[Run] = []
    async with connect(getattr(daemon, place)) as executor:
        gate = Gate()

        async def one() -> None:
            outcomes.append(await executor.execute(WAITS, STORE, dispatch=gate.dispatch))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
            await until(lambda: gate.entered == 2, "both calls")
            for worker in workers_of(daemon.pid):
                os.kill(worker, number)
        assert [(run.failure and run.failure.kind, run.error) for run in outcomes] == [("crashed", texts.CRASHED)] * 2
        await runs_fine(executor)
    await rest.again()


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_a_worker_that_dies_in_the_middle_of_a_frame_is_crashed(daemon: ServedDaemon, place: str) -> None:
    rest = await Rest(daemon, 2).reached()
    with BareClient(getattr(daemon, place)) as client:
        # Far more than the kernel holds: the worker stands in the middle of the frame.
        request = client.execute("async () => { await __dispatch('a', 'b', 'x'.repeat(4_000_000)) }")
        assert isinstance(await anyio.to_thread.run_sync(client.receive), Started)
        client.socket.recv(1)
        for worker in workers_of(daemon.pid):
            kill_hard(worker)
        while await anyio.to_thread.run_sync(client.socket.recv, 1 << 20):
            pass
    with BareClient(getattr(daemon, place)) as client:
        client.greet()
        client.send(Outcome(id=request.id))
        answer = client.receive()
        assert isinstance(answer, Done)
        assert answer.failure is not None
        assert answer.failure.kind == "crashed"
    async with connect(getattr(daemon, place)) as executor:
        await runs_fine(executor)
    await rest.again()


@pytest.mark.parametrize("place", ["unix", "tcp"])
@pytest.mark.parametrize("program", ["async () => { for (;;); }", WAITS, "async () => { for (;;) await 0 }"])
async def test_cancelling_the_callers_task_ends_the_worker_within_100_ms(
    daemon: ServedDaemon, place: str, program: str
) -> None:
    rest = await Rest(daemon, 2).reached()
    took: list[float] = []
    async with connect(getattr(daemon, place)) as executor:
        # It is promised on a machine that has time for it. One that is busy with other things may wake the daemon later,
        # so a slow end counts only if it comes again; what holds everywhere is that each comes.
        while min(took, default=1) > 0.1 and len(took) < 3:
            await until(lambda: len(workers_of(daemon.pid)) == 2, "the warm workers")
            took.append(await seconds_from_cancelling_to_the_end(executor, daemon, program))
            await runs_fine(executor)
    await rest.again()
    assert min(took) <= 0.1, took


async def seconds_from_cancelling_to_the_end(executor: Executor, daemon: ServedDaemon, program: str) -> float:
    """Begin a run, cancel the task that waits for it, and wait for the end of its worker."""
    gate = Gate()
    idle = set(workers_of(daemon.pid))
    started = anyio.Event()
    code = program.replace("=> {", "=> { console.log('started');", 1)

    async def one() -> None:
        await executor.execute(code, STORE, dispatch=gate.dispatch, on_log=lambda _level, _text: started.set())

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        await started.wait()
        await reports(executor, lambda report: report.running_now == 1)  # The client hears of it a moment before.
        pidfds = [os.pidfd_open(pid) for pid in busy_of(idle)]
        assert len(pidfds) == 1
        group.cancel_scope.cancel()
    cancelled_at = time.monotonic()
    assert end_within(pidfds, 5)
    return time.monotonic() - cancelled_at


def busy_of(idle: set[int]) -> list[int]:
    """Which of the workers that were idle runs now: the one that holds a TCP or a second Unix connection and used CPU.

    A worker's idle socket is one; with a run it has the run's connection too.
    """

    def sockets(pid: int) -> int:
        count = 0
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            count += str(descriptor.readlink()).startswith("socket:")
        return count

    return [pid for pid in idle if Path(f"/proc/{pid}").exists() and sockets(pid) == 2]


async def test_a_run_cancelled_while_it_queues_never_starts(daemon: ServedDaemon) -> None:
    async with connect(daemon.unix) as executor:
        gate = Gate()

        async def busy() -> None:
            await executor.execute(WAITS, STORE, dispatch=gate.dispatch)

        async def queued() -> None:
            await executor.execute("async () => { await store.never() }", STORE, dispatch=never.dispatch)

        never = Gate()
        async with anyio.create_task_group() as group:
            group.start_soon(busy)
            group.start_soon(busy)
            await until(lambda: gate.entered == 2, "both runs")
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(queued)
                await reports(executor, lambda report: report.queued_now == 1)
                waiting.cancel_scope.cancel()
            await reports(executor, lambda report: report.queued_now == 0)
            gate.opened.set()
        await runs_fine(executor)
        assert never.entered == 0


CLIENT = """
import sys, anyio
from tooltoolexec import connect
async def dispatch(provider, tool, args):
    print("called", flush=True)
    await anyio.sleep_forever()
async def main():
    async with connect(sys.argv[1]) as executor:
        await executor.execute(sys.argv[2], [{"name": "store"}], dispatch=dispatch,
                               on_log=lambda level, text: print(text, flush=True))
anyio.run(main)
"""


@pytest.mark.parametrize("place", ["unix", "tcp"])
@pytest.mark.parametrize("program", ["async () => { console.log('started'); for (;;); }", WAITS])
async def test_a_killed_clients_run_ends_with_it(daemon: ServedDaemon, place: str, program: str) -> None:
    rest = await Rest(daemon, 2).reached()
    idle = set(workers_of(daemon.pid))
    command = [sys.executable, "-c", CLIENT, getattr(daemon, place), program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:  # noqa: ASYNC220 - it returns at once
        assert client.stdout is not None
        assert await anyio.to_thread.run_sync(client.stdout.readline) in ("started\n", "called\n")
        pidfds = [os.pidfd_open(pid) for pid in busy_of(idle)]
        assert len(pidfds) == 1
        client.kill()
    assert end_within(pidfds, 1)
    async with connect(getattr(daemon, place)) as executor:
        await runs_fine(executor)
    await rest.again()


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_a_client_killed_in_the_queue_leaves_it(start_daemon: StartDaemon, place: str) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "0", "--warm", "1", "--queue", "1")
    async with connect(daemon.unix) as executor:
        gate = Gate()
        async with anyio.create_task_group() as group:

            async def busy() -> None:
                await executor.execute(WAITS, STORE, dispatch=gate.dispatch)

            group.start_soon(busy)
            await until(lambda: gate.entered == 1, "the run")
            command = [sys.executable, "-c", CLIENT, getattr(daemon, place), WAITS]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as client:  # noqa: ASYNC220 - it returns at once
                await reports(executor, lambda report: report.queued_now == 1)
                client.kill()
            await reports(executor, lambda report: report.queued_now == 0)
            gate.opened.set()
        await runs_fine(executor)


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_a_half_closed_connection_ends_its_run(daemon: ServedDaemon, place: str) -> None:
    rest = await Rest(daemon, 2).reached()
    with BareClient(getattr(daemon, place)) as client:
        client.execute("async () => await __dispatch('a', 'b', '')")
        assert isinstance(client.receive(), Started)
        assert isinstance(client.receive(), Calls)
        client.socket.shutdown(1)
        assert client.receive() is None
    await rest.again()


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_a_client_that_speaks_while_it_queues_is_refused(start_daemon: StartDaemon, place: str) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "0", "--warm", "1", "--queue", "2")
    with BareClient(getattr(daemon, place)) as first, BareClient(getattr(daemon, place)) as second:
        first.execute("async () => await __dispatch('a', 'b', '')")
        assert isinstance(first.receive(), Started)
        second.execute("async () => 1")
        second.send(Outcome(id="0" * 32))
        assert second.refusal().code == "unexpected"
    async with connect(daemon.unix) as executor:
        await runs_fine(executor)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["unix", "tcp"])
@pytest.mark.parametrize(
    "program",
    [
        "async () => { for (let i = 0; i < 900; i++) __dispatch('a', 'b', 'x'.repeat(20_000)); await new Promise(() => {}) }",
        "async () => 'x'.repeat(4_000_000)",
    ],
)
async def test_a_client_that_never_reads_costs_one_worker_for_a_bounded_time(
    start_daemon: StartDaemon, place: str, program: str
) -> None:
    daemon = start_daemon("--workers", "1", "--warm", "1", "--default-wall-s", "0.3")
    with BareClient(getattr(daemon, place)) as client:
        client.execute(program)
        async with connect(daemon.unix) as executor:
            with anyio.fail_after(20):
                await runs_fine(executor)


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_small_unread_messages_both_ways_are_no_deadlock(shared_daemon: ServedDaemon, place: str) -> None:
    count = 900

    async def dispatch(_provider: str, _tool: str, args: str) -> str:
        return json.dumps({"result": "y" * 2000})

    code = f"async () => {{ const all = []; for (let i = 0; i < {count}; i++) all.push(store.f('x'.repeat(2000))); return (await Promise.all(all)).length }}"
    async with connect(getattr(shared_daemon, place)) as executor:
        with anyio.fail_after(20):
            assert (await executor.execute(code, STORE, dispatch=dispatch)).result == count


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_a_client_that_answers_without_reading_is_no_deadlock(shared_daemon: ServedDaemon, place: str) -> None:
    with BareClient(getattr(shared_daemon, place)) as client:
        client.execute("async () => { const all = []; for (let i = 0; i < 900; i++) all.push(__dispatch('a', 'b', 'x'.repeat(2000))); return (await Promise.all(all)).length }")  # fmt: skip
        # Blind: numbers are known, so every answer can be sent before a single call is read.
        for number in range(1, 901):
            client.send(Answers(answers=[(number, "y" * 2000)]))
        last: Any = None
        while (message := client.receive()) is not None:
            last = message
        # An answer that came before its call is dropped, so the run may wait for it: what must not be is a standstill.
        assert isinstance(last, Done)


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_an_answer_of_forty_megabytes_arrives_whole(shared_daemon: ServedDaemon, place: str) -> None:
    size = 40 * 1024 * 1024

    async def dispatch(_provider: str, _tool: str, _args: str) -> str:
        return '{"result":"' + "z" * size + '"}'

    async with connect(getattr(shared_daemon, place)) as executor:
        code = "async () => { const v = await store.f(); return [v.length, v.at(-1)] }"
        run = await executor.execute(code, STORE, dispatch=dispatch, limits=Limits(memory_mb=600))
        assert run.result == [size, "z"], run.failure
        assert (await executor.execute("async () => 1")).result == 1


async def test_an_answer_over_the_bound_fails_that_call_alone(shared_daemon: ServedDaemon) -> None:
    async def dispatch(_provider: str, tool: str, _args: str) -> str:
        return '{"result":"' + "z" * (64 * 1024 * 1024 if tool == "large" else 1) + '"}'

    async with connect(shared_daemon.unix) as executor:
        code = "async () => { try { await store.large() } catch (e) { return [e.message, await store.small()] } }"
        run = await executor.execute(code, STORE, dispatch=dispatch)
    size = 64 * 1024 * 1024 + 13
    assert run.result == [texts.answer_too_large(size, 64 * 1024 * 1024), "z"]


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_a_done_behind_unread_answers_is_not_lost(shared_daemon: ServedDaemon, place: str) -> None:
    async def dispatch(_provider: str, _tool: str, args: str) -> str:
        return json.dumps({"result": "y" * 3000})

    async with connect(getattr(shared_daemon, place)) as executor:
        for turn in range(10):
            code = f"async () => {{ for (let i = 0; i < 300; i++) store.f(i); return {turn} }}"
            run = await executor.execute(code, STORE, dispatch=dispatch)
            assert (run.result, run.failure) == (turn, None)


ABORTS = {
    "split": ("async () => 'a,'.repeat(2 ** 26).split(',').length", {"memory", "timeout", "cpu", "crashed"}),
    "keys": ("async () => Object.keys('x'.repeat(2 ** 27)).length", {"memory", "timeout", "cpu", "crashed", "program"}),
    "fill": ("async () => { new Array(1e9).fill(0); return 1 }", {"memory", "timeout", "cpu", "crashed"}),
    "from": ("async () => Array.from({ length: 2 ** 32 - 1 }).length", {"memory", "timeout", "cpu", "crashed", "program"}),
    "last_index": ("async () => Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)", {"timeout", "cpu"}),
    "spread": ("async () => Math.max(...new Array(1e8))", {"memory", "program", "timeout", "cpu", "crashed"}),
    "bigint": ("async () => { for (let i = 1n; ; i *= 7n ** 100000n); }", {"timeout", "cpu", "memory", "program"}),
    "regex": ("async () => /^(a+)+$/.test('a'.repeat(40) + '!')", {"timeout", "cpu", "result"}),
}  # fmt: skip


@pytest.mark.parametrize("name", ABORTS)
async def test_what_v8_cannot_interrupt_or_survive_ends_its_run_alone(shared_daemon: ServedDaemon, name: str) -> None:
    code, kinds = ABORTS[name]
    async with connect(shared_daemon.unix) as executor:
        with anyio.fail_after(5):
            run = await executor.execute(code, limits=Limits(wall_s=0.5, memory_mb=64))
        assert ("result" if run.failure is None else run.failure.kind) in kinds, run.failure
        await runs_fine(executor)
    assert shared_daemon.process.poll() is None


async def test_the_private_buffer_cannot_be_reached(shared_daemon: ServedDaemon) -> None:
    code = """async () => {
      const seen = [];
      const S = Object.getPrototypeOf(Uint8Array);
      const note = (b) => { if (b instanceof ArrayBuffer || ArrayBuffer.isView(b)) seen.push(b); };
      Object.defineProperty(S, Symbol.species, { get() { return function (b) { note(b); return new Uint16Array(...arguments) } } });
      for (const k of ['apply', 'call', 'bind']) {
        const f = Function.prototype[k];
        Function.prototype[k] = function (...a) { a.flat().forEach(note); note(this); return Reflect.apply(f, this, a) };
      }
      for (const P of [S.prototype, ArrayBuffer.prototype, DataView.prototype]) {
        for (const k of Reflect.ownKeys(P)) {
          const d = Object.getOwnPropertyDescriptor(P, k);
          if (k === 'constructor' || !d.configurable) continue;
          for (const field of ['value', 'get', 'set']) {
            const f = d[field];
            if (typeof f === 'function') d[field] = function (...a) { note(this); return Reflect.apply(f, this, a) };
          }
          Object.defineProperty(P, k, d);
        }
      }
      for (const k of ['0', '1', '5', 'length', 'buffer', 'get', 'set', 'value']) {
        Object.defineProperty(Object.prototype, k, { configurable: true, get() { note(this); return undefined }, set(v) { note(v); note(this) } });
      }
      console.log('x'.repeat(100_000), { a: [1, 2] });
      await store.f('y'.repeat(300_000));
      await store.f(2);
      for (const k of ['0', '1', '5', 'length', 'buffer', 'get', 'set', 'value']) delete Object.prototype[k];
      return seen.length;
    }"""

    async def dispatch(_provider: str, _tool: str, _args: str) -> str:
        return json.dumps({"result": "\u00e9" * 400_000})

    async with connect(shared_daemon.unix) as executor:
        run = await executor.execute(code, STORE, dispatch=dispatch)
        assert (run.result, run.failure) == (0, None)


async def test_no_descriptor_file_or_socket_is_to_be_had_from_inside(shared_daemon: ServedDaemon) -> None:
    code = "async () => ['require', 'process', 'WebAssembly', 'SharedArrayBuffer', 'Atomics', 'FinalizationRegistry', 'WeakRef', 'Deno', 'print', 'read', 'quit', 'load'].filter((n) => n in globalThis)"
    async with connect(shared_daemon.unix) as executor:
        assert (await executor.execute(code)).result == []


async def test_an_executor_that_lost_its_daemon_says_so(daemon: ServedDaemon) -> None:
    async with connect(daemon.unix) as executor:
        await runs_fine(executor)
        kill_hard(daemon.pid)
        daemon.process.wait()
        with pytest.raises(ExecutorError):
            await executor.execute("async () => 1")
