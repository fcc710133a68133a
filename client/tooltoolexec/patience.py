"""How often and how soon a run tries again while its daemon restarts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from tooltoolexec.dial import is_passing
from tooltoolexec.transport import Transport
from tooltoolexec_protocol.errors import ConnectError

PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each further try: a restart takes less than all of them together, and a dead daemon is soon told."""

OpenOne = Callable[[], Awaitable[Transport]]
"""Gives a fresh greeted connection. Raises ExecutorError."""


class Patience:
    """One run's. All that may be tried again draws on the same few tries.

    Args:
        open_one: gives a fresh connection, without patience.
        is_hopeless: whether no daemon will ever answer again.
        closed: set when the executor closes; ends a pause.
    """

    def __init__(self, open_one: OpenOne, is_hopeless: Callable[[], bool], closed: anyio.Event) -> None:
        self._open_one = open_one
        self._is_hopeless = is_hopeless
        self._closed = closed
        self._pauses = iter(PAUSES_S)

    async def open(self) -> Transport:
        """A fresh connection.

        Raises:
            ExecutorError: there is none, also after the tries that are left.
        """
        while True:
            try:
                return await self._open_one()
            except ConnectError as error:
                if not is_passing(error) or self._is_hopeless() or not await self.pause():
                    raise

    async def pause(self) -> bool:
        """Wait before the next try; False when none is left."""
        seconds = next(self._pauses, None)
        if seconds is None:
            return False
        with anyio.move_on_after(seconds):
            await self._closed.wait()
        return True
