"""The runs under way and how the last ones ended.

    begun ──worker exits──▶ ended, its outcome kept for a while (outcomes.py)
      ├──past its deadline──▶ killed ──▶ ended
      └──retained──▶ it worked, and its worker lives on for its handles ──exits, past a new deadline──▶ ended

A client whose connection broke asks by the run's id; only the identity that ran it gets an answer.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import trio

from tooltoolexec_executor.logs import run_ended
from tooltoolexec_executor.outcomes import Outcomes
from tooltoolexec_executor.tally import Tally
from tooltoolexec_executor.worker.courier import RETAINED
from tooltoolexec_executor.worker.watchdog import CANCELLED, PARKED
from tooltoolexec_executor.workers import Worker
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import Done, Failure, Stats, decode, encode

_GRACE_S = 1.0
"""How far past its wall limit a worker may be before the daemon ends it; its own watchdog needs a tenth of that."""
_SENDING_S = 60.0
"""How long a worker may take to send an outcome after it said that there is one."""
_RETAINED_GRACE_S = 5.0
"""How far past its idle limit a retained worker may be, beside what its last invocation may take."""
_RETAINED_S = 3600.0
"""How long a run may be retained in all: that it is in use is what its worker says, which may be lying."""


@dataclass(slots=True, eq=False)
class Run:
    """One run, from its admission to its end.

    `retained_idle_s` is the idle limit of one whose client asked for handles, `retained_until` the end of the longest
    life of one that was retained, by trio's clock.
    """

    id: str
    identity: str
    labels: dict[str, str]
    limits: EffectiveLimits
    queued_s: float = 0.0
    worker: Worker | None = None
    begun_at: float = 0.0
    has_ended: trio.Event = field(default_factory=trio.Event)
    was_killed: bool = False
    retained_idle_s: float | None = None
    retained_until: float | None = None


class Runs:
    """Every run by its id, and the outcomes of those that ended."""

    def __init__(self, tally: Tally | None = None) -> None:
        self.tally = tally or Tally()
        self._by_id: dict[str, Run] = {}
        self._under_way: set[Run] = set()
        self._ended = Outcomes()

    def add(self, run_id: str, identity: str, labels: dict[str, str], limits: EffectiveLimits) -> Run | None:
        """A new run; None when its id is taken."""
        self._ended.forget_old()
        if run_id in self._by_id or run_id in self._ended:
            return None
        run = self._by_id[run_id] = Run(run_id, identity, labels, limits)
        return run

    def drop(self, run: Run) -> None:
        """Forget a run that never began; its id is free again. Of one that did, nothing is forgotten."""
        if not run.begun_at:
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
                report = await worker.report(partial(_note_state, run, deadline, on_state))
                if report is not None and run.retained_until is None:
                    on_state(PARKED)  # What is left is sending, and need not hold up others.
                    deadline.deadline = max(deadline.deadline, trio.current_time() + _SENDING_S)
                    await worker.gone()
            run.was_killed = deadline.cancelled_caught
            await worker.see_out()
        finally:
            worker.kill()
            worker.close()
            self._settle(run, worker.status, report)

    async def outcome(self, run_id: str, identity: str) -> Done | None:
        """How a run ended; waits for one that is still under way. None when nobody knows, or this identity may not."""
        run = self._by_id.get(run_id)
        if run is not None and run.identity == identity:
            await run.has_ended.wait()
        outcome = self._ended.of(run_id, identity)
        message = decode(outcome) if outcome else None
        return message if isinstance(message, Done) else None

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
        self._under_way.discard(run)
        was_cancelled = status is not None and os.waitstatus_to_exitcode(status) == CANCELLED
        wall_s = time.monotonic() - run.begun_at
        failure = self._failure_of(run, status, report)
        outcome = b""
        if failure is not None:
            stats = report.stats if report is not None else Stats(wall_s=wall_s)
            # Encoded: as objects, what a worker made up may be a hundred times as large.
            outcome = encode(Done(id=run.id, failure=failure, stats=stats))
        self._ended.keep(run.id, run.identity, outcome)
        del self._by_id[run.id]
        kind = failure.kind if failure is not None else "cancelled" if was_cancelled else "ok"
        self.tally.run_ended(kind, wall_s, run.queued_s)
        used = report.stats if report is not None else None
        run_ended(run.id, run.identity, kind, run.labels, wall_s=wall_s, queued_s=run.queued_s, used=used)
        run.has_ended.set()

    def _failure_of(self, run: Run, status: int | None, report: Done | None) -> Failure | None:
        """Why it failed, from what its worker said and from how that ended; None when it did not."""
        if run.retained_until is not None:
            return None  # It had worked, whatever became of its isolate.
        if report is not None and report.id == run.id and report.failure is not None:
            return report.failure
        if run.was_killed and report is None:
            return Failure(kind="timeout", message=texts.timeout(run.limits.wall_s))
        if status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            return Failure(kind="cpu", message=texts.cpu(run.limits.cpu_s))
        if status is not None and (status == 0 or os.waitstatus_to_exitcode(status) == CANCELLED):
            return None
        return Failure(kind="crashed", message=texts.CRASHED)


def _note_state(run: Run, deadline: trio.CancelScope, on_state: Callable[[bytes], None], state: bytes) -> None:
    """Pass it on, but for RETAINED: the worker then has time until it ought to have ended, unused."""
    if state != RETAINED:
        on_state(state)
    elif run.retained_idle_s is not None:
        now = trio.current_time()
        if run.retained_until is None:
            run.retained_until = now + _RETAINED_S
        unused_at = now + run.retained_idle_s + run.limits.wall_s + _RETAINED_GRACE_S
        deadline.deadline = min(unused_at, run.retained_until)
