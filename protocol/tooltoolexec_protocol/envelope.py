"""The envelope a dispatch answers with, and the latch that closes it when the run is over."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, overload

from tooltoolexec_protocol import texts
from tooltoolexec_protocol.codec import stringify_for_dispatch

Dispatch = Callable[[str, str, str], Awaitable[str]] | Callable[[str, str, str], str]
"""`dispatch(provider, tool, arguments as JSON text) -> envelope as JSON text`."""


@dataclass(slots=True)
class ExecutionState:
    """A latch: while `active`, calls reach the responder."""

    active: bool = True


def result_envelope(value: Any) -> str:
    """`{"result": value}`, through the codec.

    Raises:
        CodecError: the value cannot cross.
    """
    return f'{{"result":{stringify_for_dispatch(value)}}}'


def error_envelope(message: str, code: str | None = None) -> str:
    """`{"error": message}`, with `code` beside it where there is one."""
    envelope = {"error": message}
    if code is not None:
        envelope["code"] = code
    return json.dumps(envelope, separators=(",", ":"))


def exception_envelope(error: BaseException) -> str:
    """The envelope of an exception: its message (its type's name where that is empty) and its text `code`."""
    message, code = "", None
    with contextlib.suppress(Exception):  # A broken __str__ or property must not take the call down with it.
        message = str(error)
    with contextlib.suppress(Exception):
        code = getattr(error, "code", None)
    return error_envelope(message or type(error).__name__, code if isinstance(code, str) else None)


@overload
def create_envelope_dispatch(
    state: ExecutionState, responder: Callable[[str, str, str], Awaitable[Any]]
) -> Callable[[str, str, str], Awaitable[str]]: ...
@overload
def create_envelope_dispatch(
    state: ExecutionState, responder: Callable[[str, str, str], Any]
) -> Callable[[str, str, str], str]: ...
def create_envelope_dispatch(
    state: ExecutionState, responder: Callable[[str, str, str], Any]
) -> Callable[[str, str, str], Any]:
    """A dispatch around `responder(provider, tool, args_json) -> value`.

    It serialises what the responder returns into `{"result": …}`, turns an exception into `{"error": message}`, and
    answers `Execution has already completed.` without entering the responder once `state.active` is false. It is
    async when the responder is, plain otherwise.
    """

    async def dispatch_async(provider: str, tool: str, args_json: str) -> str:
        if not state.active:
            return error_envelope(texts.COMPLETED)
        try:
            return result_envelope(await responder(provider, tool, args_json))
        except Exception as error:
            return exception_envelope(error)

    async def envelope_later(value: Awaitable[Any]) -> str:
        try:
            return result_envelope(await value)
        except Exception as error:
            return exception_envelope(error)

    def dispatch_plain(provider: str, tool: str, args_json: str) -> str | Awaitable[str]:
        if not state.active:
            return error_envelope(texts.COMPLETED)
        try:
            value = responder(provider, tool, args_json)
            # A plain function may still return an awaitable (a lambda around an async one); so does the dispatch then.
            return envelope_later(value) if inspect.isawaitable(value) else result_envelope(value)
        except Exception as error:
            return exception_envelope(error)

    return dispatch_async if is_async_callable(responder) else dispatch_plain


def is_async_callable(function: Callable[..., Any]) -> bool:
    """Whether calling it gives an awaitable: an `async def`, a partial of one, or an object whose `__call__` is."""
    while hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial, nested or not
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
