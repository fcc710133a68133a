"""One run's conversation with the executor, on one connection at a time."""

from __future__ import annotations

import anyio.abc

from tooltoolexec.calls import CallRunner
from tooltoolexec.logs import LogFeed
from tooltoolexec.outbox import Outbox
from tooltoolexec.run import rebuild_result
from tooltoolexec.transport import Transport
from tooltoolexec_protocol.errors import ProtocolError, RefusedError
from tooltoolexec_protocol.messages import Calls, Done, Execute, Logs, Message, Refused, Started


class BrokenConversationError(Exception):
    """The connection ended, or had to be ended, before the outcome. Never leaves the client.

    `may_retry` says that no worker had the run as far as anybody can tell.
    """

    def __init__(self, reason: str, *, may_retry: bool) -> None:
        super().__init__(reason)
        self.may_retry = may_retry


class Session:
    """Carries one run; `request` is what is asked, `has_started` says whether a worker has it."""

    def __init__(self, request: Execute, calls: CallRunner, logs: LogFeed, group: anyio.abc.TaskGroup) -> None:
        self.request = request
        self.has_started = False
        self._calls = calls
        self._logs = logs
        self._group = group
        self._transport: Transport | None = None

    async def converse(self, transport: Transport) -> Done:
        """Send the request and see the run through. Owns `transport` from here on.

        Raises:
            BrokenConversationError: no outcome came.
            RefusedError: the daemon does not take the run.
            ValueError: the request is larger than the daemon reads; nothing was sent.
        """
        self._transport = transport
        try:
            self._calls.open(Outbox(transport, self._group))
            await transport.send(self.request)
            while True:
                message = await transport.receive()
                done = self._take(message)
                if done is not None:
                    transport.close()
                    return done
        except ProtocolError as error:
            raise BrokenConversationError(str(error), may_retry=False) from None
        finally:
            transport.abort()  # Of no effect on one that is closed.

    async def settle(self) -> None:
        """What `execute` promises before it returns: every call has started, every line was told."""
        await self._calls.all_started()
        await self._logs.all_told()

    def close(self) -> None:
        """The run has an outcome."""
        self._calls.close()

    def abort(self) -> None:
        """Nobody waits for the run any more: the worker sees the hang-up, responders and callbacks are cancelled."""
        if self._transport is not None:
            self._transport.abort()
        self._calls.abort()
        self._logs.abort()

    def _take(self, message: Message | None) -> Done | None:
        match message:
            case Calls(calls=calls):
                self._calls.accept(calls)
            case Logs(lines=lines):
                self._logs.accept(lines)
            case Started(id=run_id):
                self._check_id(run_id)
                self.has_started = True
            case Done(id=run_id):
                self._check_id(run_id)
                return rebuild_result(message)
            case Refused(code=code, message=text):
                raise RefusedError(code, text)
            case _:
                raise BrokenConversationError("the connection ended", may_retry=not self.has_started)
        return None

    def _check_id(self, run_id: str) -> None:
        if run_id != self.request.id:
            raise ProtocolError("unexpected", "The message is about another run.")
