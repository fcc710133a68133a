"""Dispatches for tests: what they were called with, and the answers they give."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from tooltoolexec import (
    ExecutionState,
    Executor,
    Limits,
    Run,
    ToolNotFoundError,
    create_envelope_dispatch,
    parse_dispatch_arguments,
)
from tooltoolexec_protocol.envelope import result_envelope

STORE = [{"name": "store", "tools": ["f"]}]


class Host:
    """A dispatch that notes each call. `answer` gives the envelope's text."""

    def __init__(self, answer: Callable[[str, str, str], Any]) -> None:
        self.calls: list[list[str]] = []
        self._answer = answer

    async def dispatch(self, provider: str, tool: str, args_json: str) -> str:
        self.calls.append([provider, tool, args_json])
        answer = self._answer(provider, tool, args_json)
        return str(await answer if inspect.isawaitable(answer) else answer)


def raw(text: str) -> Host:
    """Answers `text`, whatever the call."""
    return Host(lambda _provider, _tool, _args: text)


def echo_call() -> Host:
    """Answers what it was called with."""
    names = ("provider", "tool", "argsJson")
    return Host(lambda *call: result_envelope(dict(zip(names, call, strict=True))))


def echo_first_raw() -> Host:
    """Answers the first argument as it stands in the JSON."""
    return Host(lambda _provider, _tool, args: f'{{"result":{json.dumps(json.loads(args)[0])}}}')


def handlers(by_name: Mapping[str, Mapping[str, Any]]) -> Host:
    """`create_envelope_dispatch` over handlers in the form of the case file."""

    async def responder(provider: str, tool: str, args_json: str) -> Any:
        handler = by_name.get(f"{provider}.{tool}")
        if handler is None:
            raise ToolNotFoundError(tool)
        first = next(iter(parse_dispatch_arguments(args_json)), None)
        pause_ms = handler.get("sleep_ms", 0)
        if "sleep_ms_by_first" in handler:
            assert isinstance(first, int)
            pause_ms += handler["sleep_ms_by_first"] * first
        if pause_ms:
            await anyio.sleep(pause_ms / 1000)
        if "raise" in handler:
            raise ValueError(handler["raise"])
        if handler.get("first"):
            return first
        if handler.get("reverse_bytes"):
            assert isinstance(first, bytes)
            return first[::-1]
        return handler["return"]

    return Host(create_envelope_dispatch(ExecutionState(), responder))


def answering(function: Callable[..., Any]) -> Host:
    """`create_envelope_dispatch` over one function of the call's arguments."""

    async def responder(_provider: str, _tool: str, args_json: str) -> Any:
        answer = function(*parse_dispatch_arguments(args_json))
        return await answer if inspect.isawaitable(answer) else answer

    return Host(create_envelope_dispatch(ExecutionState(), responder))


def identity() -> Host:
    """Every call gives back its first argument, through Python's half of the codec."""
    return answering(lambda first=None, *_rest: first)


async def run(executor: Executor, code: str, host: Host | None = None, **options: Any) -> Run:
    """Run `code` with a provider `store`; calls go to `host`."""
    options.setdefault("providers", STORE)
    options.setdefault("dispatch", None if host is None else host.dispatch)
    return await executor.execute(code, **options)


async def value_of(executor: Executor, code: str, host: Host | None = None, **options: Any) -> Any:
    """The result of a program that must succeed."""
    outcome = await run(executor, code, host, **options)
    assert outcome.failure is None, outcome.failure
    return outcome.result


def kind_of(outcome: Run) -> str:
    """How a run ended, in one word."""
    return "result" if outcome.failure is None else outcome.failure.kind


SHORT = Limits(wall_s=0.05)
