"""The case file, each case by its name."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tooltoolexec import Executor

from .hosts import Host, echo_call, echo_first_raw, handlers, kind_of, raw

pytestmark = pytest.mark.anyio

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases" / "contract.json").read_text("utf-8"))


def host_of(case: dict[str, Any]) -> Host | None:
    match case["host"]:
        case "envelope":
            return handlers(case.get("handlers", {}))
        case "raw":
            return raw(case["raw"])
        case "echo_call":
            return echo_call()
        case "echo_first_raw":
            return echo_first_raw()
        case _:
            return None


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
async def test_case(case: dict[str, Any], executor: Executor) -> None:
    host = host_of(case)
    dispatch = None if host is None else host.dispatch
    outcome = await executor.execute(case["code"], case["providers"], dispatch=dispatch)
    expect = case["expect"]
    assert kind_of(outcome) == expect.get("kind", "result"), outcome.failure
    if "result" in expect:
        assert outcome.result == expect["result"]
    if "result_bytes" in expect:
        assert outcome.result == base64.b64decode(expect["result_bytes"])
    if "error" in expect:
        assert outcome.error == expect["error"]
    assert expect.get("error_contains", "") in (outcome.error or "")
    if "logs" in expect:
        assert outcome.logs == expect["logs"]
    if "calls" in expect:
        assert ([] if host is None else host.calls) == expect["calls"]
