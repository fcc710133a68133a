"""One worker process from the daemon's side: its control socket, its birth and its end."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import trio

from tooltoolexec_executor.worker.courier import RETAINED
from tooltoolexec_executor.worker.main import FAULT, READY, TAKEN
from tooltoolexec_executor.worker.watchdog import COMPUTING, PARKED
from tooltoolexec_protocol.errors import ProtocolError
from tooltoolexec_protocol.framing import FrameReader
from tooltoolexec_protocol.messages import FAILURE_KINDS, Done, decode, encode

log = logging.getLogger("tooltoolexec")

_LONGEST_REPORT = 256 * 1024
_RECEIVE_BYTES = 64 * 1024
_REAP_S = 5.0
"""How long the zygote may take to report an end."""
_FAULT_SHOWN = 2000
_STATES_AT_ONCE, _STATES_A_SECOND = 1000, 200
"""How often a run may park and go on: its watchdog tells no more than a hundred times a second."""
_LAST_WORDS = 64
"""Bytes that may follow an outcome: the watchdog's last, written at the same moment."""
END = b"E"
"""Sent on the control socket of a busy worker: end the run with `shutdown`."""


def _sound(body: bytes) -> Done | None:
    """The outcome in a worker's report; None when it is nothing that this version could have sent, or could send on."""
    try:
        message = decode(body)
        if not isinstance(message, Done) or (message.failure and message.failure.kind not in FAILURE_KINDS):
            return None
        encode(message)
    except (ProtocolError, ValueError, RecursionError):
        return None
    return message


class Origin(Protocol):
    """The zygote, as its workers know it."""

    def replace(self) -> None:
        """To be called when a worker's end is plain and the zygote does not report it."""


class WorkerGoneError(Exception):
    """The worker ended before it could take a run."""


class Worker:
    """A forked worker. `born` and `ended` are told by the zygote; everything it says itself is held to be hostile.

    Attributes:
        was_born: whether the zygote has answered for it.
        has_ended: set once the process is gone; `status` is then as waitpid gives it, None when nobody could ask.
    """

    def __init__(self, control: socket.socket, zygote: Origin | None = None) -> None:
        control.setblocking(False)
        self.zygote = zygote
        self._control = control
        self._pidfd = -1
        self._unsent = memoryview(b"")  # Of the handover.
        self.was_born = False
        self.status: int | None = None
        self.has_ended = trio.Event()
        # Called once at its end, unless it has been handed out before.
        self.on_idle_end: Callable[[], None] | None = None
        self._is_unwanted = False

    def born(self, pidfd: int) -> None:
        """The process exists."""
        self.was_born = True
        self._pidfd = pidfd
        if self._is_unwanted:
            self.kill()

    def ended(self, status: int | None) -> None:
        """The process is gone, or will never be."""
        self.status = status
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        self.has_ended.set()
        if self.on_idle_end is not None:
            self.on_idle_end()

    def kill(self) -> None:
        """SIGKILL, through the pidfd: it can hit no other process. Before its birth: at its birth."""
        self._is_unwanted = True
        if self._pidfd >= 0:
            with suppress(ProcessLookupError):  # Gone already; its report is on the way.
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Close the control socket. An idle worker ends by it."""
        self._control.close()

    async def see_out(self) -> None:
        """Kill it and wait for its end. A zygote that does not report that hangs: it is ended with all its workers."""
        self.kill()
        with trio.move_on_after(_REAP_S):
            await self.has_ended.wait()
        if not self.has_ended.is_set():
            if self.zygote is not None:
                self.zygote.replace()
            await self.has_ended.wait()

    async def ready(self) -> None:
        """Wait until it can take a run.

        Raises:
            WorkerGoneError: it cannot; the message says why where it told.
        """
        first = await self._receive(1)
        if first == FAULT:
            raise WorkerGoneError(ascii(await self._fault())[1:-1])  # The daemon's last words may be it: one line.
        if first != READY:
            raise WorkerGoneError("it ended before it was ready")

    def is_idle(self) -> bool:
        """Whether an idle worker is still there: it says nothing, so anything readable is its end."""
        try:
            self._control.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def give(self, connection: socket.socket, handover: bytes) -> None:
        """Give it a run: send what fits now. Then await `taken`.

        Raises:
            WorkerGoneError: it ended while it was idle.
        """
        try:
            sent = socket.send_fds(self._control, [handover], [connection.fileno()])
        except OSError:  # Its buffer is empty, so this is no lack of room.
            raise WorkerGoneError("it ended while it was idle") from None
        self._unsent = memoryview(handover)[sent:]

    async def taken(self) -> None:
        """Wait until it has the run, or has ended with it; the connection is then the worker's, whatever becomes of it.

        Raises:
            WorkerGoneError: it ended before it read the run; another worker may have the connection.
        """
        try:
            while self._unsent:
                await trio.lowlevel.wait_writable(self._control)
                self._unsent = self._unsent[self._control.send(self._unsent) :]
            await trio.lowlevel.wait_readable(self._control)
            # `TAKEN`, or the end of one that had read the run. A socket that ends with bytes unread is reset instead:
            # that worker was killed a moment ago, while it was idle.
            if self._control.recv(len(TAKEN), socket.MSG_PEEK) == TAKEN:
                self._control.recv(len(TAKEN))  # Anything else, a fault among it, is for `report`.
        except OSError:
            raise WorkerGoneError("it ended while it was idle") from None

    def tell_to_end(self) -> None:
        """Ask a busy worker to end its run with `shutdown`. If it is too late for that, it ends by itself."""
        with suppress(OSError):
            self._control.send(END)

    async def report(self, on_state: Callable[[bytes], None]) -> Done | None:
        """The outcome a busy worker reports: a failure, or that a result is on its way to a slow client.

        None when it ends without, or reports nonsense. `on_state` gets each PARKED, COMPUTING and RETAINED before that.
        """
        begun, states = trio.current_time(), 0
        while (first := await self._receive(1)) in (PARKED, COMPUTING, RETAINED):
            states += 1
            if states > _STATES_AT_ONCE + _STATES_A_SECOND * (trio.current_time() - begun):
                return None
            on_state(first)
            await trio.lowlevel.checkpoint()  # However fast it talks, others get their turn.
        if first == FAULT:
            facts = {"exception": await self._fault()}
            log.error("A worker failed. This is a defect of the worker.", extra={"fields": facts})
            return None
        body = await self._frame(first)
        return _sound(body) if body is not None else None

    async def gone(self) -> None:
        """Wait until a busy worker that has reported lets go of its socket; one that talks on is ended."""
        words = 0
        while data := await self._receive(_RECEIVE_BYTES):
            words += len(data)
            if words > _LAST_WORDS:
                self.kill()
                return
            await trio.lowlevel.checkpoint()

    async def _fault(self) -> str:
        said = (await self._frame()) or b"it did not say why"
        return said.decode("utf-8", "replace")[-_FAULT_SHOWN:]

    async def _frame(self, beginning: bytes = b"") -> bytes | None:
        reader = FrameReader()
        reader.feed(beginning)
        try:
            while data := await self._receive(_RECEIVE_BYTES):
                reader.feed(data)
                body = reader.next_body(_LONGEST_REPORT)
                if body is not None:
                    return body
        except ProtocolError:
            pass
        return None

    async def _receive(self, size: int) -> bytes:
        """Up to `size` bytes; empty when the worker is gone."""
        while True:
            try:
                return self._control.recv(size)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._control)
            except OSError:
                return b""
