"""How the last runs ended, kept for clients whose connection broke before they heard it.

Many runs end within the time that they are kept, so of each no more is kept than the answer needs.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from tooltoolexec_protocol.limits import MIB

_KEPT_S = 60.0
_KEPT_AT_MOST = 10_000
_KEPT_BYTES = 64 * MIB


class _Ended(NamedTuple):
    identity: str
    at: float
    outcome: bytes


class Outcomes:
    """The outcomes of ended runs by the run's id. Old ones go as new ones come."""

    def __init__(self) -> None:
        self._ended: dict[str, _Ended] = {}  # In the order of their ends.
        self._bytes = 0

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._ended

    def keep(self, run_id: str, identity: str, outcome: bytes) -> None:
        """Keep a run's encoded outcome for its own identity; empty where the client has it from the worker."""
        self._ended[run_id] = _Ended(identity, time.monotonic(), outcome)
        self._bytes += len(outcome)

    def of(self, run_id: str, identity: str) -> bytes:
        """The outcome; empty when nothing is known, or not for this identity."""
        ended = self._ended.get(run_id)
        return ended.outcome if ended is not None and ended.identity == identity else b""

    def forget_old(self) -> None:
        """Drop what is too old, or too much."""
        oldest = time.monotonic() - _KEPT_S
        while self._ended:
            run_id, ended = next(iter(self._ended.items()))
            if ended.at >= oldest and len(self._ended) <= _KEPT_AT_MOST and self._bytes <= _KEPT_BYTES:
                return
            del self._ended[run_id]
            self._bytes -= len(ended.outcome)
