"""What a daemon has counted since its start, as plain numbers: a run pays microseconds, who reads them the rest."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from tooltoolexec_protocol.messages import FAILURE_KINDS

OUTCOMES = frozenset({"ok", "cancelled", *FAILURE_KINDS})
"""How a run may end."""
REFUSALS = frozenset(
    (
        "busy deadline draining duplicate_run forbidden malformed tls too_large unauthorized unexpected "
        "unknown_message version"
    ).split()
)
"""Codes that a client may be told; `tls` is none on the wire, but the handshakes that failed."""
_RUN_BOUNDS_S = (0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300)
_QUEUE_BOUNDS_S = (0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60)
_CAUSES = frozenset({"cancelled", "timeout", "cpu", "memory", "shutdown", "crashed"})
"""Outcomes that are a worker's early end as well; after any other it had finished."""
DEATHS = _CAUSES | {"finished", "unused", "unready"}
"""How a worker may end: as its run did, or without one."""


class Distribution:
    """How often a value was at most each of some bounds.

    Attributes:
        bounds: in rising order.
        counts: how often a value was over the bound before and at most this one; the last is for those over all.
        total: all values added up.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def note(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Tally:
    """The counts. Keys come from the closed sets above: nothing that a client chose becomes one.

    Attributes:
        runs: runs that ended, by outcome, those included that got no worker.
        run_s: seconds from their start to their end.
        queue_s: seconds they waited for a worker.
        refused: clients refused, by code.
        deaths: workers that ended, by cause: `unused` while they were idle, `unready` before they were.
        zygotes: processes started that fork workers.
    """

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.run_s = Distribution(_RUN_BOUNDS_S)
        self.queue_s = Distribution(_QUEUE_BOUNDS_S)
        self.refused: Counter[str] = Counter()
        self.deaths: Counter[str] = Counter()
        self.zygotes = 0

    def run_ended(self, outcome: str, wall_s: float, queued_s: float) -> None:
        """A run that had a worker ended, and the worker with it."""
        self.runs[outcome] += 1
        self.run_s.note(wall_s)
        self.queue_s.note(queued_s)
        self.deaths[outcome if outcome in _CAUSES else "finished"] += 1
