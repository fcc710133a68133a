"""One accepted connection, from its first byte until it ends or becomes a worker's.

hello ─▶ requests (status, outcome) ─▶ execute ─▶ queue ─▶ a worker has the connection
"""

from __future__ import annotations

import logging
import math
import os
import socket
import time
from functools import partial

import msgspec
import trio

from tooltoolexec_executor import handover
from tooltoolexec_executor.admission import Place
from tooltoolexec_executor.queueing import NotAdmittedError, PeerGoneError, admit, end_of_patience, take_worker
from tooltoolexec_executor.state import VERSION_TEXT, DaemonState
from tooltoolexec_executor.worker.watchdog import PARKED
from tooltoolexec_executor.workers import Worker, WorkerGoneError
from tooltoolexec_protocol import limits, messages, texts
from tooltoolexec_protocol.connection import Connection
from tooltoolexec_protocol.errors import ProtocolError
from tooltoolexec_protocol.limits import LimitError
from tooltoolexec_protocol.messages import (
    Done,
    Execute,
    Failure,
    Hello,
    Message,
    Outcome,
    Refused,
    Report,
    Status,
    Unknown,
)
from tooltoolexec_protocol.names import DeclarationError, check_providers

log = logging.getLogger("tooltoolexec")

_HELLO_S = 10.0
_FRAME_S = 30.0
"""How long a frame may take from its first byte to its last."""
_SEND_S = 10.0


_RECEIVE_BYTES = 256 * 1024
_REFUSAL_S = 1.0
_REFUSAL_READS = 64


