"""A TLS connection's plain side.

The daemon keeps the TLS socket and pumps its bytes to and from a Unix socket, whose other end is a connection like
every other: for the session, and for the worker that it is handed to.

    client ◀── TLS ──▶ Relay ◀── socketpair ──▶ session, then worker

An end on one side becomes the same end on the other, at once. At most 64 KiB wait here in each direction.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress

import trio

from tooltoolexec_executor.sending import send_all
from tooltoolexec_executor.tls import Cipher, TlsError

_BYTES = 64 * 1024
_RECORD_BYTES = 16 * 1024
"""So much is taken from the client at a time: what it takes to decrypt is work that nobody else gets a turn in."""
_HANG_UP_CHECK_S = 0.05
_GOODBYE_S = 0.5
_GOODBYE_READS = 64


class Relay:
    """Pumps one connection.

    Args:
        outer: the client's socket, whose handshake is done.
        cipher: its TLS.
        inner: this end of the socketpair.
    """

    def __init__(self, outer: socket.socket, cipher: Cipher, inner: socket.socket) -> None:
        inner.setblocking(False)
        self._raw = outer
        self._outer = trio.socket.from_stdlib_socket(outer)
        self._cipher = cipher
        self._inner = trio.socket.from_stdlib_socket(inner)
        self._sending = trio.Lock()
        self.ended = trio.Event()
        self.sent = 0
        """Bytes that have gone to the client."""

    async def run(self) -> None:
        """Pump until one side ends and the other has been told. Never raises for anything the client does."""
        is_complete = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._inwards, nursery.cancel_scope)
                is_complete = await self._outwards()
                nursery.cancel_scope.cancel()
            if is_complete:
                await self._say_goodbye()
        finally:
            self._inner.close()
            self._outer.close()
            self.ended.set()

    async def _inwards(self, stop: trio.CancelScope) -> None:
        """From the client, until it hangs up: then the other end sees a hang-up."""
        with suppress(OSError, TlsError):
            data = b""  # What came together with the end of the handshake is there already.
            while True:
                plain = self._cipher.decrypt(data)
                if self._cipher.has_output and not self._sending.locked():
                    await self._flush()  # A renewed key has to be answered. Whoever sends does so as well.
                await trio.lowlevel.checkpoint()
                if plain is None or not await self._deliver(plain):
                    break
                data = await self._outer.recv(_RECORD_BYTES)
                if not data:
                    break
        with suppress(OSError):
            self._inner.shutdown(socket.SHUT_RDWR)
        stop.cancel()

    async def _deliver(self, plain: bytes) -> bool:
        """Hand it on; whether that worked. A worker that does not read must not hide that the client has gone."""
        rest = memoryview(plain)
        while rest:
            with trio.move_on_after(_HANG_UP_CHECK_S):
                rest = rest[await self._inner.send(rest) :]
                continue
            if _has_hung_up(self._raw):
                return False
        return True

    async def _outwards(self) -> bool:
        """To the client, until the other end is closed; whether all of it went out."""
        while data := await self._next_from_inside():
            try:
                self._cipher.encrypt(data)
                await self._flush()
            except OSError:
                return False
        return True

    async def _next_from_inside(self) -> bytes:
        try:
            return await self._inner.recv(_BYTES)
        except ConnectionResetError:  # The end of a worker that had not read all; what it sent has come before this.
            return b""

    async def _flush(self) -> None:
        async with self._sending:
            while self._cipher.has_output:
                data = self._cipher.output()
                await send_all(self._outer, data)
                self.sent += len(data)

    async def _say_goodbye(self) -> None:
        """Tell the client that nothing follows, and read away what it still sends: unread bytes would take it back."""
        with trio.move_on_after(_GOODBYE_S), suppress(OSError):
            self._cipher.finish()
            await self._flush()
            self._outer.shutdown(socket.SHUT_WR)
            for _ in range(_GOODBYE_READS):
                if not await self._outer.recv(_BYTES):
                    return


def _has_hung_up(connection: socket.socket) -> bool:
    """Whether the peer has gone, or will send no more, though bytes of it may still be unread."""
    poller = select.poll()
    poller.register(connection, select.POLLRDHUP)
    return bool(poller.poll(0))
