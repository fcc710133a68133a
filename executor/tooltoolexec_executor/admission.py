"""Who may run now and who waits: a bound on runs under way, and a bounded queue in order of arrival."""

from __future__ import annotations

from collections import OrderedDict

import trio


class OverloadedError(Exception):
    """No place in the queue, or none came free in time."""


class Admission:
    """At most `running` runs at once and `queue` waiting ones, each for at most `queue_s` seconds."""

    def __init__(self, running: int, queue: int, queue_s: float) -> None:
        self._limit = running
        self._queue = queue
        self._queue_s = queue_s
        self._waiting: OrderedDict[trio.Event, None] = OrderedDict()
        self.running = 0

    @property
    def queued(self) -> int:
        """How many wait now."""
        return len(self._waiting)

    def try_enter(self) -> bool:
        """Take a place if one is free and nobody waits for it."""
        if self.running >= self._limit or self._waiting:
            return False
        self.running += 1
        return True

    async def enter(self) -> None:
        """Take a place; give it back with `leave`.

        Raises:
            OverloadedError: there is none to be had.
        """
        if self.try_enter():
            return
        if len(self._waiting) >= self._queue:
            raise OverloadedError
        turn = trio.Event()
        self._waiting[turn] = None
        try:
            with trio.move_on_after(self._queue_s):
                await turn.wait()
        except trio.Cancelled:
            if turn.is_set():
                self.leave()  # The turn came together with the cancellation.
            raise
        finally:
            self._waiting.pop(turn, None)
        if not turn.is_set():
            raise OverloadedError

    def leave(self) -> None:
        """Give a place back; the longest waiting run gets it."""
        if self._waiting:
            turn, _none = self._waiting.popitem(last=False)
            turn.set()
        else:
            self.running -= 1
