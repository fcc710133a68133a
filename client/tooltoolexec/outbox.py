"""What goes to a run's worker: answers are sent together, and nobody waits for them, neither the reader nor a tool."""

from __future__ import annotations

import anyio
import anyio.abc

from tooltoolexec.transport import Transport
from tooltoolexec_protocol.messages import Answers, Message

_BATCH_CHARACTERS = 1024 * 1024


class Outbox:
    """Collects answers and sends them as few frames.

    Args:
        transport: where they go. Once it is closed they are dropped: nobody waits for them any more.
        group: where the task lives that waits for a full socket.
    """

    def __init__(self, transport: Transport, group: anyio.abc.TaskGroup) -> None:
        self._transport = transport
        self._group = group
        self._answers: list[tuple[int, str]] = []
        self._characters = 0
        self._writer_is_up = False
        self._emptied: anyio.Event | None = None  # Made by who waits for it.

    def add(self, number: int, answer: str) -> None:
        """Take one answer; it goes out with the next flush, or now when enough has come together."""
        if self._transport.is_closed:
            return
        if self._answers and self._characters + len(answer) > _BATCH_CHARACTERS:
            self.flush()
        self._answers.append((number, answer))
        self._characters += len(answer)

    def send(self, message: Message) -> None:
        """Send something else, now as far as the socket takes it and otherwise soon."""
        if self._transport.is_closed:
            return
        self._transport.queue(message)
        if self._transport.has_unsent:
            self.flush_soon()

    def flush(self) -> None:
        """Send what is there, as far as the socket takes it without waiting."""
        if self._transport.is_closed or not self._answers:
            return
        answers, self._answers, self._characters = self._answers, [], 0
        self._transport.queue(Answers(answers=answers))
        if self._transport.has_unsent:
            self.flush_soon()

    def flush_soon(self) -> None:
        """Send in a moment, together with what other tasks finish until then."""
        is_needed = self._answers or self._transport.has_unsent
        if is_needed and not self._writer_is_up and not self._transport.is_closed:
            self._writer_is_up = True
            self._group.start_soon(self._write)

    async def emptied(self) -> None:
        """Wait while answers wait because the worker does not read."""
        while self._transport.has_unsent and not self._transport.is_closed:
            self.flush_soon()
            self._emptied = self._emptied or anyio.Event()
            await self._emptied.wait()

    async def _write(self) -> None:
        try:
            while not self._transport.is_closed and (self._answers or self._transport.has_unsent):
                self.flush()
                await self._transport.drain()
        finally:
            self._writer_is_up = False
            if self._emptied is not None:
                self._emptied.set()
                self._emptied = None
