"""The threads that plain functions run in: bounded for one executor, and left behind when it closes."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from tooltoolexec_protocol.envelope import is_async_callable


class Threads:
    """Runs plain functions, at most `bound` at a time. Belongs to one executor and its event loop."""

    def __init__(self, bound: int) -> None:
        self._bound = anyio.CapacityLimiter(bound)
        self._unbounded = anyio.CapacityLimiter(math.inf)  # The bound above has been passed already.
        self._running: set[anyio.CancelScope] = set()

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call `function` where it belongs: an async one here, a plain one in a thread; await what it returns.

        The caller's context variables are visible in the thread. A cancelled caller that still queues for a thread
        leaves the queue; one whose thread runs waits for it, so that the bound holds, until `abandon`.
        """
        if is_async_callable(function):
            return await function(*args, **kwargs)
        async with self._bound:
            # A cancellation that came while the place was taken: past the shield nobody would leave the thread behind.
            await anyio.lowlevel.checkpoint_if_cancelled()
            with anyio.CancelScope(shield=True) as scope:
                self._running.add(scope)
                try:
                    (result,) = await anyio.to_thread.run_sync(
                        functools.partial(_contained, function, args, kwargs),
                        abandon_on_cancel=True,
                        limiter=self._unbounded,
                    )
                finally:
                    self._running.discard(scope)
            if scope.cancelled_caught:
                await anyio.sleep_forever()  # Abandoned: the executor's own cancellation ends this.
        return await result if inspect.isawaitable(result) else result

    def abandon(self) -> None:
        """Stop waiting for the threads that still run: nothing can stop them."""
        for scope in list(self._running):
            scope.cancel()


def _contained(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any]:
    """Call it; what would unwind the event loop (SystemExit and the like) becomes an ordinary failure.

    The result comes wrapped, because trio refuses a function whose result is a coroutine.
    """
    try:
        return (function(*args, **kwargs),)
    except StopIteration as error:  # No coroutine can raise it.
        raise RuntimeError(str(error)) from error
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(str(error) or type(error).__name__) from error
