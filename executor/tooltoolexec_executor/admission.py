"""Who may run now and who waits: two bounds on the runs under way, and a bounded queue in order of arrival.

    queued ─▶ computing ◀──▶ parked
                  └────┬───────┘
                      ▼ left

A run is let in while fewer than so many compute. One that waits for its tools gives its place to the next, as long as
fewer than so many are parked; when it goes on it takes a place at once, for it cannot be held up.
"""

from __future__ import annotations

from collections import OrderedDict

import trio


class OverloadedError(Exception):
    """No place in the queue, or none came free in time."""


class Place:
    """One admitted run's. Give it back with `leave`."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._is_parked = False

    def park(self) -> None:
        """The run waits for its tools. Without effect where too many do."""
        if not self._is_parked and self._admission.parked < self._admission.parked_limit:
            self._is_parked = True
            self._admission.parked += 1
            self._admission.give_back()

    def resume(self) -> None:
        """The run computes again."""
        if self._is_parked:
            self._is_parked = False
            self._admission.parked -= 1
            self._admission.computing += 1

    def leave(self) -> None:
        """The run is over."""
        if self._is_parked:
            self._admission.parked -= 1
        else:
            self._admission.give_back()


class Admission:
    """Lets runs in.

    Args:
        computing: how many may compute at a time.
        parked: how many more may wait for their tools.
        queue: how many may wait to be let in.
        queue_s: how long each may, in seconds.
    """

    def __init__(self, computing: int, parked: int, queue: int, queue_s: float) -> None:
        self._limit = computing
        self.parked_limit = parked
        self._queue = queue
        self._queue_s = queue_s
        self._waiting: OrderedDict[trio.Event, None] = OrderedDict()
        self.computing = 0
        self.parked = 0

    @property
    def queued(self) -> int:
        """How many wait now."""
        return len(self._waiting)

    def try_enter(self) -> Place | None:
        """A place if one is free and nobody waits for it."""
        if self.computing >= self._limit or self._waiting:
            return None
        self.computing += 1
        return Place(self)

    async def enter(self) -> Place:
        """A place.

        Raises:
            OverloadedError: there is none to be had.
        """
        place = self.try_enter()
        if place is not None:
            return place
        if len(self._waiting) >= self._queue:
            raise OverloadedError
        turn = trio.Event()
        self._waiting[turn] = None
        try:
            with trio.move_on_after(self._queue_s):
                await turn.wait()
        except trio.Cancelled:
            if turn.is_set():
                self.give_back()  # The turn came together with the cancellation.
            raise
        finally:
            self._waiting.pop(turn, None)
        if not turn.is_set():
            raise OverloadedError
        return Place(self)

    def give_back(self) -> None:
        """A place among the computing ones is free: the longest waiting run gets it."""
        self.computing -= 1
        if self._waiting and self.computing < self._limit:
            turn, _none = self._waiting.popitem(last=False)
            self.computing += 1
            turn.set()
