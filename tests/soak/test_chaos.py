"""Workers, the zygote and clients are killed and stopped at random under load: one right outcome each, nothing left."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from serving import ServedDaemon
from tooltoolexec import Executor, connect
from tooltoolexec_protocol.errors import ConnectionLostError

from .conftest import StartDaemon
from .doomed import AT_ONCE, DoomedClients
from .havoc import Havoc, Plan, Victims, children, grandchildren
from .jobs import KINDS, Jobs, Kind, waiting
from .rest import Rest, stopped_of

pytestmark = pytest.mark.anyio

SEED = "7141"
WARM = 6
QUEUE_S = 20.0
BOUND_S = 75.0
"""For one execute; explained are the queue, a stopped zygote (20 s), a stopped worker (10 s) and the wall limit."""
RECOVERY_S = 90.0
CRASHES = (signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV)
"""A zygote with crashed workers gets a successor; SIGKILL, which its daemon sends too, is no crash."""
EXPLAINED = {"crashed", "timeout", "overloaded"}
Record = Callable[[str, object], None]


class Survivors:
    """Runs in this process. Every one must have one outcome, in time, and no wrong one."""

    def __init__(self, executor: Executor, kinds: Sequence[Kind]) -> None:
        self._executor = executor
        self._jobs = Jobs(SEED, kinds)
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []
        self.longest_s = 0.0

    async def keep_running(self, end: float) -> None:
        while time.monotonic() < end:
            await self.one()

    async def one(self) -> str:
        job = self._jobs.next()
        begun = time.monotonic()
        kind = "hangs"
        with anyio.move_on_after(BOUND_S):
            try:
                run = await job.run(self._executor)
            except ConnectionLostError as error:
                kind = f"lost: {error}"
            else:
                kind = "ok" if run.failure is None else run.failure.kind
                self.faults += job.faults_of(run)
        if not (kind in EXPLAINED or kind == "ok" or kind.startswith("lost")):
            self.faults.append(f"{job.name}: {kind}")
        self.longest_s = max(self.longest_s, time.monotonic() - begun)
        self.outcomes[kind] += 1
        return kind


async def recovers(daemon: ServedDaemon, survivors: Survivors) -> None:
    """Give the daemon runs until nothing of it stands still: it finds a stopped process when it needs it."""
    with anyio.fail_after(RECOVERY_S):
        while stopped_of(daemon.pid):
            async with anyio.create_task_group() as group:
                for _ in range(WARM + 2):
                    group.start_soon(survivors.one)


async def serves(executor: Executor, runs: int, kinds: Sequence[Kind]) -> None:
    jobs = Jobs("afterwards", kinds)

    async def several() -> None:
        for _ in range(runs // 4):
            job = jobs.next()
            run = await job.run(executor)
            assert run.ok, run.failure
            assert not job.faults_of(run)

    with anyio.fail_after(BOUND_S):
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(several)


async def chaos(
    daemon: ServedDaemon,
    plans: dict[str, Plan],
    record: Record,
    report: Path,
    *,
    for_s: float,
    runs: int,
    doomed: int = 0,
    kinds: Sequence[Kind] = KINDS,
) -> None:
    """Wreak `plans` for `for_s` seconds under `runs` runs at once, some of them of `doomed` clients."""
    print(f"\nseed {SEED}")  # noqa: T201 - a failure is looked into with it.
    rest = await Rest(daemon, WARM).reached()
    with DoomedClients(daemon.tcp, doomed, report) as clients:
        async with connect(daemon.unix) as executor:
            survivors = Survivors(executor, kinds)
            async with anyio.create_task_group() as group:
                havoc = Havoc(SEED, group)
                victims: dict[str, Victims] = {
                    "worker": partial(grandchildren, daemon.pid),
                    "zygote": partial(children, daemon.pid),
                    "client": clients.running,
                }
                group.start_soon(clients.keep)
                async with anyio.create_task_group() as work:
                    for name, plan in plans.items():
                        work.start_soon(partial(havoc.wreak, name, victims[name], plan, for_s=for_s))
                    end = time.monotonic() + for_s
                    for _ in range(runs - doomed * AT_ONCE):
                        work.start_soon(survivors.keep_running, end)
                group.cancel_scope.cancel()
            clients.close()
            await recovers(daemon, survivors)
            await serves(executor, 20, kinds)
    await rest.again(within_s=30)
    for name, value in (("outcomes", survivors.outcomes), ("blows", havoc.blows), ("clients", clients.started)):
        print(name, dict(value) if isinstance(value, Counter) else value)  # noqa: T201 - as above.
        record(name, str(value))
    print(f"longest {survivors.longest_s:.1f} s")  # noqa: T201 - as above.
    assert not survivors.faults
    assert clients.faults() == ""
    assert not [line for line in daemon.log if "defect" in line or "Traceback" in line]
    assert survivors.outcomes["ok"] > for_s
    assert havoc.blows["worker SIGKILL"] > for_s


async def test_under_a_few_seconds_of_kills_every_run_has_one_right_outcome(
    start_daemon: StartDaemon, tmp_path: Path, record_property: Record
) -> None:
    daemon = start_daemon("--workers", "8", "--warm", str(WARM), "--queue-s", str(QUEUE_S))
    plans = {"worker": Plan((0.05, 0.2), stops=0), "zygote": Plan((0.9, 1), stops=0)}
    short = [kind for kind in KINDS if kind is not waiting]
    await chaos(daemon, plans, record_property, tmp_path / "report", for_s=1.5, runs=8, kinds=short)


@pytest.mark.slow
@pytest.mark.timeout(360)
async def test_under_a_minute_of_kills_and_stops_every_run_has_one_right_outcome(
    start_daemon: StartDaemon, tmp_path: Path, record_property: Record
) -> None:
    daemon = start_daemon("--workers", "24", "--warm", str(WARM), "--queue-s", str(QUEUE_S))
    plans = {
        "worker": Plan((0.1, 0.5), for_good=0.15, kills=CRASHES),
        "zygote": Plan((6, 10), stops=0.5, for_good=0.4),
        "client": Plan((1, 3)),
    }
    await chaos(daemon, plans, record_property, tmp_path / "report", for_s=60, runs=50, doomed=4)
