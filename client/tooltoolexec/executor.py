"""The executor as a caller sees it: opened once, then any number of runs at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.abc

from tooltoolexec.calls import CallRunner
from tooltoolexec.conduct import ask, conduct
from tooltoolexec.dial import AddressDialer, Dialer, greet
from tooltoolexec.dispatch import responder_for
from tooltoolexec.handles import Line, for_async, with_handles
from tooltoolexec.logs import LogFeed, OnLog, most_log_characters
from tooltoolexec.options import build_request, refuse_unavailable
from tooltoolexec.outbound.answer import fetcher_for, refuse_request
from tooltoolexec.outbound.exchange import Outbound
from tooltoolexec.patience import Patience
from tooltoolexec.provider import Provider, as_provider
from tooltoolexec.run import Run, run_of
from tooltoolexec.session import Session
from tooltoolexec.spares import Spares
from tooltoolexec.threads import Threads
from tooltoolexec.transport import Transport
from tooltoolexec.trust import FilePath, TlsOptions
from tooltoolexec_protocol.envelope import Dispatch, exception_envelope
from tooltoolexec_protocol.errors import ConnectionLostError, ExecutorError, ProtocolError, ToolNotFoundError
from tooltoolexec_protocol.limits import Limits
from tooltoolexec_protocol.messages import Report, Status

__all__ = ["Executor", "connect"]

THREADS = 40
CONNECT_TIMEOUT_S = 10.0
_CLOSED = "The executor was closed while the run was going on."


class Executor:
    """A way to a daemon. Use it inside `async with`, from one event loop; `connect` and `local` make one.

    Leaving the `async with` cancels whatever still runs: tool calls nobody awaited, and other tasks' runs.
    """

    def __init__(self, dialer: Dialer, *, token: str, threads: int, connect_timeout_s: float) -> None:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads must be a positive number, not {threads!r}")
        if not isinstance(token, str):
            raise TypeError(f"token is a text, empty for none, not {type(token).__name__}")
        self._dialer = dialer
        self._token = token
        self._thread_count = threads
        self._timeout_s = connect_timeout_s
        self._group: anyio.abc.TaskGroup | None = None
        self._sessions: set[Session] = set()

    async def __aenter__(self) -> Self:
        """Raises ExecutorError when nothing answers, or the daemon refuses this client."""
        if self._group is not None:
            raise ValueError("the executor is open already")
        self._threads = Threads(self._thread_count)
        self._spares = Spares(self._open_one)
        self._closed = anyio.Event()
        group = anyio.create_task_group()
        await group.__aenter__()
        self._group = group
        try:
            await self._dialer.start()
            await self._spares.add()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        group.start_soon(self._spares.keep_full)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        group, self._group = self._group, None
        if group is None:
            return
        self._closed.set()
        for session in list(self._sessions):
            session.abort()
        self._threads.abandon()
        group.cancel_scope.cancel()
        try:
            # Without the body's error: the group would wrap it, and the caller wants it as it was raised.
            await group.__aexit__(None, None, None)
        finally:
            self._spares.close()
            with anyio.CancelScope(shield=True):
                await self._dialer.aclose()

    async def execute(
        self,
        code: str,
        providers: Iterable[Provider | Mapping[str, Any]] = (),
        *,
        dispatch: Dispatch | None = None,
        gate: None = None,
        runtime: None = None,
        outbound: Outbound | None = None,
        retain_handles: bool = False,
        limits: Limits | None = None,
        on_log: OnLog | None = None,
        identity: Any = None,  # noqa: ARG002 - for `gate` and `runtime`, which this version does not have.
        labels: Mapping[str, str] | None = None,
    ) -> Run:
        """Run `code` and give its outcome. Cancelling the caller ends the run.

        A daemon that restarts meanwhile costs a run that has not begun up to 3 seconds, and no more than that.

        Args:
            code: JavaScript as a model writes it.
            providers: the namespaces the program finds, as `Provider` or as a mapping in its JSON form.
            dispatch: `dispatch(provider, tool, args_json) -> envelope text`, async or plain, for every call.
            gate: not available in this version.
            runtime: not available in this version.
            outbound: `outbound(request) -> response`, async or plain, makes the program's HTTP requests; see
                `tooltoolexec.outbound`. Without it the network is closed.
            retain_handles: let the isolate live on after a run that worked, for the functions that the program gave to
                `__retainHandle`; see `Run.retained`.
            limits: what the run may use; what is left out takes the daemon's default.
            on_log: `on_log(level, text)`, async or plain, for each console line as it is written.
            identity: opaque data for `gate` and `runtime`.
            labels: text by name for the daemon's logs. Where OpenTelemetry is in use, the current span is added to
                them as `traceparent`.

        Raises:
            ExecutorError: the transport failed: cannot connect, refused, lost with no outcome to be had.
            TypeError, ValueError: misuse, before anything is sent.
        """
        group = self._open_group()
        refuse_unavailable(gate=gate, runtime=runtime)
        if on_log is not None and not callable(on_log):
            raise TypeError(f"on_log is a function, not {type(on_log).__name__}")
        declared = [as_provider(provider) for provider in providers]
        line = Line() if retain_handles else None
        respond = responder_for(dispatch, declared, self._threads, line)
        fetch = fetcher_for(outbound, self._threads)
        request = build_request(
            code,
            declared,
            answers_calls=respond is not None,
            makes_requests=fetch is not None,
            limits=limits,
            labels=labels,
            retain_handles=retain_handles,
        )
        logs = LogFeed(on_log, group, most_log_characters(limits))
        calls = CallRunner(respond or _refuse_call, group, fetch or refuse_request)
        session = Session(request, calls, logs, group, line)
        run = await self._see_through(session, logs)
        if line is not None:
            run.result = with_handles(run.result, for_async(line))
        return run

    async def status(self) -> Report:
        """What the daemon is doing.

        Raises:
            ExecutorError: it cannot be asked.
        """
        self._open_group()
        try:
            report = await ask(Status(), self._open_one, timeout_s=self._timeout_s)
        except ProtocolError as error:
            raise ConnectionLostError(f"The daemon broke the protocol: {error}") from error
        if not isinstance(report, Report):
            raise ConnectionLostError("The daemon answered a question nobody asked.")
        return report

    @property
    def has_ended(self) -> bool:
        """Whether the daemon this executor owns is gone; False where it owns none."""
        return self._dialer.has_ended

    @property
    def waiting(self) -> int:
        """How many of its runs wait for a worker now."""
        return sum(not session.has_started for session in tuple(self._sessions))

    async def _see_through(self, session: Session, logs: LogFeed) -> Run:
        self._sessions.add(session)
        try:
            patience = Patience(self._open_one, lambda: self._dialer.has_ended, self._closed)
            done = await conduct(session, self._spares.take(), patience, timeout_s=self._timeout_s)
            await session.settle()
        except BaseException as error:
            session.abort()
            if self._group is None and isinstance(error, ExecutorError):
                raise ConnectionLostError(_CLOSED) from None
            raise
        finally:
            self._sessions.discard(session)
            self._spares.replenish()
        run = run_of(done, session.request, logs.texts, logs.warnings)
        if done.retained:
            run.retained = session.retained()
        else:
            session.close()
        return run

    def _open_group(self) -> anyio.abc.TaskGroup:
        if self._group is None:
            raise ValueError("the executor is not open: use it inside its async with")
        return self._group

    async def _open_one(self) -> Transport:
        if self._group is None:
            raise ConnectionLostError(_CLOSED)
        transport = await greet(self._dialer, token=self._token, timeout_s=self._timeout_s)
        if self._group is None:  # Closed meanwhile.
            transport.abort()
            raise ConnectionLostError(_CLOSED)
        return transport


async def _refuse_call(_provider: str, tool: str, _args_json: str) -> str:
    """What a run without a dispatch answers; the sandbox says the same and sends no call."""
    return exception_envelope(ToolNotFoundError(tool))


def connect(
    address: str,
    *,
    token: str = "",
    ca: FilePath | None = None,
    cert: FilePath | None = None,
    key: FilePath | None = None,
    server_name: str | None = None,
    threads: int = THREADS,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
) -> Executor:
    """An executor at a daemon's address; `async with` opens it.

    With `tls://` the daemon's certificate and its name are always verified, with TLS 1.2 at least. The files are read
    here and not again: open another executor after they have changed.

    Args:
        address: `unix:PATH`, `tcp://HOST:PORT` or `tls://HOST:PORT`.
        token: what the daemon knows this client by, where it asks for one.
        ca: a PEM file with the authorities that may sign the daemon's certificate; what the system trusts if left out.
        cert: a PEM file with this client's own certificate and those between it and its authority, where the daemon
            asks for one.
        key: a PEM file with the key of `cert`, without a passphrase.
        server_name: the host name or IP address that the daemon's certificate is for, if not the one in `address`.
        threads: how many plain functions may run at a time, over all runs.
        connect_timeout_s: seconds that a connection, TLS's handshake and the greeting may take together.

    Raises:
        AddressError: `address` is none.
        ValueError: `cert` without `key` or `key` without `cert`; one of the four for TLS at another address; a
            `server_name` that cannot be one; `threads` that are no positive number.
        ConnectError: one of the files cannot be read or used.
    """
    dialer = AddressDialer(address, TlsOptions(ca=ca, cert=cert, key=key, server_name=server_name))
    return Executor(dialer, token=token, threads=threads, connect_timeout_s=connect_timeout_s)
