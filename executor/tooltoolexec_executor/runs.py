"""The runs under way and how the last ones ended.

    begun ──worker exits──▶ ended, its outcome kept for a while where the client may have to ask for it
      └──past its deadline──▶ killed ──▶ ended

A client whose connection broke asks by the run's id; only the identity that ran it gets an answer.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from tooltoolexec_executor.worker.watchdog import CANCELLED
from tooltoolexec_executor.workers import Worker
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import Done, Failure, Stats

log = logging.getLogger("tooltoolexec")

_KEPT_S = 60.0
_KEPT_AT_MOST = 10_000
_GRACE_S = 1.0
"""How far past its wall limit a worker may be before the daemon ends it; its own watchdog needs a tenth of that."""
_REAP_S = 5.0
"""How long the zygote may take to report an end."""
_SENDING_S = 60.0
"""How long a worker may take to send an outcome after it said that there is one."""


@dataclass(slots=True, eq=False)
class Run:
    """One run, from its admission to some time after its end."""

    id: str
    identity: str
    labels: dict[str, str]
    limits: EffectiveLimits
    worker: Worker | None = None
    begun_at: float = 0.0
    ended_at: float = 0.0
    outcome: Done | None = None
    has_ended: trio.Event = field(default_factory=trio.Event)
    was_killed: bool = False


async def _reap(worker: Worker) -> None:
    """See the worker's process out. A zygote that does not report its end hangs: it is ended with all its workers."""
    worker.kill()
    with trio.move_on_after(_REAP_S):
        await worker.has_ended.wait()
    if not worker.has_ended.is_set():
        if worker.zygote is not None:
            worker.zygote.replace()
        await worker.has_ended.wait()


class Runs:
    """Every run by its id, ended ones included while they are kept."""

    def __init__(self) -> None:
        self._by_id: dict[str, Run] = {}
        self._under_way: set[Run] = set()
        self._ended: deque[Run] = deque()
        self.counts: Counter[str] = Counter()

    def add(self, run_id: str, identity: str, labels: dict[str, str], limits: EffectiveLimits) -> Run | None:
        """A new run; None when its id is taken."""
        self._forget_old()
        if run_id in self._by_id:
            return None
        run = self._by_id[run_id] = Run(run_id, identity, labels, limits)
        return run

    def drop(self, run: Run) -> None:
        """Forget a run that never began; its id is free again."""
        self._by_id.pop(run.id, None)
        run.has_ended.set()

    async def attend(self, run: Run, worker: Worker, on_state: Callable[[bytes], None]) -> None:
        """Wait for the worker's end, and bring it about when it is overdue; then settle the outcome.

        A worker that says something else than its protocol allows is ended at once. `on_state` as in `Worker.report`.
        """
        run.worker, run.begun_at = worker, time.monotonic()
        self._under_way.add(run)
        report: Done | None = None
        try:
            with trio.move_on_after(run.limits.wall_s + _GRACE_S) as deadline:
                report = await worker.report(on_state)
                if report is not None:
                    deadline.deadline = max(deadline.deadline, trio.current_time() + _SENDING_S)
                    await worker.gone()
            run.was_killed = deadline.cancelled_caught
            await _reap(worker)
        finally:
            worker.kill()
            worker.close()
            self._settle(run, worker.status, report)

    async def outcome(self, run_id: str, identity: str) -> Done | None:
        """How a run ended; waits for one that is still under way. None when nobody knows, or this identity may not."""
        run = self._by_id.get(run_id)
        if run is None or run.identity != identity:
            return None
        await run.has_ended.wait()
        return run.outcome

    def shut_down(self) -> None:
        """End every run under way with `shutdown`."""
        for run in self._under_way:
            if run.worker is not None:
                run.worker.tell_to_end()

    @property
    def under_way(self) -> int:
        """How many runs have a worker now."""
        return len(self._under_way)

    def _settle(self, run: Run, status: int | None, report: Done | None) -> None:
        run.ended_at = time.monotonic()
        self._under_way.discard(run)
        self._ended.append(run)
        was_cancelled = status is not None and os.waitstatus_to_exitcode(status) == CANCELLED
        if report is not None and report.id == run.id and report.failure is not None:
            run.outcome = report
        elif run.was_killed and report is None:
            run.outcome = self._failure(run, "timeout", texts.timeout(run.limits.wall_s))
        elif status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            run.outcome = self._failure(run, "cpu", texts.cpu(run.limits.cpu_s))
        elif status != 0 and not was_cancelled:
            run.outcome = self._failure(run, "crashed", texts.CRASHED)
        kind = "cancelled" if was_cancelled else "ok"
        if run.outcome is not None and run.outcome.failure is not None:
            kind = run.outcome.failure.kind
        self.count(run.id, kind, run.labels, run.ended_at - run.begun_at)
        run.has_ended.set()

    def count(self, run_id: str, kind: str, labels: dict[str, str], seconds: float) -> None:
        """Note how a run ended."""
        self.counts[kind] += 1
        log.info("run %s ended: %s after %.3f s %s", run_id, kind, seconds, labels or "")

    def _failure(self, run: Run, kind: str, message: str) -> Done:
        return Done(
            id=run.id, failure=Failure(kind=kind, message=message), stats=Stats(wall_s=run.ended_at - run.begun_at)
        )

    def _forget_old(self) -> None:
        oldest = time.monotonic() - _KEPT_S
        while self._ended and (self._ended[0].ended_at < oldest or len(self._ended) > _KEPT_AT_MOST):
            self._by_id.pop(self._ended.popleft().id, None)
