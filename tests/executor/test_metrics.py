"""What /metrics counts is what happened."""

from __future__ import annotations

import ast
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

import tooltoolexec_executor
import tooltoolexec_protocol
from serving import TOKEN, kill_hard, until, workers_of
from tooltoolexec import Executor, Limits, Provider, RefusedError, connect
from tooltoolexec_executor.memory import Memory
from tooltoolexec_executor.tally import DEATHS, OUTCOMES, REFUSALS, Distribution
from tooltoolexec_protocol.limits import MIB

from .watching import WatchedDaemon, watched

pytestmark = pytest.mark.anyio

CANARY = "canary"
FOREVER = "async () => { while (true); }"
WAIT = "async () => tools.wait()"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[WatchedDaemon]:
    with watched(tmp_path, ["--workers", "2", "--warm", "2"]) as daemon:
        yield daemon


class Gate:
    """A tool that waits until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = anyio.Event(), anyio.Event()

    def provider(self) -> Provider:
        async def wait() -> str:
            self.reached.set()
            await self.opened.wait()
            return "ok"

        return Provider("tools", [wait])


async def cancel_one(executor: Executor) -> None:
    gate = Gate()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: executor.execute(WAIT, [gate.provider()]))
        await gate.reached.wait()
        group.cancel_scope.cancel()


async def crash_one(daemon: WatchedDaemon, executor: Executor) -> None:
    """Kill all workers while one of them has a run; the idle ones with it."""
    gate = Gate()
    async with anyio.create_task_group() as group:

        async def be_crashed() -> None:
            run = await executor.execute(WAIT, [gate.provider()])
            assert run.failure is not None
            assert run.failure.kind == "crashed"

        group.start_soon(be_crashed)
        await gate.reached.wait()
        await until(lambda: daemon.value("workers_idle") == 2, "the idle workers")
        victims = workers_of(daemon.served.pid)
        assert len(victims) == 3
        for pid in victims:
            kill_hard(pid)


async def test_runs_and_workers_are_counted_by_how_they_ended(daemon: WatchedDaemon) -> None:
    programs = {
        "ok": ["() => 1", "async () => 2", "() => {}"],
        "program": ["() => { throw new Error('no') }", "() => nothing"],
        "syntax": ["this is no program"],
        "timeout": [FOREVER],
        "memory": ["() => { const all = []; while (true) all.push(new Array(10000).fill(1.5)); }"],
        "cpu": [FOREVER],
    }
    limits = {"timeout": Limits(wall_s=0.2), "cpu": Limits(wall_s=20, cpu_s=0.2), "memory": Limits(memory_mb=16)}
    async with connect(daemon.served.unix) as executor:
        for kind, codes in programs.items():
            for code in codes:
                run = await executor.execute(code, limits=limits.get(kind, Limits()))
                assert (run.failure.kind if run.failure else "ok") == kind
        # Refused by the daemon, without a worker.
        run = await executor.execute("() => 1", limits=Limits(wall_s=10_000))
        assert run.failure is not None
        await cancel_one(executor)
        await crash_one(daemon, executor)
        await until(lambda: "crashed" in daemon.counts("runs_total"), "the crash")
    ended = {kind: len(codes) for kind, codes in programs.items()}
    await until(lambda: "cancelled" in daemon.counts("runs_total"), "the cancellation")
    assert daemon.counts("runs_total") == ended | {"limit": 1, "cancelled": 1, "crashed": 1}
    assert daemon.counts("worker_deaths_total") == {
        "finished": 6, "timeout": 1, "memory": 1, "cpu": 1, "cancelled": 1, "crashed": 1, "unused": 2
    }  # fmt: skip
    found = daemon.samples()
    assert found["tooltoolexec_run_seconds_count"][()] == 11
    assert found["tooltoolexec_queue_seconds_count"][()] == 11
    assert 0.4 < found["tooltoolexec_run_seconds_sum"][()] < 60
    assert found["tooltoolexec_zygotes_started_total"][()] == 1


async def test_histograms_add_up(daemon: WatchedDaemon) -> None:
    async with connect(daemon.served.unix) as executor:
        for _ in range(5):
            assert (await executor.execute("() => 1")).result == 1
        await executor.execute("async () => new Promise(done => setTimeout(done, 150))")
    await until(lambda: daemon.counts("runs_total") == {"ok": 6}, "the last run's end")
    found = daemon.samples()
    for name in ("run_seconds", "queue_seconds"):
        buckets = [(float(labels[0][1]), count) for labels, count in found[f"tooltoolexec_{name}_bucket"].items()]
        assert buckets == sorted(buckets)
        counts = [count for _bound, count in buckets]
        assert counts == sorted(counts)
        assert buckets[-1] == (math.inf, 6)
        assert found[f"tooltoolexec_{name}_count"][()] == 6
    slow = {bound: count for ((_le, bound),), count in found["tooltoolexec_run_seconds_bucket"].items()}
    assert slow["0.1"] <= 5
    assert found["tooltoolexec_run_seconds_sum"][()] >= 0.15


def test_a_value_at_a_bound_is_within_it() -> None:
    distribution = Distribution((1, 2))
    for value in (0, 1, 1.5, 2, 3):
        distribution.note(value)
    assert distribution.counts == [2, 2, 1]
    assert distribution.total == 7.5


async def test_refused_clients_are_counted_by_code(daemon: WatchedDaemon) -> None:
    for token in ("", "a wrong token ".replace(" ", "-"), TOKEN + "x"):
        with pytest.raises(RefusedError):
            async with connect(daemon.served.tls, token=token, ca=str(daemon.served.certificates.ca)):
                pass
    assert daemon.counts("refusals_total") == {"unauthorized": 3}


async def test_gauges_follow_runs_that_compute_park_and_queue(tmp_path: Path) -> None:
    with watched(tmp_path, ["--workers", "1", "--parked", "1", "--queue", "7", "--warm", "1"]) as daemon:
        gate = Gate()

        def gauges() -> dict[str, float]:
            found = daemon.samples()
            return {name: found[f"tooltoolexec_runs_{name}"][()] for name in ("computing", "parked", "queued")}

        async with connect(daemon.served.unix) as executor, anyio.create_task_group() as group:
            assert gauges() == {"computing": 0, "parked": 0, "queued": 0}
            group.start_soon(lambda: executor.execute(WAIT, [gate.provider()]))
            await until(lambda: gauges() == {"computing": 0, "parked": 1, "queued": 0}, "a parked run")
            group.start_soon(lambda: executor.execute(FOREVER))
            await until(lambda: gauges() == {"computing": 1, "parked": 1, "queued": 0}, "a computing run")
            group.start_soon(lambda: executor.execute("() => 1"))
            await until(lambda: gauges() == {"computing": 1, "parked": 1, "queued": 1}, "a queued run")
            limits = {name: daemon.value(f"runs_{name}_limit") for name in ("computing", "parked", "queued")}
            assert limits == {"computing": 1, "parked": 1, "queued": 7}
            group.cancel_scope.cancel()
        await until(lambda: gauges() == {"computing": 0, "parked": 0, "queued": 0}, "the end of all")
        await until(lambda: daemon.value("workers_idle") == 1, "the idle worker")
        assert daemon.value("connections") == 0


async def test_memory_that_a_program_holds_is_seen_and_what_workers_share_is_not_counted_for_each(
    daemon: WatchedDaemon,
) -> None:
    await until(lambda: daemon.value("workers_idle") == 2, "the idle workers")
    gate = Gate()
    code = "async () => { const held = new Uint8Array(64 << 20).fill(1); await tools.wait(); return held.length }"
    async with connect(daemon.served.unix) as executor, anyio.create_task_group() as group:
        await until(lambda: daemon.value("workers_memory_bytes") > 0, "a measurement with them")
        idle = daemon.value("workers_memory_bytes")
        assert 5 * MIB < idle < 60 * MIB  # A zygote's, and hardly more: three times as much were it counted for each.
        group.start_soon(lambda: executor.execute(code, [gate.provider()]))
        await gate.reached.wait()
        await until(lambda: daemon.value("workers_memory_bytes") > idle + 60 * MIB, "the memory of the run")
        assert daemon.value("workers_memory_bytes") < idle + 120 * MIB
        gate.opened.set()
    await until(lambda: daemon.value("workers_memory_bytes") < idle + 30 * MIB, "the memory given back")


def test_memory_is_measured_once_a_second_and_not_of_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    now, read = 100.0, 0

    def pages(pid: int) -> int:
        nonlocal read
        read += 1
        return 10 + pid

    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr("tooltoolexec_executor.memory._pages", pages)
    memory = Memory(lambda: [[0, *[1] * 5000], [0]])
    page = os.sysconf("SC_PAGE_SIZE")
    assert memory.bytes() == (10 + 5000 + 10) * page
    assert read == 1002
    assert memory.bytes() == (10 + 5000 + 10) * page
    assert read == 1002
    now += 1
    memory.bytes()
    assert read == 2004


def test_a_process_that_is_gone_has_no_memory() -> None:
    gone = os.posix_spawn("/bin/true", ["/bin/true"], {})
    os.waitpid(gone, 0)
    assert Memory(lambda: [[gone, gone]]).bytes() == 0


async def test_labels_come_from_closed_sets_and_a_client_chooses_none(daemon: WatchedDaemon) -> None:
    async with connect(daemon.served.unix) as executor:
        await executor.execute(f"() => '{CANARY}'", labels={CANARY: CANARY})
    closed = {"outcome": OUTCOMES, "code": REFUSALS, "cause": DEATHS}
    samples = daemon.samples()
    for name, rows in samples.items():
        for labels in rows:
            for label, value in labels:
                if name.startswith("tooltoolexec_") and label in closed:
                    assert value in closed[label]
                else:
                    assert (name, label) == ("tooltoolexec_build_info", "version") or label == "le"
    # All rows are there before the first of their kind.
    for name, label in (("runs_total", "outcome"), ("refusals_total", "code"), ("worker_deaths_total", "cause")):
        assert {labels[0][1] for labels in samples[f"tooltoolexec_{name}"]} == closed[label]
    assert CANARY not in daemon.ask("/metrics")[1]


def test_the_refusals_that_are_counted_are_all_there_are() -> None:
    found = {"tls", "busy"}  # Counted by their names, without an error.
    for package in (tooltoolexec_executor, tooltoolexec_protocol):
        assert package.__file__
        for file in Path(package.__file__).parent.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                    name = node.func.id if isinstance(node.func, ast.Name) else ""
                    is_error = isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"
                    if name == "ProtocolError" or (is_error and node.args[0].value == "draining"):
                        found.add(str(node.args[0].value))
    assert found == REFUSALS


async def test_the_daemons_own_process_is_measured(daemon: WatchedDaemon) -> None:
    found = daemon.samples()
    assert found["process_resident_memory_bytes"][()] > 10 * MIB
    assert found["process_open_fds"][()] > 5
    os.kill(daemon.served.pid, signal.SIGHUP)  # It reloads, and counts on.
    assert daemon.samples()["process_cpu_seconds_total"][()] >= found["process_cpu_seconds_total"][()]
