"""Many runs over one executor: daemon, zygote and client hold at the end what they held at the beginning."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import anyio
import pytest

from serving import ServedDaemon, children_of, until, workers_of
from tooltoolexec import Executor, Limits, connect

from .conftest import StartDaemon
from .jobs import KINDS, PROVIDERS, Jobs, computing, waiting
from .rest import PER_WORKER, Holdings, client_holdings, holdings_of

pytestmark = pytest.mark.anyio

SEED = "2718"
WARM = 4
AT_ONCE = 4
BOUND_S = 30.0
SHORT_S = 0.05
Record = Callable[[str, object], None]
FAILING = {
    "async () => { throw new Error('no') }": "program",
    "async () => { return }}": "syntax",
    "async () => { await new Promise(() => {}) }": "stalled",
    "() => { for (;;); }": "timeout",
    "async () => { await store.double(1); await new Promise(done => setTimeout(done, 9000)) }": "timeout",
    "() => { const a = []; a[0] = a; return a }": "unserializable",
}


@dataclass(frozen=True)
class Sample:
    """What everybody holds between two runs."""

    daemon: Holdings
    zygote: Holdings
    client: Holdings
    workers: int

    def line(self, runs: int) -> str:
        sides = [
            f"{name} {each.descriptors} fds {each.threads} threads {each.memory_mb:.1f} MB"
            for name, each in (("daemon", self.daemon), ("zygote", self.zygote), ("client", self.client))
        ]
        return f"{runs:6} runs: {', '.join(sides)}, {self.workers} workers"


class Soak:
    """Runs jobs that work, programs that fail, and runs that are cancelled in the middle of a call."""

    def __init__(self, executor: Executor, daemon: ServedDaemon) -> None:
        self._executor = executor
        self._daemon = daemon
        self._random = Random(SEED)
        self._jobs = Jobs(SEED, [kind for kind in KINDS if kind not in (computing, waiting)])
        self._left = 0
        self.ended: Counter[str] = Counter()

    async def runs(self, how_many: int) -> None:
        """That many, a few at a time."""
        self._left = how_many
        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(self._work)

    async def _work(self) -> None:
        while self._left > 0:
            self._left -= 1
            lot = self._random.random()
            with anyio.fail_after(BOUND_S):
                if lot < 0.8:
                    await self._job()
                elif lot < 0.9:
                    await self._failure()
                else:
                    await self._cancelled()

    async def _job(self) -> None:
        job = self._jobs.next()
        run = await job.run(self._executor)
        assert run.ok, run.failure
        assert not job.faults_of(run)
        self.ended["ok"] += 1

    async def _failure(self) -> None:
        code, kind = self._random.choice(list(FAILING.items()))
        job = self._jobs.next()
        run = await self._executor.execute(code, PROVIDERS, dispatch=job.dispatch, limits=Limits(wall_s=SHORT_S))
        assert run.failure is not None
        # A short limit may run out under any of them on a busy machine.
        assert run.failure.kind in (kind, "timeout")
        self.ended[run.failure.kind] += 1

    async def _cancelled(self) -> None:
        with anyio.CancelScope() as scope:

            async def dispatch(_provider: str, _tool: str, _args: str) -> str:
                scope.cancel()
                return "{}"

            await self._executor.execute(
                "async () => { await store.double(1); for (;;) await store.double(2) }", PROVIDERS, dispatch=dispatch
            )
        assert scope.cancelled_caught
        self.ended["cancelled"] += 1

    async def sample(self) -> Sample:
        """What is held once all is quiet."""
        pid = self._daemon.pid
        await until(lambda: len(children_of(pid)) == 1 and WARM <= len(workers_of(pid)) <= WARM + 1, "rest")
        await anyio.sleep(0.3)  # For what closes after that and has no event here: a session, a spare.
        self._daemon.log.clear()  # This process keeps its lines.
        gc.collect()
        (zygote,) = children_of(pid)
        return Sample(holdings_of(pid), holdings_of(zygote), client_holdings(), len(workers_of(pid)))


async def soak(daemon: ServedDaemon, record: Record, *, first: int, more: int, steps: int) -> tuple[Sample, Sample]:
    """The samples after the `first` runs and after `steps` times `more`."""
    async with connect(daemon.unix) as executor:
        soaking = Soak(executor, daemon)
        begun, done = time.monotonic(), first
        await soaking.runs(first)
        before = after = await soaking.sample()
        lines = [before.line(done)]
        for _ in range(steps):
            await soaking.runs(more)
            after = await soaking.sample()
            done += more
            lines.append(after.line(done))
    lines.append(f"{done / (time.monotonic() - begun):.0f} runs/s, {dict(soaking.ended)}")
    print("", *lines, sep="\n")  # noqa: T201 - what a trend is read from.
    record("figures", lines)
    return before, after


def assert_flat(before: Sample, after: Sample, *, daemon_mb: float, zygote_mb: float, client_mb: float) -> None:
    """Nothing grew, but for memory within these bounds."""
    spread = after.workers - before.workers
    assert after.daemon.descriptors == before.daemon.descriptors + PER_WORKER * spread
    assert after.zygote.descriptors == before.zygote.descriptors + spread
    assert after.client.descriptors == before.client.descriptors
    for side, bound_mb in (("daemon", daemon_mb), ("zygote", zygote_mb), ("client", client_mb)):
        earlier, later = getattr(before, side), getattr(after, side)
        assert later.threads <= earlier.threads, side
        assert later.memory_mb - earlier.memory_mb < bound_mb, side


async def test_some_mixed_runs_leave_no_descriptor_and_no_thread(
    start_daemon: StartDaemon, record_property: Record
) -> None:
    daemon = start_daemon("--workers", "8", "--warm", str(WARM))
    before, after = await soak(daemon, record_property, first=30, more=40, steps=1)
    assert_flat(before, after, daemon_mb=8, zygote_mb=8, client_mb=16)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_ten_thousand_mixed_runs_leave_nothing_behind(
    start_daemon: StartDaemon, record_property: Record, anyio_backend: str
) -> None:
    daemon = start_daemon("--workers", "8", "--warm", str(WARM))
    before, after = await soak(daemon, record_property, first=1000, more=1000, steps=9)
    assert_flat(before, after, daemon_mb=6, zygote_mb=4, client_mb=8)
