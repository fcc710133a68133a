"""The page about watching a daemon has every event, field, metric, label and answer of the code, and no others."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import pytest

from tooltoolexec_executor import observe
from tooltoolexec_executor.access import Access, Tokens
from tooltoolexec_executor.config import Config
from tooltoolexec_executor.metrics import registry_of
from tooltoolexec_executor.state import DaemonState
from tooltoolexec_executor.tally import DEATHS, OUTCOMES, REFUSALS

from .pages import ROOT

PAGE = (ROOT / "docs" / "observing.md").read_text(encoding="utf-8")
EVENT_ROW = re.compile(r"^\| (info|warning|error) \| `([^`]+)` \|([^|]*)\|", re.MULTILINE)
METRIC_ROW = re.compile(r"^\| `(tooltoolexec_\w+)` \| (\w+) \| (?:`(\w+)`)? ?\|", re.MULTILINE)
LEVELS = {"info": "info", "warning": "warning", "error": "error", "exception": "error"}
EXECUTOR = ROOT / "executor" / "tooltoolexec_executor"
TREES = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(EXECUTOR.rglob("*.py"))]


ROWS = {
    event: (level, set(re.findall(r"`(\w+)`", fields))) for level, event, fields in EVENT_ROW.findall(PAGE)
}  # fmt: skip


def row_of(event: str) -> tuple[str, set[str]] | None:
    """Level and fields of the row for an event: it has its whole text, or how it begins and an ellipsis."""
    for text, row in ROWS.items():
        beginning, ellipsis, _ = text.partition("…")
        if event.startswith(beginning.strip()) if ellipsis else event == text:
            return row
    return None


def logged() -> Iterator[tuple[str, str, set[str]]]:
    """Event, level and fields of every call of the log."""
    functions = (
        node for tree in TREES for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    for function in functions:
        for node in ast.walk(function):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and ast.unparse(called.value) == "log" and called.attr in LEVELS:
                assert isinstance(node, ast.Call)
                yield _event(node), LEVELS[called.attr], _fields(node, function)


def _event(call: ast.Call) -> str:
    assert isinstance(call.args[0], ast.Constant)
    return str(call.args[0].value)


def _fields(call: ast.Call, function: ast.AST) -> set[str]:
    """The keys of the dict in the call, or of all that are made into the variable `facts` in its function."""
    if not call.keywords:
        return set()
    (extra,) = call.keywords
    assert isinstance(extra.value, ast.Dict)
    (fields,) = extra.value.values
    dicts: list[ast.expr | None] = [fields]
    found = set()
    if isinstance(fields, ast.Name):
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Subscript) and ast.unparse(target.value) == fields.id:
                    assert isinstance(target.slice, ast.Constant)
                    found.add(str(target.slice.value))
                elif ast.unparse(target) == fields.id:
                    dicts.append(node.value)
    for each in dicts:
        if isinstance(each, ast.Dict):
            found |= {str(key.value) for key in each.keys if isinstance(key, ast.Constant)}
    return found


def test_every_event_is_on_the_page_with_its_level_and_fields() -> None:
    calls = list(logged())
    assert len(calls) > 15
    for event, level, fields in calls:
        if event == "%s":
            continue  # An exception's text; those are in the other direction.
        assert row_of(event) == (level, fields), event


def test_every_event_on_the_page_is_in_the_code() -> None:
    texts = [
        node.value for tree in TREES for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]  # fmt: skip
    for event in ROWS:
        beginning = event.partition("…")[0].strip()
        assert any(text.startswith(beginning) for text in texts), event


def test_the_example_has_every_field_of_a_run() -> None:
    found = re.search(r"^```json\n(.+)\n```$", PAGE, re.MULTILINE)
    assert found
    assert set(json.loads(found[1])) == {"time", "level", "event", *ROWS["run ended"][1]}


def test_every_metric_is_on_the_page_with_its_type_and_label() -> None:
    state = DaemonState(Config(listen=["unix:/nowhere"]), Access(Tokens(())))
    found = {}
    for family in registry_of(state).collect():
        if family.name.startswith("tooltoolexec_"):
            kind = "gauge" if family.type == "info" else family.type
            suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
            labels = {label for sample in family.samples for label in sample.labels} - {"le"}
            found[family.name + suffix] = (kind, "".join(labels))
    assert {name: (kind, label) for name, kind, label in METRIC_ROW.findall(PAGE)} == found


@pytest.mark.parametrize(("label", "values"), [("outcome", OUTCOMES), ("cause", DEATHS), ("code", REFUSALS)])
def test_every_value_of_a_label_is_on_the_page(label: str, values: frozenset[str]) -> None:
    found = re.search(rf"^- `{label}`: ((?:.|\n  )+)$", PAGE, re.MULTILINE)
    assert found
    assert set(re.findall(r"`(\w+)`", found[1])) == values


def test_every_path_and_every_status_is_on_the_page() -> None:
    source = (EXECUTOR / "observe.py").read_text(encoding="utf-8")
    paths = set(re.findall(r'^ +b"(/\w+)": ', source, re.MULTILINE))
    assert paths == set(re.findall(r"^\| `(/\w+)` \|", PAGE, re.MULTILINE))
    statuses = set(re.findall(r'_json\(\{"status": "([^"]+)"\}\)', source))
    assert statuses == set(re.findall(r'`\{"status": "([^"]+)"\}`', PAGE))


def test_the_page_has_the_bounds_of_the_code() -> None:
    assert f"Of {observe._CONNECTIONS + 1} connections" in PAGE
    assert observe._EXCHANGE_S == 5
