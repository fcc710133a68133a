"""Pauses that grow while something keeps failing."""

from __future__ import annotations

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0


class Backoff:
    """How long to wait before the next attempt; nothing, as long as all is well."""

    pause_s = 0.0

    def again(self) -> None:
        """It failed once more: double the pause, within bounds."""
        self.pause_s = min(max(self.pause_s * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)

    def over(self) -> None:
        """It works again."""
        self.pause_s = 0.0
