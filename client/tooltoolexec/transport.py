"""One non-blocking socket and the conversation on it.

It waits with `anyio.wait_readable` and `wait_writable` directly: the same under asyncio and trio, and much faster than
a stream object. Every wait comes after the system said the socket would block. Bytes go to and come from a wire, which
is the socket itself or TLS on it.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import anyio
import anyio.lowlevel

from tooltoolexec import forks
from tooltoolexec_protocol import limits
from tooltoolexec_protocol.connection import Connection, State
from tooltoolexec_protocol.framing import HEADER_BYTES
from tooltoolexec_protocol.messages import Message

_RECEIVE_BYTES = 64 * 1024
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds, seconds and times: a peer whose machine has vanished is noticed after a minute."""
_WORKERS = (State.RUNNING, State.RETAINED)
"""States in which a worker reads, which takes larger frames than the daemon."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Wire(Protocol):
    """What bytes go through: a socket, or `TlsWire`. Neither method waits: BlockingIOError says that one must."""

    def send(self, data: bytearray, /) -> int:
        """How many bytes from the front are through. Raises OSError."""

    def recv(self, size: int, /) -> bytes:
        """What has come; nothing at the end of the stream. Raises OSError."""


class Transport:
    """A connected stream socket with the client's end of the protocol. It owns the socket.

    A failing socket is never an exception here: it reads as the end of the stream, which is where the reader looks.

    Args:
        sock: the socket.
        wire: TLS on it, where that is spoken.

    Attributes:
        failure: why the stream ended, where the system or TLS gave a reason.
        features: the daemon's optional abilities, from its greeting.
    """

    def __init__(self, sock: socket.socket, wire: Wire | None = None) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._wire: Wire = wire or sock
        self.failure: OSError | None = None
        self.features: Sequence[str] = ()
        self._is_tcp = sock.family in (socket.AF_INET, socket.AF_INET6)
        if self._is_tcp:
            _set_tcp_options(sock)
        self._connection = Connection(is_client=True)
        # What the system has not taken yet. Its front is cut off as it goes, which bytearray does without a copy.
        self._unsent = bytearray()
        self.is_closed = False
        # Tasks inside a wait on the descriptor. Its number must not be given back, and so perhaps reused, before the
        # last of them has left: on its way out it removes what the loop knows under that number.
        self._waiting = 0
        forks.close_in_child(sock)

    def queue(self, message: Message) -> None:
        """Send what fits into the socket now and keep the rest; while `has_unsent`, somebody must call `drain`.

        Raises:
            LocalProtocolError: the conversation's state does not allow the message.
            ValueError: it is larger than the peer reads.
        """
        data = self._connection.send(message)
        if self._connection.state not in _WORKERS and len(data) > limits.REQUEST_BYTES + HEADER_BYTES:
            raise ValueError(f"The request of {len(data)} bytes is over the limit of {limits.REQUEST_BYTES} bytes.")
        if self._unsent:
            self._unsent += data
            return
        self._unsent += data
        self._push()

    @property
    def has_unsent(self) -> bool:
        """Whether the socket was full at the last attempt."""
        return bool(self._unsent)

    async def drain(self) -> None:
        """Wait until everything queued has gone out, or the connection is over. One task at a time."""
        while self._unsent:
            if not await self._wait(anyio.wait_writable):
                self._unsent.clear()
                return
            self._push()

    async def _wait(self, ready: Callable[[socket.socket], Awaitable[None]]) -> bool:
        """Wait with `ready`; whether the connection is still open after that."""
        self._waiting += 1
        try:
            if not self.is_closed:
                await ready(self._socket)
        except (anyio.ClosedResourceError, OSError):
            return False
        finally:
            self._waiting -= 1
            if self.is_closed and not self._waiting:
                self._socket.close()
        return not self.is_closed

    def _push(self) -> None:
        try:
            while self._unsent:
                sent = self._wire.send(self._unsent)
                del self._unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()

    async def send(self, message: Message) -> None:
        """Send `message` and wait until it has gone out. Raises as `queue`."""
        self.queue(message)
        await self.drain()

    async def receive(self) -> Message | None:
        """The peer's next message, or None at the end of the stream.

        Raises:
            ProtocolError: the peer broke the protocol; abort.
        """
        while not self.is_closed:
            message = self._connection.next_message()
            if message is not None:
                return message
            data = await self._receive_bytes()
            if not data:
                return None
            self._connection.receive_data(data)
        return None

    async def _receive_bytes(self) -> bytes:
        try:
            data = self._wire.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            pass
        except OSError as error:
            self.failure = error
            return b""
        else:
            # A peer that always has more must not keep the caller's other tasks from running.
            await anyio.lowlevel.checkpoint()
            return data
        while await self._wait(anyio.wait_readable):
            try:
                return self._wire.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                self.failure = error
                break
        return b""

    def is_idle(self) -> bool:
        """Whether the peer is still there and silent, as a greeted spare's must be. If not, this is of no more use."""
        try:
            self._wire.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the socket; whoever waits for it is woken and sees the end of the stream."""
        if self.is_closed:
            return
        self.is_closed = True
        self._unsent.clear()
        if self._waiting:
            anyio.notify_closing(self._socket)
        else:
            self._socket.close()

    def abort(self) -> None:
        """Close so that the peer notices at once, even one that is busy or whose window is full."""
        if self.is_closed:
            return
        try:
            if self._is_tcp:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            else:
                self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The peer was faster.
        self.close()


def _set_tcp_options(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # Not on every system.
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
