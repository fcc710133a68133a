"""The run's connection as the worker uses it: bytes out in order from two threads, frames in, never blocked for good.

The descriptor stays non-blocking (its flag is shared with whoever else holds the connection). The isolate's thread may
wait for room, and reads meanwhile, because a client that only sends answers and a worker that only sends calls would
wait for each other. The watchdog never waits here.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from collections.abc import Callable

from tooltoolexec_protocol.framing import HEADER_BYTES, body_length
from tooltoolexec_protocol.limits import FRAME_BYTES

BUFFER_BYTES = 128 * 1024
"""A good size for the buffer."""
_DISCARDS = 64
_LONGEST_WAIT_MS = 10**9
_READ_AHEAD_BYTES = 4 * 1024 * 1024
"""How much may be taken from a client while waiting to send; past it the client has to wait as well."""


class PeerGoneError(Exception):
    """The client hung up: the run is cancelled."""


class Channel:
    """One connection. `sent` and `received` count bytes.

    Args:
        connection: the socket.
        buffer: for all reads; made ahead, because its pages cost as much as a short run.
        announce: called once, with the first bytes that leave: the daemon learns that this worker has the run. Right
            after them, because the daemon, woken first, might take the processor from worker and client.
    """

    def __init__(self, connection: socket.socket, buffer: bytearray, announce: Callable[[], None]) -> None:
        connection.setblocking(False)
        self._socket = connection
        # A Unix socket's peer reads what was sent whatever becomes of the sender; TCP may take it back.
        self.keeps_what_is_sent = connection.family == socket.AF_UNIX
        self._announce: Callable[[], None] | None = announce
        self._poll_in = _poller(connection, select.POLLIN)
        # Guards the queue and the order of sends; never held while waiting.
        self._lock = threading.Lock()
        self._unsent: deque[memoryview] = deque()
        self._inbound = bytearray()
        self._received = memoryview(buffer)
        # Bytes of the frame under way that `next_part` has still to give; 0 between two frames.
        self._body_left = 0
        self.sent = 0
        self.received = 0

    def push(self, data: bytes) -> None:
        """Queue bytes behind all queued before."""
        self._unsent.append(memoryview(data))
        self.sent += len(data)

    def flush(self) -> bool:
        """Send what the kernel takes without waiting. Whether all is sent.

        Raises:
            PeerGoneError: nobody will read it.
        """
        with self._lock:
            try:
                return self._send_queued()
            finally:
                self._announce_once()

    def _send_queued(self) -> bool:
        while self._unsent:
            data = self._unsent[0]
            try:
                count = self._socket.send(data)
            except BlockingIOError:
                return False
            except OSError:
                raise PeerGoneError from None
            if count == len(data):
                self._unsent.popleft()
            else:
                self._unsent[0] = data[count:]
        return True

    def announce(self) -> None:
        """See to it that the daemon knows of this worker, before anything is told to it by another way."""
        with self._lock:
            self._announce_once()

    def _announce_once(self) -> None:
        announce, self._announce = self._announce, None
        if announce is not None:
            announce()

    def flush_all(self) -> None:
        """Send everything, waiting for room and reading ahead meanwhile.

        Raises:
            PeerGoneError: nobody will read it.
        """
        while not self.flush():
            reads = len(self._inbound) < _READ_AHEAD_BYTES
            _poller(self._socket, select.POLLOUT | (select.POLLIN if reads else 0)).poll()
            if reads:
                self._receive()

    def finish(self) -> None:
        """Tell the client that nothing follows; its hang-up is the watchdog's to notice. May be called again.

        What the client still sends is read away: TCP would take the outcome back from a client whose bytes are unread
        when the process ends.
        """
        try:
            self._socket.shutdown(socket.SHUT_WR)
            for _ in range(_DISCARDS):
                self._socket.recv_into(self._received)
        except OSError:
            return

    @property
    def unsent(self) -> int:
        """Bytes that wait for room."""
        return sum(len(data) for data in tuple(self._unsent))

    def next_part(self, bound: int, timeout_ms: int | None) -> tuple[bytes, bool] | None:
        """The next at most `bound` bytes of the frame under way, and whether they are its last.

        Waits `timeout_ms` (None: for ever) for it; None when that ran out.

        Raises:
            PeerGoneError: the client hung up.
            ProtocolError: the frame is larger than one may be.
        """
        while True:
            if self._body_left == 0 and len(self._inbound) >= HEADER_BYTES:
                self._body_left = body_length(self._inbound[:HEADER_BYTES], FRAME_BYTES)
                del self._inbound[:HEADER_BYTES]
                if self._body_left == 0:
                    return b"", True
            wanted = min(self._body_left, bound)
            if wanted and len(self._inbound) >= wanted:
                part = bytes(self._inbound[:wanted])
                del self._inbound[:wanted]
                self._body_left -= wanted
                return part, self._body_left == 0
            if not self._poll_in.poll(None if timeout_ms is None else min(timeout_ms, _LONGEST_WAIT_MS)):
                return None
            self._receive()

    def _receive(self) -> None:
        try:
            count = self._socket.recv_into(self._received)
        except BlockingIOError:
            return
        except OSError:
            raise PeerGoneError from None
        if not count:
            raise PeerGoneError
        self.received += count
        self._inbound += self._received[:count]


def _poller(connection: socket.socket, events: int) -> select.poll:
    poller = select.poll()
    poller.register(connection, events)
    return poller
