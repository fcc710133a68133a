"""One accepted connection, from its greeting until it ends or becomes a worker's.

hello ─▶ requests (status, outcome) ─▶ execute ─▶ queue ─▶ a worker has the connection
"""

from __future__ import annotations

import logging
import time
from functools import partial

import msgspec
import trio

from tooltoolexec_executor import handover
from tooltoolexec_executor.access import Credential
from tooltoolexec_executor.admission import Place
from tooltoolexec_executor.connections import Seat, TooManyError
from tooltoolexec_executor.conversation import Conversation
from tooltoolexec_executor.listeners import Arrival
from tooltoolexec_executor.logs import log_refusal, run_ended
from tooltoolexec_executor.queueing import (
    DrainingError,
    NotAdmittedError,
    PeerGoneError,
    admit,
    end_of_patience,
    take_worker,
)
from tooltoolexec_executor.state import DaemonState
from tooltoolexec_executor.worker.watchdog import PARKED
from tooltoolexec_executor.workers import Worker, WorkerGoneError
from tooltoolexec_protocol import limits, messages, texts
from tooltoolexec_protocol.errors import ProtocolError
from tooltoolexec_protocol.limits import LimitError
from tooltoolexec_protocol.messages import Done, Execute, Failure, Hello, Message, Outcome, Status, Unknown
from tooltoolexec_protocol.names import DeclarationError, check_providers

log = logging.getLogger("tooltoolexec")

HELLO_S = 10.0
"""How long a client may take to say hello, whole; as long again for TLS before it."""
_TAKE_S = 10.0


