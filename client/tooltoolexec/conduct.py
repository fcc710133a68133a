"""From a session to its one outcome, whatever becomes of the connections.

A spare that ended before the run started: once more, on a fresh connection.
A fresh one that ended, any that ended after the start or broke the protocol: ask the daemon for the outcome.
A retry that is refused as a duplicate: likewise, for the spare's worker has the run after all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from tooltoolexec.run import rebuild_result
from tooltoolexec.session import BrokenConversationError, Session
from tooltoolexec.transport import Transport
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.errors import ConnectionLostError, ExecutorError, ProtocolError, RefusedError
from tooltoolexec_protocol.messages import Done, Failure, Message, Outcome, Refused, Unknown

OpenOne = Callable[[], Awaitable[Transport]]
"""Gives a fresh greeted connection."""


async def conduct(session: Session, spare: Transport | None, open_one: OpenOne, *, timeout_s: float) -> Done:
    """The run's outcome.

    Args:
        session: the run.
        spare: a greeted connection that has been idle; it may have died without a sign.
        open_one: gives a fresh one.
        timeout_s: how long the question for the outcome may take.

    Raises:
        ExecutorError: cannot connect, refused, or nobody can be asked for the outcome.
    """
    if spare is not None:
        try:
            return await session.converse(spare)
        except BrokenConversationError as broken:
            if not broken.may_retry:
                return await _ask_outcome(session.request.id, open_one, timeout_s, broken)
    try:
        return await session.converse(await open_one())
    except RefusedError as refused:
        # The spare had taken the request after all: its worker has the run, or had it.
        if refused.code != "duplicate_run" or spare is None:
            raise
        return await _ask_outcome(session.request.id, open_one, timeout_s, refused)
    except BrokenConversationError as broken:
        return await _ask_outcome(session.request.id, open_one, timeout_s, broken)


async def _ask_outcome(run_id: str, open_one: OpenOne, timeout_s: float, cause: Exception) -> Done:
    try:
        answer = await ask(Outcome(id=run_id), open_one, timeout_s=timeout_s)
        if isinstance(answer, Done) and answer.id == run_id:
            return rebuild_result(answer)
    except (ExecutorError, ProtocolError) as error:
        reason = str(error)
    else:
        if isinstance(answer, Unknown):
            return Done(id=run_id, failure=Failure(kind="crashed", message=texts.CRASHED))
        reason = "its answer is about another run"
    raise ConnectionLostError(
        f"The run's connection broke before its outcome ({cause}), and the daemon cannot be asked for it: {reason}"
    )


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
        raise ConnectionLostError("The daemon closed the connection instead of an answer.")
    return answer
