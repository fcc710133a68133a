"""The envelope and its latch: whatever a responder does, the dispatch answers."""

from __future__ import annotations

import asyncio
import functools
import json
from typing import Any

import pytest
from hypothesis import given

from tooltoolexec_protocol.codec import parse_for_dispatch
from tooltoolexec_protocol.envelope import (
    ExecutionState,
    create_envelope_dispatch,
    error_envelope,
    exception_envelope,
    is_async_callable,
    result_envelope,
)
from tooltoolexec_protocol.errors import CodecError, ToolError, ToolNotFoundError

from .wire_examples import texts, values_with_bytes


class CodedError(Exception):
    def __init__(self, message: str, code: Any) -> None:
        super().__init__(message)
        self.code = code


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class ThornyError(Exception):
    @property
    def code(self) -> str:
        raise RuntimeError("no code")


@given(values_with_bytes)
def test_a_result_is_one_object_with_one_key(value: Any) -> None:
    assert parse_for_dispatch(result_envelope(value)) == {"result": value}


@given(texts, texts)
def test_an_error_is_its_text_and_its_code(message: str, code: str) -> None:
    assert json.loads(error_envelope(message)) == {"error": message}
    assert json.loads(error_envelope(message, code)) == {"error": message, "code": code}


@pytest.mark.parametrize(
    ("value", "envelope"),
    [
        (None, '{"result":null}'),
        (7, '{"result":7}'),
        (b"\1\2\3", '{"result":{"__executor_binary_v1__":"Uint8Array","data":"AQID"}}'),
        ({"error": "no"}, '{"result":{"error":"no"}}'),
    ],
)
def test_result_envelopes_are_pinned(value: Any, envelope: str) -> None:
    assert result_envelope(value) == envelope


@pytest.mark.parametrize(
    ("error", "envelope"),
    [
        (ValueError("no"), '{"error":"no"}'),
        (ValueError(), '{"error":"ValueError"}'),
        (ValueError("\ud800"), '{"error":"\\ud800"}'),
        (KeyError("a"), '{"error":"\'a\'"}'),
        (CodedError("no", "E1"), '{"error":"no","code":"E1"}'),
        (CodedError("no", ""), '{"error":"no","code":""}'),
        (CodedError("no", 7), '{"error":"no"}'),
        (CodedError("no", None), '{"error":"no"}'),
        (CodedError("", "E1"), '{"error":"CodedError","code":"E1"}'),
        (MuteError(), '{"error":"MuteError"}'),
        (ThornyError("no"), '{"error":"no"}'),
        (ToolError("no", "E2"), '{"error":"no","code":"E2"}'),
        (ToolError("no"), '{"error":"no"}'),
        (ToolNotFoundError('a"b'), '{"error":"Tool \\"a\\"b\\" not found"}'),
    ],
)
def test_an_exceptions_envelope_is_its_message_or_its_types_name(error: Exception, envelope: str) -> None:
    assert exception_envelope(error) == envelope


def test_a_plain_responder_gives_a_plain_dispatch() -> None:
    dispatch = create_envelope_dispatch(ExecutionState(), lambda provider, tool, args: [provider, tool, args])
    assert dispatch("store", "find", '["a"]') == '{"result":["store","find","[\\"a\\"]"]}'


def test_an_async_responder_gives_an_async_dispatch() -> None:
    async def responder(provider: str, tool: str, args_json: str) -> list[str]:
        return [provider, tool, args_json]

    dispatch = create_envelope_dispatch(ExecutionState(), responder)
    assert asyncio.run(_await(dispatch("store", "find", "[]"))) == '{"result":["store","find","[]"]}'


async def _await(awaitable: Any) -> Any:
    return await awaitable


def test_a_closed_state_answers_without_entering_the_responder() -> None:
    entered = []

    def plain(*call: str) -> None:
        entered.append(call)

    async def waiting(*call: str) -> None:
        entered.append(call)

    closed = '{"error":"Execution has already completed."}'
    state = ExecutionState(active=False)
    assert create_envelope_dispatch(state, plain)("a", "b", "[]") == closed
    assert asyncio.run(_await(create_envelope_dispatch(state, waiting)("a", "b", "[]"))) == closed
    assert entered == []


def test_closing_takes_effect_on_a_dispatch_made_before() -> None:
    state = ExecutionState()
    assert state.active
    dispatch = create_envelope_dispatch(state, lambda provider, tool, args: 1)
    assert dispatch("a", "b", "[]") == '{"result":1}'
    state.active = False
    assert dispatch("a", "b", "[]") == '{"error":"Execution has already completed."}'


def test_a_call_that_was_entered_before_the_close_still_gives_its_result() -> None:
    state = ExecutionState()

    def responder(*call: str) -> int:
        state.active = False
        return 1

    assert create_envelope_dispatch(state, responder)("a", "b", "[]") == '{"result":1}'


@pytest.mark.parametrize("value", [object(), 2**60])
def test_a_value_that_cannot_cross_is_an_error_of_the_call(value: Any) -> None:
    with pytest.raises(CodecError) as caught:
        result_envelope(value)

    async def responder(*call: str) -> object:
        return value

    def plain(*call: str) -> object:
        return value

    expected = error_envelope(str(caught.value))
    assert create_envelope_dispatch(ExecutionState(), plain)("a", "b", "[]") == expected
    assert asyncio.run(_await(create_envelope_dispatch(ExecutionState(), responder)("a", "b", "[]"))) == expected


def test_any_exceptions_own_message_crosses() -> None:
    async def responder(*call: str) -> object:
        raise CodedError("the disk is full", "ENOSPC")

    def plain(*call: str) -> object:
        raise CodedError("the disk is full", "ENOSPC")

    expected = '{"error":"the disk is full","code":"ENOSPC"}'
    assert create_envelope_dispatch(ExecutionState(), plain)("a", "b", "[]") == expected
    assert asyncio.run(_await(create_envelope_dispatch(ExecutionState(), responder)("a", "b", "[]"))) == expected


def test_what_ends_the_host_is_no_envelope() -> None:
    def responder(*call: str) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_envelope_dispatch(ExecutionState(), responder)("a", "b", "[]")


def test_every_form_of_an_async_callable_is_seen() -> None:
    class Callable:
        async def __call__(self) -> None: ...

        async def method(self) -> None: ...

    async def function(*arguments: Any) -> None: ...

    for one in (function, Callable(), Callable().method, functools.partial(function, 1)):
        assert is_async_callable(one)
    assert is_async_callable(functools.partial(functools.partial(function, 1), 2))
    for other in (print, Callable, lambda: None, functools.partial(print, 1)):
        assert not is_async_callable(other)
