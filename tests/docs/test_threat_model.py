"""Every promise of the threat model names tests, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
PROMISES = PAGE.partition("## What is promised")[2].partition("\n## ")[0]
NAMED = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)`", PAGE))


def test_every_promise_names_a_test() -> None:
    promises = re.split(r"\n- ", PROMISES)[1:]
    assert len(promises) > 10
    for promise in promises:
        assert re.search(r"`tests/[\w/]+\.py`", promise.partition("\n\n")[0]), promise


def test_what_is_named_exists_and_tests_something() -> None:
    assert len(NAMED) > 10
    for name in NAMED:
        path = ROOT / name
        assert path.is_dir() or re.search(r"^\s*(async )?def test_", path.read_text("utf-8"), re.MULTILINE), name
