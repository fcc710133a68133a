"""Runs that compute and runs that wait for their tools are bounded each on their own."""

from __future__ import annotations

import os
import signal

import anyio
import pytest

from serving import end_within, until, workers_of
from tooltoolexec import Limits, Run, connect
from tooltoolexec_protocol import texts

from .conftest import StartDaemon
from .test_worker_faults import STORE, WAITS, Gate, reports, runs_fine

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_runs_that_wait_for_tools_leave_their_places_to_others(start_daemon: StartDaemon, place: str) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "5")
    runs: list[Run] = []
    async with connect(getattr(daemon, place)) as executor:
        gate = Gate()

        async def wait_for_the_gate() -> None:
            runs.append(await executor.execute(WAITS, STORE, dispatch=gate.dispatch))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(wait_for_the_gate)
            await until(lambda: gate.entered == 5, "all five wait")
            await reports(executor, lambda report: (report.parked_now, report.running_now) == (5, 5))
            await runs_fine(executor)
            gate.opened.set()
        assert [run.error for run in runs] == [None] * 5
        await reports(executor, lambda report: (report.parked_now, report.running_now) == (0, 0))
        await runs_fine(executor)


async def test_past_the_bound_a_run_that_waits_keeps_its_place(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "1")
    async with connect(daemon.unix) as executor:
        gate = Gate()
        ended: list[Run] = []

        async def run(code: str) -> None:
            ended.append(await executor.execute(code, STORE, dispatch=gate.dispatch))

        async with anyio.create_task_group() as group:
            group.start_soon(run, WAITS)
            await reports(executor, lambda report: report.parked_now == 1)
            group.start_soon(run, WAITS)
            await until(lambda: gate.entered == 2, "the second run")
            group.start_soon(run, "async () => 1")
            await reports(executor, lambda report: report.queued_now == 1)
            gate.opened.set()
        assert [run.error for run in ended] == [None] * 3


async def test_a_run_that_goes_on_counts_as_computing_again(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "1")
    code = "async () => { await store.a(); for (const end = Date.now() + 400; Date.now() < end;); }"
    async with connect(daemon.unix) as executor:
        gate = Gate()
        async with anyio.create_task_group() as group:

            async def run() -> None:
                assert (await executor.execute(code, STORE, dispatch=gate.dispatch)).error is None

            group.start_soon(run)
            await reports(executor, lambda report: report.parked_now == 1)
            gate.opened.set()
            await reports(executor, lambda report: (report.parked_now, report.running_now) == (0, 1))


async def test_a_busy_worker_that_stands_still_is_ended_a_second_past_its_wall_limit(start_daemon: StartDaemon) -> None:
    """Its own watchdog cannot: it stands still as well."""
    daemon = start_daemon("--workers", "1", "--warm", "1")
    async with connect(daemon.unix) as executor:
        await reports(executor, lambda report: report.idle_now == 1)
        (worker,) = workers_of(daemon.pid)
        pidfd = os.pidfd_open(worker)
        started = anyio.Event()
        runs: list[Run] = []

        async def run() -> None:
            code = "async () => { console.log('started'); for (;;); }"
            limits = Limits(wall_s=2)
            runs.append(await executor.execute(code, limits=limits, on_log=lambda _level, _text: started.set()))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await started.wait()
            # Its first bytes to the client leave before it tells the daemon that it has the run.
            await reports(executor, lambda report: report.running_now == 1)
            os.kill(worker, signal.SIGSTOP)
        assert runs[0].failure is not None
        assert (runs[0].failure.kind, runs[0].error) == ("timeout", texts.timeout(2))
        assert end_within([pidfd], 1)
        await runs_fine(executor)