class Session:
    """Serves one client.

    Args:
        state: the daemon's.
        arrival: who is there.
        talk: the connection; not the arrival's own where that speaks TLS.
        seat: its place among the connections.
    """

    def __init__(self, state: DaemonState, arrival: Arrival, talk: Conversation, seat: Seat) -> None:
        self._state = state
        self._arrival = arrival
        self._talk = talk
        self._seat = seat
        # Who it is: only the same identity may ask after its runs, and bounds of one client are its.
        self.client = arrival.client
        self._credential: Credential | None = None

    async def serve(self) -> None:
        """Serve until the connection ends or is a worker's. Never raises for anything the client does."""
        try:
            await self._converse()
        except ProtocolError as error:
            self._note_refusal(error)
            await self._talk.refuse(error.code, str(error))
        except (PeerGoneError, OSError):
            pass
        except Exception:
            log.exception("A session failed; only its own client is concerned. This is a defect of the daemon.")
        finally:
            self._talk.close()
            self._seat.leave()

    def _note_refusal(self, error: ProtocolError) -> None:
        self._state.tally.refused[error.code] += 1
        log_refusal(error.code, self.client, self._arrival.client, str(error))

    async def _converse(self) -> None:
        message = None
        with trio.move_on_after(HELLO_S):
            message = await self._talk.message()
        if message is None:
            raise ProtocolError("deadline", f"No hello within {HELLO_S:g} seconds.")
        await self._greet(message)
        while (message := await self._request()) is not None:
            self._check_credential()
            if isinstance(message, Execute):
                await self._execute(message)
                return
            if isinstance(message, Outcome):
                done = await self._state.runs.outcome(message.id, self.client)
                await self._talk.send(done or Unknown(id=message.id))
            elif isinstance(message, Status):
                await self._talk.send(self._state.report())

    async def _request(self) -> Message | None:
        """What the client asks for next; None when it has been idle for too long."""
        with self._state.until_leaving():
            return await self._talk.message(self._state.config.idle_s)
        # Not without a word: a client that has just sent its run must know that nobody has begun it.
        raise DrainingError

    async def _greet(self, message: Message) -> None:
        if not isinstance(message, Hello):  # The connection's table allows nothing else.
            raise ProtocolError("unexpected", "The first message is not hello.")
        if self._arrival.uid is not None and not self._state.access.admits(self._arrival.uid):
            raise ProtocolError("forbidden", texts.FORBIDDEN)
        if self._arrival.is_remote:
            self._identify(message.token)
        version = min(message.version, messages.VERSION)
        if version < max(message.oldest_version, messages.OLDEST_VERSION):
            raise ProtocolError(
                "version",
                f"This executor speaks protocol versions {messages.OLDEST_VERSION} to {messages.VERSION}, the client "
                f"{message.oldest_version} to {message.version}. Upgrade the older of the two.",
            )
        await self._talk.send(msgspec.structs.replace(self._state.welcome, version=version))

    def _identify(self, token: str) -> None:
        """Know the client by its token. The refusal is the same whatever is wrong with that."""
        access = self._state.access
        self._credential = access.tokens.recognise(token)
        if self._credential is None:
            if token or access.needs_token:
                raise ProtocolError("unauthorized", texts.UNAUTHORIZED)
            return
        self.client = f"token:{self._credential.name}"
        try:
            self._seat.move(self.client)
        except TooManyError:
            raise ProtocolError("busy", texts.BUSY) from None

    def _check_credential(self) -> None:
        """A token may have been revoked since the greeting, and so may the permission to do without."""
        access = self._state.access
        is_known = access.tokens.holds(self._credential) if self._credential else not access.needs_token
        if self._arrival.is_remote and not is_known:
            raise ProtocolError("unauthorized", texts.UNAUTHORIZED)
        if self._arrival.uid is not None and not access.admits(self._arrival.uid):
            raise ProtocolError("forbidden", texts.FORBIDDEN)

    def _check_again(self, worker: Worker) -> None:
        """The run may have waited for long. Where it may not begin any more, its worker is used up."""
        try:
            self._check_credential()
        except ProtocolError:
            worker.kill()
            worker.close()
            raise

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
        run = self._state.runs.add(execute.id, self.client, execute.labels, settled)
        if run is None:
            raise ProtocolError("duplicate_run", f"A run with the id {execute.id} is known already.")
        try:
            place, worker = await admit(self._state, self._talk.raw, self.client)
            try:
                self._check_again(worker)
                run.queued_s = time.monotonic() - begun
                worker = await self._hand_over(worker, self._pack(execute, settled, run.queued_s))
                self._talk.close()  # Only this copy of the descriptor: the connection is the worker's now.
                self._seat.leave()
                if self._state.closing.is_set():
                    worker.tell_to_end()  # The others were told while this one took the run.
                if execute.retain_handles:
                    run.retained_idle_s = self._state.config.retained_idle_s
                await self._state.runs.attend(run, worker, partial(_note_state, place))
            finally:
                place.leave()
        except NotAdmittedError as error:
            await self._fail(execute, error.kind, str(error))
        finally:
            self._state.runs.drop(run)

    def _pack(self, execute: Execute, settled: limits.EffectiveLimits, queued_s: float) -> bytes:
        return handover.pack(execute, settled, queued_s, retained_idle_s=self._state.config.retained_idle_s)

    async def _hand_over(self, worker: Worker, data: bytes) -> Worker:
        """Give the connection to `worker`, or to another one if that died meanwhile. Gives the one that has it."""
        while True:
            try:
                worker.give(self._talk.raw, data)
                with trio.fail_after(_TAKE_S):
                    await worker.taken()
            except WorkerGoneError:
                self._state.tally.deaths["unused"] += 1
                worker.kill()
                worker.close()
                worker = await take_worker(self._state, end_of_patience(self._state))
            except trio.TooSlowError:
                worker.kill()  # It hangs; its end is the run's outcome.
                return worker
            else:
                return worker

    async def _fail(self, execute: Execute, kind: str, message: str) -> None:
        self._state.tally.runs[kind] += 1
        run_ended(execute.id, self.client, kind, execute.labels)
        await self._talk.send(Done(id=execute.id, failure=Failure(kind=kind, message=message)))


def _note_state(place: Place, state: bytes) -> None:
    if state == PARKED:
        place.park()
    else:
        place.resume()
