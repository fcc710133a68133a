"""From a call's JSON payload to the arguments of a Python function."""

from __future__ import annotations

from typing import Any

from tooltoolexec.handles import MakeHandle, with_handles
from tooltoolexec.provider import Tool
from tooltoolexec_protocol.codec import parse_dispatch_arguments, parse_for_dispatch
from tooltoolexec_protocol.errors import ToolError

Arguments = tuple[list[Any], dict[str, Any]]
"""Positional and keyword arguments."""


def bind(tool: Tool, args_json: str, *, positional_args: bool, make_handle: MakeHandle | None = None) -> Arguments:
    """The arguments `tool.function` is to be called with.

    Under `positional_args` the payload's items spread. Otherwise its keys are keyword arguments, and a payload that is
    no object, an array included, is the one positional argument. `make_handle` gives the handles that tokens become.

    Raises:
        CodecError: the payload is no JSON, or nested too deeply.
        ToolError: the arguments do not fit the function; the text is for the program.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    if positional_args:
        args = parse_dispatch_arguments(args_json)
        if make_handle is not None:
            args = with_handles(args, make_handle)
    else:
        payload = parse_for_dispatch(args_json)
        if make_handle is not None:
            payload = with_handles(payload, make_handle)
        if isinstance(payload, dict):
            kwargs = payload
        else:
            args = [payload]
    if tool.signature is not None:
        try:
            tool.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ToolError(f"{tool.name}: {error}") from None
    return args, kwargs
