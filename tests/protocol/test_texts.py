"""Texts: models and hosts match on them, so each is pinned here, character for character."""

from __future__ import annotations

import re

import pytest

from tooltoolexec_protocol import texts
from tooltoolexec_protocol.errors import ToolNotFoundError

WHOLE = {
    "COMPLETED": "Execution has already completed.",
    "OUTSIDE_ENVELOPE": "The dispatch answered outside the result envelope.",
    "OVERLOADED": "The executor is overloaded. Try again later.",
    "SHUTDOWN": "The executor is shutting down.",
    "CRASHED": "The worker ended unexpectedly.",
    "STALLED": "The program is waiting for something that can never happen.",
    "UNSHOWABLE": "The program threw a value that cannot be shown.",
    "HANDLES_NOT_RETAINED": "Handles are not retained in this execution.",
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_text_is_pinned(name: str) -> None:
    assert getattr(texts, name) == WHOLE[name]


COMPOSED = {
    'Tool "rm" not found': texts.compose(texts.TOOL_NOT_FOUND, tool="rm"),
    "The payload of 5000 bytes is over the limit of 4096 bytes.": texts.compose(texts.PAYLOAD, n=5000, m=4096),
    "The run allows 1000 tool calls.": texts.compose(texts.CALLS, n=1000),
    'Provider "store" source failed: boom': texts.compose(texts.PROVIDER_SOURCE, name="store", message="boom"),
    "Execution timed out after 30000 ms.": texts.timeout(30),
    "Execution timed out after 50 ms.": texts.timeout(0.05),
    "Execution used more than 10000 ms of CPU time.": texts.cpu(10.0),
    "Execution ran out of memory (limit 128 MiB).": texts.memory(128.0),
    "Execution ran out of memory (limit 0.5 MiB).": texts.memory(0.5),
    "The integer 9007199254740993 does not fit a JavaScript number. Return it as text.": texts.integer_out_of_range(
        2**53 + 1
    ),
    "The answer of 7 bytes is over the limit of 6 bytes.": texts.answer_too_large(7, 6),
    "find failed (internal error)": texts.tool_failed("find"),
}


@pytest.mark.parametrize("expected", COMPOSED)
def test_a_composed_text_is_pinned(expected: str) -> None:
    assert COMPOSED[expected] == expected


def test_a_facts_own_braces_stay_as_they_are() -> None:
    assert texts.compose(texts.TOOL_NOT_FOUND, tool="{tool}") == 'Tool "{tool}" not found'
    assert texts.compose(texts.PROVIDER_SOURCE, name="{message}", message="\\1 {name}") == (
        'Provider "{message}" source failed: \\1 {name}'
    )


def test_the_refusal_of_a_tool_is_composed_in_one_place() -> None:
    error = ToolNotFoundError("{rm}\ud800")
    assert str(error) == 'Tool "{rm}\ud800" not found'
    assert error.tool == "{rm}\ud800"
    assert error.code is None


def test_the_sandbox_gets_each_text_under_its_own_name() -> None:
    for name, text in texts.SANDBOX_TEXTS.items():
        constant = re.sub("([A-Z])", r"_\1", name).upper()
        assert getattr(texts, constant) == text
