"""How many connections may be open whose run has not begun: in all, and of one client."""

from __future__ import annotations

from collections import Counter

import trio


class TooManyError(Exception):
    """This client has as many connections as one may have."""


class Seat:
    """One connection's. Give it back with `leave`."""

    def __init__(self, connections: Connections, client: str) -> None:
        self._connections = connections
        self._client: str | None = client

    def move(self, client: str) -> None:
        """It turned out to be that client's.

        Raises:
            TooManyError: it may have no more.
        """
        if self._client is not None and client != self._client:
            self._connections.count(client, 1)
            self._connections.count(self._client, -1)
            self._client = client

    def leave(self) -> None:
        """It is closed, or its run has begun. May be called again."""
        if self._client is not None:
            client, self._client = self._client, None
            self._connections.count(client, -1)
            self._connections.give_back()


class Connections:
    """Counts them: `now` of at most `limit`."""

    def __init__(self, limit: int, per_client: int) -> None:
        self.limit, self.per_client = limit, per_client
        self.now = 0
        self._of: Counter[str] = Counter()
        self._freed = trio.lowlevel.ParkingLot()

    def change(self, limit: int, per_client: int) -> None:
        """Set other bounds; who is in stays in."""
        self.limit, self.per_client = limit, per_client
        self._freed.unpark_all()

    async def wait_for_room(self) -> None:
        """Wait until there is room for one more, whosever it is. One task at a time should take it from there."""
        while self.now >= self.limit:
            await self._freed.park()

    def take(self, client: str) -> Seat:
        """A seat for a client's connection.

        Raises:
            TooManyError: it may have no more.
        """
        self.count(client, 1)
        self.now += 1
        return Seat(self, client)

    def count(self, client: str, change: int) -> None:
        """Note that a client has one more or one less. Raises as `take`."""
        if change > 0 and self._of[client] >= self.per_client:
            raise TooManyError
        self._of[client] += change
        if not self._of[client]:
            del self._of[client]

    def give_back(self) -> None:
        """One is gone: who waits for room may look again."""
        self.now -= 1
        self._freed.unpark()
