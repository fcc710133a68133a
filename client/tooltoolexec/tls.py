"""A non-blocking socket whose bytes go through TLS, with a socket's `send` and `recv`.

OpenSSL works on memory here and never touches the socket, so that whoever waits waits as for a plain one.

    send ─▶ SSLObject ─▶ outgoing ─▶ socket          recv ◀─ SSLObject ◀─ incoming ◀─ socket

A wait must come only after `BlockingIOError`: until then bytes may lie in memory that the socket knows nothing of.
"""

from __future__ import annotations

import socket
import ssl

import anyio

from tooltoolexec.trust import Trust

_RECORD_BYTES = 16 * 1024
_BATCH_BYTES = 4 * _RECORD_BYTES
"""At most so much is encrypted ahead of the socket, or read from it ahead of the reader."""
_READS = 8
"""So often `recv` reads from the socket while nothing comes of it, then other tasks have their turn."""
_UNASKED_BYTES = 64 * 1024
"""What may wait to go out that nobody here sent: answers to a peer that asks for new keys."""


class TlsError(OSError):
    """TLS cannot be had with this peer, or was broken. The text says why and what to do; trying again does not help."""


class TlsWire:
    """The client's end of TLS on `sock`. Call `shake_hands` first. The socket stays the caller's."""

    def __init__(self, sock: socket.socket, trust: Trust) -> None:
        self._socket = sock
        self._trust = trust
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = trust.context.wrap_bio(self._incoming, self._outgoing, server_hostname=trust.server_name)
        self._encrypted = bytearray()  # Taken from `_outgoing`; the socket has not taken it yet.
        self._under_way = 0  # How many bytes of the caller's stand encrypted and have not gone out whole.

    async def shake_hands(self) -> None:
        """Agree on keys, and see that the peer is who it should be.

        Raises:
            TlsError: it is not, or the two cannot agree.
            OSError: the connection ended.
        """
        while True:
            try:
                self._object.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush_whole()
                await self._receive_some()
            except ssl.SSLError as error:
                await self._flush_whole()  # Tells the peer why.
                raise TlsError(self._trust.explain(error)) from None
            else:
                await self._flush_whole()
                return

    def send(self, data: bytes | bytearray) -> int:
        """As a socket's, but after `BlockingIOError` the next call must begin with the same bytes: they count then.

        Raises:
            OSError: the connection is over; `BlockingIOError` where the socket is full.
        """
        if not self._under_way:
            self._flush()
            self._under_way = self._encrypt(data)
        self._flush()
        sent, self._under_way = self._under_way, 0
        return sent

    def recv(self, size: int) -> bytes:
        """As a socket's: at most about `size` bytes, none at the end of the stream, however that came.

        Raises:
            OSError: the connection is over; `BlockingIOError` where nothing is there.
        """
        reads = 0
        while True:
            try:
                return self._decrypt(size)
            except ssl.SSLWantReadError:
                if reads == _READS:  # Not one whole record is left in memory, so that a wait misses nothing.
                    raise BlockingIOError from None
                reads += 1
                self._flush_unasked()
                data = self._socket.recv(_BATCH_BYTES)
                if not data:
                    return b""
                self._incoming.write(data)
            except ssl.SSLError as error:
                raise TlsError(self._trust.explain(error)) from None

    def _encrypt(self, data: bytes | bytearray) -> int:
        try:
            if len(data) <= _BATCH_BYTES:
                return self._object.write(data)
            with memoryview(data) as whole:
                return self._object.write(whole[:_BATCH_BYTES])
        except ssl.SSLError as error:
            raise TlsError(self._trust.explain(error)) from None

    def _decrypt(self, size: int) -> bytes:
        """Raises SSLWantReadError where no whole record is there."""
        data = self._object.read(_RECORD_BYTES)
        while self._incoming.pending and len(data) < size:
            try:
                more = self._object.read(_RECORD_BYTES)
            except ssl.SSLError:  # Not whole yet, or broken: the next call meets it again.
                break
            if not more:
                break
            data += more
        return data

    def _flush(self) -> None:
        """Raises BlockingIOError while something is left."""
        while self._encrypted or self._outgoing.pending:
            if not self._encrypted:
                self._encrypted += self._outgoing.read()
            sent = self._socket.send(self._encrypted)
            del self._encrypted[:sent]

    def _flush_unasked(self) -> None:
        if not self._outgoing.pending:
            return
        try:
            self._flush()
        except BlockingIOError:
            if self._outgoing.pending > _UNASKED_BYTES:
                raise TlsError("it asks for new keys and never reads them") from None

    async def _flush_whole(self) -> None:
        while True:
            try:
                return self._flush()
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    async def _receive_some(self) -> None:
        while True:
            try:
                data = self._socket.recv(_BATCH_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            if not data:
                raise OSError("it closed the connection during the TLS handshake")
            self._incoming.write(data)
            return
