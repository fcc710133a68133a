"""Frames on one accepted connection: read without taking a byte beyond each, sent whole, every wait with its bound."""

from __future__ import annotations

import math
import socket

import trio

from tooltoolexec_executor.queueing import PeerGoneError
from tooltoolexec_executor.sending import send_all
from tooltoolexec_protocol.connection import Connection
from tooltoolexec_protocol.errors import ProtocolError
from tooltoolexec_protocol.messages import Message, Refused

_FRAME_S = 30.0
"""How long a frame may take from its first byte to its last."""
_SEND_S = 10.0
_RECEIVE_BYTES = 256 * 1024
_REFUSAL_S = 1.0
_DRAINING_S = 0.2
"""As `_REFUSAL_S`, where it is no client's fault: idle ones need not read it, and the daemon's end waits for it."""
_REFUSAL_READS = 64


class Conversation:
    """The daemon's end of one connection. It owns the socket."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.raw = connection
        self._socket = trio.socket.from_stdlib_socket(connection)
        self._connection = Connection(is_client=False)

    async def message(self, silence_s: float = math.inf) -> Message | None:
        """The client's next message; None when it has not begun one after `silence_s`.

        Raises:
            ProtocolError: it broke the protocol, or its frame takes too long.
            PeerGoneError: it hung up.
        """
        deadline, is_silent = trio.current_time() + silence_s, True
        while (message := self._connection.next_message()) is None:
            # What is there is read at once: a wait costs as much as all the rest of a small request.
            try:
                data = self.raw.recv(min(self._connection.bytes_wanted, _RECEIVE_BYTES))
            except BlockingIOError:
                if is_silent and not self._connection.at_border:
                    deadline, is_silent = trio.current_time() + _FRAME_S, False
                with trio.move_on_at(deadline) as scope:
                    await trio.lowlevel.wait_readable(self.raw)
                if not scope.cancelled_caught:
                    continue
                if is_silent:
                    return None
                raise ProtocolError("deadline", f"A frame took longer than {_FRAME_S:g} seconds.") from None
            if not data:
                raise PeerGoneError
            self._connection.receive_data(data)
        return message

    async def send(self, message: Message) -> None:
        """Send it whole.

        Raises:
            PeerGoneError: the client hung up, or takes nothing.
        """
        data = self._connection.send(message)
        with trio.move_on_after(_SEND_S) as deadline:
            try:
                await send_all(self._socket, data)
            except OSError:
                raise PeerGoneError from None
        if deadline.cancelled_caught:
            raise PeerGoneError

    async def refuse(self, code: str, message: str) -> None:
        """Tell the client why this is the end, if it still listens."""
        try:
            await self.send(Refused(code=code, message=message))
            self.raw.shutdown(socket.SHUT_WR)
        except (OSError, PeerGoneError):
            return
        # What the client still sends is read away: closing on unread bytes would take the refusal back.
        with trio.move_on_after(_DRAINING_S if code == "draining" else _REFUSAL_S):
            try:
                for _ in range(_REFUSAL_READS):
                    if not await self._socket.recv(_RECEIVE_BYTES):
                        return
            except OSError:
                return

    def close(self) -> None:
        """Close this process's descriptor. May be called again."""
        self._socket.close()
