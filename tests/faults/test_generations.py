"""A zygote that has forked much, or whose workers crash, gets a successor; nobody's run notices."""

from __future__ import annotations

import os
import signal

import anyio
import pytest

from serving import ServedDaemon, children_of, until, workers_of
from tooltoolexec import Run, connect

from .conftest import StartDaemon
from .test_worker_faults import STORE, WAITS, Gate, reports, runs_fine

pytestmark = pytest.mark.anyio

FEW_FORKS = "import tooltoolexec_executor.supervise as s; s._DUE_FORKS = 12"
FEW_CRASHES = "import tooltoolexec_executor.supervise as s; s._DUE_CRASHES = 2"


def zygote_of(daemon: ServedDaemon) -> int:
    (zygote,) = children_of(daemon.pid)
    return zygote


async def test_a_zygote_that_has_forked_much_is_succeeded_under_running_runs(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--warm", "2", preparation=FEW_FORKS)
    async with connect(daemon.unix) as executor:
        await runs_fine(executor)
        first = zygote_of(daemon)
        gate, long_runs = Gate(), list[Run]()

        async def wait_for_the_gate() -> None:
            long_runs.append(await executor.execute(WAITS, STORE, dispatch=gate.dispatch))

        async with anyio.create_task_group() as group:
            group.start_soon(wait_for_the_gate)
            await until(lambda: gate.entered == 1, "the long run")
            for _ in range(30):
                await runs_fine(executor)
            await until(lambda: any(child != first for child in children_of(daemon.pid)), "a successor")
            assert first in children_of(daemon.pid)  # Its worker still has a run.
            gate.opened.set()
        assert long_runs[0].error is None
        await until(lambda: first not in children_of(daemon.pid), "the end of the first zygote")
        await until(lambda: len(children_of(daemon.pid)) == 1, "one zygote")
        await runs_fine(executor)


async def test_a_zygote_whose_workers_crash_is_succeeded_and_its_idle_workers_are_dropped(
    start_daemon: StartDaemon,
) -> None:
    daemon = start_daemon("--warm", "3", preparation=FEW_CRASHES)
    async with connect(daemon.unix) as executor:
        await reports(executor, lambda report: report.idle_now == 3)
        first = zygote_of(daemon)
        for worker in workers_of(daemon.pid)[:2]:
            os.kill(worker, signal.SIGSEGV)
        await until(lambda: first not in children_of(daemon.pid), "the end of the first zygote")
        await reports(executor, lambda report: report.idle_now == 3)
        await runs_fine(executor)


async def test_there_are_never_more_than_a_few_generations(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--warm", "1", "--parked", "50", preparation="import tooltoolexec_executor.supervise as s; s._DUE_FORKS = 2")  # fmt: skip  # noqa: E501
    async with connect(daemon.unix) as executor:
        gate = Gate()
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(lambda: executor.execute(WAITS, STORE, dispatch=gate.dispatch))
            await until(lambda: gate.entered == 12, "twelve runs")
            assert len(children_of(daemon.pid)) <= 5  # One more may be starting.
            gate.opened.set()
        await runs_fine(executor)
        await until(lambda: len(children_of(daemon.pid)) <= 2, "the end of the old ones")
