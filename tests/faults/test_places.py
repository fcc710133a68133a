"""Runs that compute and runs that wait for their tools are bounded each on their own."""

from __future__ import annotations

import anyio
import pytest

from serving import until
from tooltoolexec import Run, connect

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
