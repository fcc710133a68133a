"""Many runs that wait for a slow tool at once: all of them parked, the daemon at everybody's service meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import anyio
import pytest

from bench.measure import private_mb
from serving import PATIENCE_S, workers_of
from tooltoolexec import Executor, Run, connect

from .conftest import StartDaemon

pytestmark = pytest.mark.anyio

PROVIDERS = [{"name": "store", "tools": ["wait"]}]
WORKERS = 8
WARM = 6
RELEASED_S = 60.0
Record = Callable[[str, object], None]


class SlowTool:
    """Holds every call until it is released, then answers with twice the argument."""

    def __init__(self, calls: int) -> None:
        self._awaited = calls
        self.parked: list[str] = []
        self.all_parked = anyio.Event()
        self.released = anyio.Event()

    async def dispatch(self, _provider: str, _tool: str, args_json: str) -> str:
        self.parked.append(args_json)
        if len(self.parked) == self._awaited:
            self.all_parked.set()
        await self.released.wait()
        return f'{{"result":{int(args_json.strip("[]")) * 2}}}'


async def all_count_as_parked(executor: Executor, runs: int) -> None:
    """The daemon answers meanwhile, and comes to say that all of them are parked."""
    with anyio.fail_after(PATIENCE_S):
        while (report := await executor.status()).parked_now < runs:  # noqa: ASYNC110 - another process's state.
            await anyio.sleep(0.01)
    assert (report.running_now, report.parked_now, report.queued_now) == (runs, runs, 0)


async def park(start_daemon: StartDaemon, record: Record, *, runs: int) -> None:
    """Park `runs` runs, far more than may compute at once, look at the daemon, release them, look at the results."""
    daemon = start_daemon(
        "--workers", str(WORKERS), "--parked", str(runs), "--runs-per-client", str(runs + WORKERS), "--warm", str(WARM)
    )
    tool, results = SlowTool(runs), dict[int, Run]()
    async with connect(daemon.unix) as executor:

        async def one(number: int) -> None:
            code = f"async () => [{number}, await store.wait({number})]"
            results[number] = await executor.execute(code, PROVIDERS, dispatch=tool.dispatch)

        async with anyio.create_task_group() as group:
            begun = time.monotonic()
            for number in range(runs):
                group.start_soon(one, number)
            with anyio.fail_after(RELEASED_S):
                await tool.all_parked.wait()
            parked_s = time.monotonic() - begun
            assert not results
            await all_count_as_parked(executor, runs)
            quick = await executor.execute("async () => 1")
            assert quick.result == 1
            # Idle ones are among them: a few of many.
            memory = [private_mb(pid) for pid in workers_of(daemon.pid)]
            assert len(memory) >= runs
            released_at = time.monotonic()
            tool.released.set()
    released_s = time.monotonic() - released_at
    figures = f"{runs} parked in {parked_s:.1f} s, {median(memory):.2f} MB each, released in {released_s:.1f} s"
    print("\n" + figures)  # noqa: T201 - measured here alone.
    record("figures", figures)
    wrong = {number: run for number, run in results.items() if run.result != [number, number * 2]}
    assert not wrong
    assert len(results) == len(set(tool.parked)) == len(tool.parked) == runs
    assert median(memory) < 16


async def test_two_dozen_runs_park_at_once(start_daemon: StartDaemon, record_property: Record) -> None:
    await park(start_daemon, record_property, runs=24)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_three_hundred_runs_park_at_once(
    start_daemon: StartDaemon, record_property: Record, anyio_backend: str
) -> None:
    await park(start_daemon, record_property, runs=300)
