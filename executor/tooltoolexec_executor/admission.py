"""Who may run now and who waits: bounds on the runs under way, in all and of each client, and a bounded queue.

    queued ─▶ computing ◀──▶ parked
                  └────┬───────┘
                      ▼ left

A run is let in while fewer than so many compute. One that waits for its tools gives its place to the next, as long as
fewer than so many are parked; when it goes on it takes a place at once, for it cannot be held up. The queue is served
in order of arrival, but for the runs of a client that has as many under way as one may have: the others pass them.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from dataclasses import dataclass

import trio


class OverloadedError(Exception):
    """No place in the queue, or none came free in time."""


class Place:
    """One admitted run's. Give it back with `leave`."""

    def __init__(self, admission: Admission, client: str) -> None:
        self._admission = admission
        self._client = client
        self._is_parked = False

    def park(self) -> None:
        """The run waits for its tools. Without effect where too many do."""
        if not self._is_parked and self._admission.parked < self._admission.bounds.parked:
            self._is_parked = True
            self._admission.parked += 1
            self._admission.computing -= 1
            self._admission.let_in()

    def resume(self) -> None:
        """The run computes again."""
        if self._is_parked:
            self._is_parked = False
            self._admission.parked -= 1
            self._admission.computing += 1

    def leave(self) -> None:
        """The run is over."""
        self._admission.forget(self._client, was_parked=self._is_parked)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many runs.

    Attributes:
        computing: how many may compute at a time.
        parked: how many more may wait for their tools.
        queue: how many may wait to be let in.
        queue_s: how long each may, in seconds.
        per_client: how many of one client may be under way, computing or parked.
        queue_per_client: how many of one client may wait to be let in.
    """

    computing: int
    parked: int
    queue: int
    queue_s: float
    per_client: float = math.inf
    queue_per_client: float = math.inf


class Admission:
    """Lets runs in. `computing` and `parked` say how many there are now."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.computing = 0
        self.parked = 0
        self._waiting: OrderedDict[trio.Event, str] = OrderedDict()
        self._waiting_of: Counter[str] = Counter()
        self._running_of: Counter[str] = Counter()
        self._left = trio.lowlevel.ParkingLot()

    @property
    def queued(self) -> int:
        """How many wait now."""
        return len(self._waiting)

    def try_enter(self, client: str) -> Place | None:
        """A place if one is free; then nobody waits who could have it."""
        if not self._has_room_for(client):
            return None
        self._note_entry(client)
        return Place(self, client)

    async def enter(self, client: str) -> Place:
        """A place.

        Raises:
            OverloadedError: there is none to be had.
        """
        place = self.try_enter(client)
        if place is not None:
            return place
        if len(self._waiting) >= self.bounds.queue or self._waiting_of[client] >= self.bounds.queue_per_client:
            raise OverloadedError
        turn = trio.Event()
        self._waiting[turn] = client
        self._waiting_of[client] += 1
        try:
            with trio.move_on_after(self.bounds.queue_s):
                await turn.wait()
        except trio.Cancelled:
            if turn.is_set():
                self.forget(client, was_parked=False)  # The turn came together with the cancellation.
            raise
        finally:
            if not turn.is_set():
                self._stop_waiting(turn)
        if not turn.is_set():
            raise OverloadedError
        return Place(self, client)

    async def until_empty(self) -> None:
        """Wait until no run is under way."""
        while self.computing or self.parked:
            await self._left.park()

    def change(self, bounds: Bounds) -> None:
        """Set other bounds; who is in stays in."""
        self.bounds = bounds
        self.let_in()

    def let_in(self) -> None:
        """Give their turn to those who waited longest, while there is room for them."""
        while self.computing < self.bounds.computing:
            turn = next((turn for turn, client in self._waiting.items() if self._has_room_for(client)), None)
            if turn is None:
                return
            self._note_entry(self._waiting[turn])
            self._stop_waiting(turn)
            turn.set()

    def forget(self, client: str, *, was_parked: bool) -> None:
        """A run is over."""
        if was_parked:
            self.parked -= 1
        else:
            self.computing -= 1
        _decrease(self._running_of, client)
        self.let_in()
        self._left.unpark_all()

    def _has_room_for(self, client: str) -> bool:
        return self.computing < self.bounds.computing and self._running_of[client] < self.bounds.per_client

    def _note_entry(self, client: str) -> None:
        self.computing += 1
        self._running_of[client] += 1

    def _stop_waiting(self, turn: trio.Event) -> None:
        _decrease(self._waiting_of, self._waiting.pop(turn))


def _decrease(counts: Counter[str], client: str) -> None:
    counts[client] -= 1
    if not counts[client]:
        del counts[client]
