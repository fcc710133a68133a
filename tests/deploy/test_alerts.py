"""The alerts: rules that Prometheus can read, about metrics and labels that the daemon has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tooltoolexec_executor.tally import DEATHS, OUTCOMES, REFUSALS

ROOT = Path(__file__).parents[2]
RULES = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
OBSERVING = (ROOT / "docs" / "observing.md").read_text(encoding="utf-8")
VALUES = {"outcome": OUTCOMES, "cause": DEATHS, "code": REFUSALS, "job": {"tooltoolexec"}}
"""What labels may be; `job` is Prometheus's own."""


def selectors(expression: str) -> list[promql_parser.VectorSelector]:
    """Everything that the expression looks up."""
    found: list[promql_parser.VectorSelector] = []

    def note(part: promql_parser.Expr) -> None:
        if isinstance(part, promql_parser.VectorSelector):
            found.append(part)
        elif isinstance(part, promql_parser.MatrixSelector):
            found.append(part.vector_selector)

    promql_parser.walk(promql_parser.parse(expression), note)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_a_rule_is_of_the_form_that_prometheus_reads(rule: dict[str, Any]) -> None:
    assert {"alert", "expr", "annotations"} <= rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"\d+m", rule.get("for", "0m"))
    assert rule["annotations"]["summary"].endswith(".")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_a_rule_asks_for_metrics_and_labels_that_there_are(rule: dict[str, Any]) -> None:
    asked = selectors(rule["expr"])
    assert asked
    for selector in asked:
        assert selector.name is not None
        assert (
            selector.name == "up"
            or f"`{selector.name.removesuffix('_bucket')}`" in OBSERVING
            or (selector.name == "process_resident_memory_bytes")
        )
        for matcher in selector.matchers.matchers:
            assert set(matcher.value.split("|")) <= VALUES[matcher.name]


def test_alerts_have_names_of_their_own() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names) > 0
