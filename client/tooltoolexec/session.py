"""One run's conversation with the executor, on one connection at a time."""

from __future__ import annotations

import anyio.abc

from tooltoolexec.calls import CallRunner
from tooltoolexec.handles import Line, Retained, for_async
from tooltoolexec.logs import LogFeed
from tooltoolexec.outbox import Outbox
from tooltoolexec.run import rebuild_result
from tooltoolexec.transport import Transport
from tooltoolexec_protocol.errors import ExecutorError, ProtocolError, RefusedError
from tooltoolexec_protocol.messages import Calls, Done, Execute, Logs, Message, Refused, Requests, Returns, Started


class BrokenConversationError(Exception):
    """The connection ended, or had to be ended, before the outcome. Never leaves the client.

    `may_retry` says that no worker had the run as far as anybody can tell.
    """

    def __init__(self, reason: str, *, may_retry: bool) -> None:
        super().__init__(reason)
        self.may_retry = may_retry


class Session:
    """Carries one run; `request` is what is asked, `has_started` says whether a worker has it.

    `line` leads to the functions that it retains, where the request asks for them.
    """

    def __init__(
        self, request: Execute, calls: CallRunner, logs: LogFeed, group: anyio.abc.TaskGroup, line: Line | None = None
    ) -> None:
        self.request = request
        self.has_started = False
        self._calls = calls
        self._logs = logs
        self._group = group
        self._line = line
        self._transport: Transport | None = None

    async def converse(self, transport: Transport) -> Done:
        """Send the request and see the run through. Owns `transport` from here on.

        Raises:
            BrokenConversationError: no outcome came.
            RefusedError: the daemon does not take the run.
            ExecutorError: it is of a version that cannot do what the run asks for.
            ValueError: the request is larger than the daemon reads; nothing was sent.
        """
        self._transport = transport
        is_retained = False
        try:
            self._check_features(transport)
            outbox = Outbox(transport, self._group)
            self._calls.open(outbox)
            if self._line is not None:
                self._line.open(outbox)
            await transport.send(self.request)
            while True:
                message = await transport.receive()
                done = self._take(message)
                if done is not None:
                    is_retained = done.retained
                    if is_retained:
                        self._group.start_soon(self._go_on, transport)
                    else:
                        transport.close()
                    return done
        except ProtocolError as error:
            raise BrokenConversationError(str(error), may_retry=False) from None
        finally:
            if not is_retained:
                transport.abort()  # Of no effect on one that is closed.
                if self._line is not None:
                    self._line.release()

    async def _go_on(self, transport: Transport) -> None:
        """Take what a retained run's worker says, until either end has had enough."""
        try:
            while (message := await transport.receive()) is not None and self._line is not None:
                match message:
                    case Returns(returns=returns):
                        self._line.accept(returns)
                    case Logs(lines=lines):
                        self._logs.accept(lines)
                    case Refused(message=text):
                        self._line.release(text)
        except ProtocolError as error:
            if self._line is not None:
                self._line.release(str(error))
        finally:
            transport.abort()
            self._calls.close()
            if self._line is not None:
                self._line.release()

    async def settle(self) -> None:
        """What `execute` promises before it returns: every call has started, every line was told."""
        await self._calls.all_started()
        await self._logs.all_told()

    def close(self) -> None:
        """The run has an outcome, and is not retained."""
        self._calls.close()

    def retained(self) -> Retained | None:
        """What to end a retained run with; None for any other."""
        if self._line is None or self._transport is None:
            return None
        return Retained(self._line, self._transport.abort, for_async(self._line))

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
            case Requests(requests=requests):
                self._calls.accept_requests(requests)
            case Logs(lines=lines):
                self._logs.accept(lines)
            case Started(id=run_id):
                self._check_id(run_id)
                self.has_started = True
            case Returns(returns=returns) if self._line is not None:
                self._line.accept(returns)
            case Done(id=run_id):
                self._check_id(run_id)
                if message.retained and self._line is None:
                    raise ProtocolError("unexpected", "The run is retained, which nobody asked for.")
                return rebuild_result(message)
            case Refused(code=code, message=text):
                raise RefusedError(code, text)
            case _:
                raise BrokenConversationError("the connection ended", may_retry=not self.has_started)
        return None

    def _check_features(self, transport: Transport) -> None:
        if self.request.outbound and "outbound" not in transport.features:
            raise ExecutorError("This daemon cannot pass requests on. Update it, or leave outbound out.")
        if self.request.retain_handles and "handles" not in transport.features:
            raise ExecutorError("This daemon cannot retain handles. Update it, or leave retain_handles out.")

    def _check_id(self, run_id: str) -> None:
        if run_id != self.request.id:
            raise ProtocolError("unexpected", "The message is about another run.")
