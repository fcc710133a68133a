"""The one function that answers a run's tool calls: the caller's dispatch, or a route to each Python function."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

from tooltoolexec.binding import bind
from tooltoolexec.handles import Line, for_async, for_threads
from tooltoolexec.provider import Provider, Tool
from tooltoolexec.threads import Threads
from tooltoolexec_protocol import limits, texts
from tooltoolexec_protocol.envelope import (
    Dispatch,
    error_envelope,
    exception_envelope,
    is_async_callable,
    result_envelope,
)
from tooltoolexec_protocol.errors import CodecError, ToolError, ToolNotFoundError

Responder = Callable[[str, str, str], Coroutine[Any, Any, str]]
"""`await responder(provider, tool, arguments as JSON text)` gives the envelope text and raises no Exception."""

_OUTSIDE = "null"
"""Sent for an answer that is no text: the sandbox says that it is outside the envelope, as for any non-object."""
_log = logging.getLogger("tooltoolexec")


def responder_for(
    dispatch: Dispatch | None, providers: Sequence[Provider], threads: Threads, line: Line | None = None
) -> Responder | None:
    """The run's responder; None when nothing here answers calls. With `line`, functions get handles for tokens.

    Raises:
        TypeError: `dispatch` is no function, or both sides would own the routing.
    """
    holds_functions = any(provider.functions for provider in providers)
    if dispatch is None:
        return _routes(providers, threads, line) if holds_functions else None
    if not callable(dispatch):
        raise TypeError(f"dispatch is a function, not {type(dispatch).__name__}")
    if holds_functions:
        raise TypeError("dispatch and providers that hold functions exclude each other: one side must own the routing")
    return _around(dispatch, threads)


def _around(dispatch: Dispatch, threads: Threads) -> Responder:
    is_async = is_async_callable(dispatch)

    async def respond(provider: str, tool: str, args_json: str) -> str:
        answer: Any
        try:
            if is_async:
                answer = dispatch(provider, tool, args_json)
                if inspect.isawaitable(answer):
                    answer = await answer
            else:
                answer = await threads.call(dispatch, provider, tool, args_json)
        except Exception as error:  # Whatever a dispatch raises is an answer.
            return exception_envelope(error)
        return fitted(answer) if isinstance(answer, str) else _OUTSIDE

    return respond


def _routes(providers: Sequence[Provider], threads: Threads, line: Line | None) -> Responder:
    routes = {(provider.name, tool.name): (provider, tool) for provider in providers for tool in provider.functions}

    async def respond(provider: str, tool: str, args_json: str) -> str:
        route = routes.get((provider, tool))
        if route is None:
            return exception_envelope(ToolNotFoundError(tool))
        return fitted(await _call_tool(*route, args_json, threads, line))

    return respond


async def _call_tool(provider: Provider, tool: Tool, args_json: str, threads: Threads, line: Line | None) -> str:
    """The envelope of one call; what the program may not read is logged instead."""
    try:
        make = None if line is None else for_async(line) if is_async_callable(tool.function) else for_threads(line)
        args, kwargs = bind(tool, args_json, positional_args=provider.positional_args, make_handle=make)
    except (ToolError, CodecError) as error:
        return exception_envelope(error)
    try:
        value = await threads.call(tool.function, *args, **kwargs)
    except ToolError as error:
        return exception_envelope(error)
    except Exception as error:  # A tool may raise anything; the program goes on.
        return _masked(provider, tool, error)
    try:
        return result_envelope(value)
    except CodecError as error:
        return exception_envelope(error)
    except Exception as error:  # A value's own conversion may raise anything.
        return _masked(provider, tool, error)


def _masked(provider: Provider, tool: Tool, error: Exception) -> str:
    if provider.expose_errors:
        return exception_envelope(error)
    _log.warning("tool %s.%s failed", provider.name, tool.name, exc_info=error)
    return error_envelope(texts.tool_failed(tool.name))


def fitted(answer: str) -> str:
    """`answer`, or an error envelope where it is more than one answer may have."""
    size = len(answer) if answer.isascii() else len(answer.encode("utf-8", "surrogatepass"))
    # On the wire every character outside ASCII is an escape of six bytes, or twelve: that has to fit a frame as well.
    if size > limits.ANSWER_BYTES or (size > limits.ANSWER_BYTES // 8 and _escaped_size(answer) > _ESCAPED_BYTES):
        return error_envelope(texts.answer_too_large(size, limits.ANSWER_BYTES))
    return answer


_ESCAPED_BYTES = limits.FRAME_BYTES - 1024


def _escaped_size(answer: str) -> int:
    return len(encode_basestring_ascii(answer))
