"""From a session to its one outcome, whatever becomes of the connections.

A spare that ended before the run started: once more, on a fresh connection.
A fresh one that ended, any that ended after the start or broke the protocol: ask the daemon for the outcome.
A retry that is refused as a duplicate: likewise, for the spare's worker has the run after all.
A daemon that drains has not begun the run: again after a pause, when its successor may be there.
"""

from __future__ import annotations

import anyio

from tooltoolexec.patience import OpenOne, Patience
from tooltoolexec.run import rebuild_result
from tooltoolexec.session import BrokenConversationError, Session
from tooltoolexec.transport import Transport
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.errors import ConnectError, ConnectionLostError, ExecutorError, ProtocolError, RefusedError
from tooltoolexec_protocol.messages import Done, Failure, Message, Outcome, Refused, Unknown


async def conduct(session: Session, spare: Transport | None, patience: Patience, *, timeout_s: float) -> Done:
    """The run's outcome.

    Args:
        session: the run.
        spare: a greeted connection that has been idle; it may have died without a sign.
        patience: gives fresh ones.
        timeout_s: how long the question for the outcome may take.

    Raises:
        ExecutorError: cannot connect, refused, or nobody can be asked for the outcome.
    """
    transport = spare
    spare_was_lost = was_draining = False
    while True:
        try:
            return await session.converse(transport or await patience.open())
        except RefusedError as refused:
            if refused.code == "duplicate_run" and spare_was_lost:
                # The spare had taken the request after all: its worker has the run, or had it.
                return await _ask_outcome(session.request.id, patience, timeout_s, refused)
            if refused.code != "draining" or session.has_started:
                raise
            was_draining = True
            if not await patience.pause():
                return _shut_down(session)
        except ConnectError:
            if was_draining:
                return _shut_down(session)
            raise
        except BrokenConversationError as broken:
            if transport is None or not broken.may_retry:
                return await _ask_outcome(session.request.id, patience, timeout_s, broken)
            spare_was_lost = True
        transport = None


def _shut_down(session: Session) -> Done:
    return Done(id=session.request.id, failure=Failure(kind="shutdown", message=texts.SHUTDOWN))


async def _ask_outcome(run_id: str, patience: Patience, timeout_s: float, cause: Exception) -> Done:
    while True:
        try:
            answer = await ask(Outcome(id=run_id), patience.open, timeout_s=timeout_s)
            if isinstance(answer, Done) and answer.id == run_id:
                return rebuild_result(answer)
            if isinstance(answer, Unknown):
                return Done(id=run_id, failure=Failure(kind="crashed", message=texts.CRASHED))
            reason = "its answer is about another run"
        except (ExecutorError, ProtocolError) as error:
            # The question changes nothing, so it may be put again.
            is_passing = isinstance(error, _NoAnswerError) or _is_draining(error)
            if is_passing and await patience.pause():
                continue
            reason = str(error)
        raise ConnectionLostError(
            f"The run's connection broke before its outcome ({cause}), and the daemon cannot be asked for it: {reason}"
        )


class _NoAnswerError(ConnectionLostError):
    """The connection ended after its greeting."""


def _is_draining(error: Exception) -> bool:
    return isinstance(error, RefusedError) and error.code == "draining"


async def ask(question: Message, open_one: OpenOne, *, timeout_s: float) -> Message:
    """The daemon's answer to `question`, on a connection of its own.

    Raises:
        ExecutorError: cannot connect, refused, or no answer.
        ProtocolError: the daemon broke the protocol.
    """
    transport = await open_one()
    try:
        with anyio.fail_after(timeout_s):
            await transport.send(question)
            answer = await transport.receive()
    except TimeoutError:
        raise ConnectionLostError(f"The daemon did not answer within {timeout_s:g} s.") from None
    finally:
        transport.abort()
    if isinstance(answer, Refused):
        raise RefusedError(answer.code, answer.message)
    if answer is None:
        raise _NoAnswerError("The daemon closed the connection instead of an answer.")
    return answer
