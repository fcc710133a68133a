"""Each attack by its name: it ends in time, in one of the ways it may, and the executor works on."""

from __future__ import annotations

from typing import Any

import pytest

from tooltoolexec import Executor

from .attacks import cases, withstand

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases("hostile")])
async def test_known_attack(case: dict[str, Any], executor: Executor) -> None:
    await withstand(executor, case)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases("more")])
async def test_further_attack(case: dict[str, Any], executor: Executor) -> None:
    await withstand(executor, case)


def test_no_two_cases_share_a_name() -> None:
    names = [case["name"] for case in cases("hostile") + cases("more")]
    assert len(set(names)) == len(names)
