"""The console writes what Node's does, byte for byte, but for the listed differences, each with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from .expressions import Expressions
from .noding import in_node, in_sandbox

_FOLDER = Path(__file__).parent / "console"


def _lines(name: str) -> list[str]:
    return (_FOLDER / name).read_text("utf-8").splitlines()


VALUES = [f"console.log({f'({line})' if line.startswith('{') else line});" for line in _lines("values.txt")]
STATEMENTS = _lines("statements.txt")


@dataclass(frozen=True)
class Difference:
    """What the sandbox shows otherwise, on purpose."""

    source: str
    shown: str
    reason: str


DIFFERENCES = [Difference(**fields) for fields in json.loads("\n".join(_lines("differences.json")))]


@pytest.fixture(scope="module")
def node_output() -> dict[str, str]:
    cases = VALUES + STATEMENTS
    return dict(zip(cases, in_node(cases), strict=True))


@pytest.fixture(scope="module")
def sandbox_output() -> dict[str, str]:
    cases = VALUES + STATEMENTS + [f"console.log({difference.source});" for difference in DIFFERENCES]
    return dict(zip(cases, in_sandbox(cases), strict=True))


@pytest.mark.parametrize("case", VALUES)
def test_a_value_is_shown_as_in_node(case: str, node_output: dict[str, str], sandbox_output: dict[str, str]) -> None:
    assert sandbox_output[case] == node_output[case]


@pytest.mark.parametrize("case", STATEMENTS)
def test_a_method_writes_as_in_node(case: str, node_output: dict[str, str], sandbox_output: dict[str, str]) -> None:
    assert sandbox_output[case] == node_output[case]


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.source)
def test_a_difference_is_the_one_that_is_meant(difference: Difference, sandbox_output: dict[str, str]) -> None:
    assert sandbox_output[f"console.log({difference.source});"] == difference.shown, difference.reason


def test_the_differences_are_differences() -> None:
    """What became alike belongs among the values."""
    shown = in_node([f"console.log({difference.source});" for difference in DIFFERENCES])
    same = [d.source for d, text in zip(DIFFERENCES, shown, strict=True) if d.shown == text]
    assert same == []


@pytest.mark.parametrize("seed", range(4))
def test_values_at_random_are_shown_as_in_node(seed: int) -> None:
    expressions = Expressions(seed)
    cases = [f"console.log({expressions.value(4)});" for _ in range(100)]
    for case, node, sandbox in zip(cases, in_node(cases), in_sandbox(cases), strict=True):
        assert sandbox == node, case
