"""The blocking twins of `connect` and `local`.

Each executor has a background thread with an event loop, so they work where the calling thread runs a loop of its own,
and from several threads at once. Async tools run on the background loop, plain ones in threads.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import functools
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tooltoolexec import embedded, executor
from tooltoolexec.options import RunOptions
from tooltoolexec.provider import Provider
from tooltoolexec.run import Run
from tooltoolexec.trust import FilePath
from tooltoolexec_protocol.errors import ExecutorError
from tooltoolexec_protocol.messages import Report

__all__ = ["BlockingExecutor", "connect", "local"]

_T = TypeVar("_T")
_SIGNAL_CHECK_S = 0.2
"""How often a waiting thread looks for signals: one that comes just before the wait begins does not end it."""


# Those that nobody has closed: their background threads would keep the interpreter from ending.
_open: set[BlockingExecutor] = set()


class BlockingExecutor:
    """An `Executor` for code that blocks. Use it inside `with`; any thread may call it."""

    def __init__(self, inner: executor.Executor) -> None:
        self._inner = inner
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()
        self._process = 0

    def __enter__(self) -> Self:
        """Raises as `Executor` does."""
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal(name="tooltoolexec"))
            stack.enter_context(portal.wrap_async_context_manager(self._inner))
            self._stack = stack.pop_all()
        self._portal = portal
        self._process = os.getpid()
        _open.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        _open.discard(self)
        if self._process != os.getpid():
            return  # The thread and the connections are the parent's.
        # Without the body's error: the portal would cancel what is to close in good order.
        self._stack.close()

    def execute(
        self, code: str, providers: Iterable[Provider | Mapping[str, Any]] = (), **options: Unpack[RunOptions]
    ) -> Run:
        """Run `code` and wait for its outcome. Arguments and errors as of `Executor.execute`.

        A KeyboardInterrupt meanwhile ends the run.
        """
        run = self._wait_for(functools.partial(self._inner.execute, code, providers, **options))
        if run.retained is not None:
            run.retained = run.retained.blocking(self._wait_for)
            run.result = run.retained.adopt(run.result)
        return run

    def status(self) -> Report:
        """What the daemon is doing. Errors as of `Executor.status`."""
        return self._wait_for(self._inner.status)

    @property
    def has_ended(self) -> bool:
        """Whether the daemon this executor owns is gone; False where it owns none."""
        return self._inner.has_ended

    def _wait_for(self, function: Callable[[], Awaitable[_T]]) -> _T:
        portal = self._portal  # Another thread may close the executor meanwhile.
        if portal is None:
            raise ValueError("the executor is not open: use it inside its with")
        if self._process != os.getpid():
            raise ValueError("the executor was opened before a fork: open one in this process")
        job = _Job(function)
        try:
            future = portal.start_task_soon(job.run)
            while not future.done():
                concurrent.futures.wait([future], timeout=_SIGNAL_CHECK_S)
            return future.result()
        except BaseException:
            # An interrupt of this thread, wherever it struck, ends the run. After the run's own error it does nothing.
            with contextlib.suppress(RuntimeError):  # Closed: then it has ended already.
                portal.start_task_soon(job.interrupt)
            raise


class _Job(Generic[_T]):
    """Something the background loop does, which may be interrupted before it has begun."""

    def __init__(self, function: Callable[[], Awaitable[_T]]) -> None:
        self._function = function
        self._scope: anyio.CancelScope | None = None
        self._is_interrupted = False

    async def run(self) -> _T:
        with anyio.CancelScope() as self._scope:
            if self._is_interrupted:
                self._scope.cancel()
            return await self._function()
        raise ExecutorError("The caller was interrupted.")  # Nobody waits for this any more.

    def interrupt(self) -> None:
        self._is_interrupted = True
        if self._scope is not None:
            self._scope.cancel()


def connect(
    address: str,
    *,
    token: str = "",
    ca: FilePath | None = None,
    cert: FilePath | None = None,
    key: FilePath | None = None,
    server_name: str | None = None,
    threads: int = executor.THREADS,
    connect_timeout_s: float = executor.CONNECT_TIMEOUT_S,
) -> BlockingExecutor:
    """As `tooltoolexec.connect`, for `with`."""
    return BlockingExecutor(
        executor.connect(
            address,
            token=token,
            ca=ca,
            cert=cert,
            key=key,
            server_name=server_name,
            threads=threads,
            connect_timeout_s=connect_timeout_s,
        )
    )


@functools.wraps(embedded.local)
def local(**options: Any) -> BlockingExecutor:
    """As `tooltoolexec.local`, for `with`."""
    return BlockingExecutor(embedded.local(**options))


def _close_all() -> None:
    for executor_ in tuple(_open):
        executor_.__exit__(None, None, None)


atexit.register(_close_all)