class Session:
    """Serves one client.

    Args:
        state: the daemon's.
        connection: the accepted socket.
        identity: who connected; only the same identity may ask after its runs.
    """

    def __init__(self, state: DaemonState, connection: socket.socket, identity: str) -> None:
        connection.setblocking(False)
        self._state = state
        self._raw = connection
        self._socket = trio.socket.from_stdlib_socket(connection)
        self._identity = identity
        self._holds_place = True
        self._connection = Connection(is_client=False)

    async def serve(self) -> None:
        """Serve until the connection ends or is a worker's. Never raises for anything the client does."""
        try:
            await self._converse()
        except ProtocolError as error:
            await self._refuse(error.code, str(error))
        except (PeerGoneError, OSError):
            pass
        except Exception:
            log.exception("A session failed; only its own client is concerned. This is a defect of the daemon.")
        finally:
            self._socket.close()
            self._give_up_place()

    def _give_up_place(self) -> None:
        """The connection no longer counts against the daemon's bound."""
        if self._holds_place:
            self._holds_place = False
            self._state.connections.release()

    async def _converse(self) -> None:
        message: Message | None = None
        with trio.move_on_after(_HELLO_S):
            message = await self._message(_HELLO_S)
        if message is None:
            raise ProtocolError("deadline", f"No hello within {_HELLO_S:g} seconds.")
        await self._greet(message)
        while True:
            message = None
            with self._state.until_closing():
                message = await self._message(_FRAME_S)
            if message is None:
                return
            if isinstance(message, Execute):
                await self._execute(message)
                return
            if isinstance(message, Outcome):
                done = await self._state.runs.outcome(message.id, self._identity)
                await self._send(done or Unknown(id=message.id))
            elif isinstance(message, Status):
                await self._send(self._report())

    async def _greet(self, message: Message) -> None:
        if not isinstance(message, Hello):  # The connection's table allows nothing else.
            raise ProtocolError("unexpected", "The first message is not hello.")
        version = min(message.version, messages.VERSION)
        if version < max(message.oldest_version, messages.OLDEST_VERSION):
            raise ProtocolError(
                "version",
                f"This executor speaks protocol versions {messages.OLDEST_VERSION} to {messages.VERSION}, the client "
                f"{message.oldest_version} to {message.version}. Upgrade the older of the two.",
            )
        await self._send(msgspec.structs.replace(self._state.welcome, version=version))

    async def _execute(self, execute: Execute) -> None:
        begun = time.monotonic()
        labels = sum(len(name) + len(text) for name, text in execute.labels.items())
        if labels > limits.LABEL_CHARACTERS:
            raise ProtocolError("malformed", texts.labels_too_long(labels, limits.LABEL_CHARACTERS))
        try:
            check_providers(execute.providers)
            settled = limits.settle(execute.limits.asked(), self._state.defaults, self._state.maxima)
        except DeclarationError as error:
            return await self._fail(execute, "declaration", str(error))
        except LimitError as error:
            return await self._fail(execute, "limit", str(error))
        run = self._state.runs.add(execute.id, self._identity, execute.labels, settled)
        if run is None:
            raise ProtocolError("duplicate_run", f"A run with the id {execute.id} is known already.")
        try:
            place, worker = await admit(self._state, self._raw)
            try:
                worker = await self._hand_over(worker, handover.pack(execute, settled, time.monotonic() - begun))
                self._socket.close()  # Only this copy of the descriptor: the connection is the worker's now.
                self._give_up_place()
                if self._state.closing.is_set():
                    worker.tell_to_end()  # The others were told while this one took the run.
                await self._state.runs.attend(run, worker, partial(_note_state, place))
            finally:
                place.leave()
        except NotAdmittedError as error:
            await self._fail(execute, error.kind, str(error))
        finally:
            self._state.runs.drop(run)

    async def _hand_over(self, worker: Worker, data: bytes) -> Worker:
        """Give the connection to `worker`, or to another one if that died meanwhile. Gives the one that has it."""
        while True:
            try:
                worker.give(self._raw, data)
                with trio.fail_after(_SEND_S):
                    await worker.taken()
            except WorkerGoneError:
                worker.kill()
                worker.close()
                worker = await take_worker(self._state, end_of_patience(self._state))
            except trio.TooSlowError:
                worker.kill()  # It hangs; its end is the run's outcome.
                return worker
            else:
                return worker

    async def _fail(self, execute: Execute, kind: str, message: str) -> None:
        self._state.runs.count(execute.id, kind, execute.labels, 0.0)
        await self._send(Done(id=execute.id, failure=Failure(kind=kind, message=message)))

    async def _message(self, frame_s: float) -> Message:
        """The client's next message, read without taking a byte beyond it."""
        deadline = math.inf
        while (message := self._connection.next_message()) is None:
            # What is there is read at once: a wait costs as much as all the rest of a small request.
            try:
                data = self._raw.recv(min(self._connection.bytes_wanted, _RECEIVE_BYTES))
            except BlockingIOError:
                if not self._connection.at_border and deadline == math.inf:
                    deadline = trio.current_time() + frame_s
                with trio.move_on_at(deadline) as scope:
                    await trio.lowlevel.wait_readable(self._raw)
                if scope.cancelled_caught:
                    raise ProtocolError("deadline", f"A frame took longer than {frame_s:g} seconds.") from None
                continue
            if not data:
                raise PeerGoneError
            self._connection.receive_data(data)
        return message

    async def _send(self, message: Message) -> None:
        rest = memoryview(self._connection.send(message))
        with trio.move_on_after(_SEND_S) as deadline:
            while rest:
                rest = rest[await self._socket.send(rest) :]
        if deadline.cancelled_caught:
            raise PeerGoneError

    async def _refuse(self, code: str, message: str) -> None:
        log.info("refused a client: %s", message)
        try:
            await self._send(Refused(code=code, message=message))
            self._raw.shutdown(socket.SHUT_WR)
        except (OSError, PeerGoneError):
            return
        # What the client still sends is read away: closing on unread bytes would take the refusal back.
        with trio.move_on_after(_REFUSAL_S):
            try:
                for _ in range(_REFUSAL_READS):
                    if not await self._socket.recv(_RECEIVE_BYTES):
                        return
            except OSError:
                return

    def _report(self) -> Report:
        state = self._state
        return Report(
            server=VERSION_TEXT,
            pid=os.getpid(),
            uptime_s=time.monotonic() - state.begun_at,
            workers=state.config.workers,
            idle_now=state.pool.idle,
            running_now=state.runs.under_way,
            parked_now=state.admission.parked,
            queued_now=state.admission.queued,
            queue=state.config.queue,
            runs=dict(state.runs.counts),
        )


def _note_state(place: Place, state: bytes) -> None:
    if state == PARKED:
        place.park()
    else:
        place.resume()
