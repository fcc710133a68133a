"""Greeted connections kept ahead of need, so that a run does not wait for one."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import anyio

from tooltoolexec.transport import Transport
from tooltoolexec_protocol.errors import ExecutorError

SPARES = 2


class Spares:
    """At most `SPARES` greeted connections.

    Args:
        open_one: gives one more, or raises ExecutorError.
    """

    def __init__(self, open_one: Callable[[], Awaitable[Transport]]) -> None:
        self._open_one = open_one
        self._idle: deque[Transport] = deque()
        self._wanted = anyio.Event()
        self._wanted.set()

    def take(self) -> Transport | None:
        """A spare whose peer is still there, or None; those that hung up meanwhile are dropped.

        Call `replenish` when the run that took it is over.
        """
        taken = None
        while taken is None and self._idle:
            transport = self._idle.popleft()
            if transport.is_idle():
                taken = transport
            else:
                transport.close()
        if not self._idle:
            self._wanted.set()  # Other runs may begin before this one is over.
        return taken

    def replenish(self) -> None:
        """Have what was taken replaced. Not earlier: opening a connection competes with the run for the processor."""
        self._wanted.set()

    async def add(self) -> None:
        """Open one now. Raises as `open_one`."""
        self._idle.append(await self._open_one())

    async def keep_full(self) -> None:
        """Fill up when there is reason to, for ever. A failure is quiet: the next run meets the error itself."""
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            try:
                while len(self._idle) < SPARES:
                    await self.add()
            except ExecutorError:
                continue

    def close(self) -> None:
        """Hang up on all of them."""
        while self._idle:
            self._idle.popleft().close()
