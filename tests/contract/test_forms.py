"""Whatever form a model writes a program in, it runs: the case file, each case by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tooltoolexec import Executor

from .hosts import kind_of

pytestmark = pytest.mark.anyio

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases" / "forms.json").read_text("utf-8"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
async def test_form(case: dict[str, Any], executor: Executor) -> None:
    outcome = await executor.execute(case["code"])
    expect = case["expect"]
    assert kind_of(outcome) == expect.get("kind", "result"), outcome.failure
    assert outcome.result == expect.get("result")
    if "error" in expect:
        assert outcome.error == expect["error"]
    assert expect.get("error_contains", "") in (outcome.error or "")
    if "line" in expect:
        assert outcome.failure is not None
        assert outcome.failure.line == expect["line"]
