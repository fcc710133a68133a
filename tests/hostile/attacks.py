"""Programs that attack the executor, and what must hold of each whatever it does.

A case has `code`, `limits`, the `kinds` in which it may end (`result` for success, else the failure's) and, where it
must succeed in one way only, `result` and `logs`. It has the provider `store` and a dispatch that answers 1.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tooltoolexec import Executor, Limits, Run

STORE = [{"name": "store", "tools": ["f"]}]

_FOLDER = Path(__file__).parent
_GRACE_S = 1.0


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    found: list[dict[str, Any]] = json.loads((_FOLDER / "cases" / f"{name}.json").read_text("utf-8"))
    return found


def program(name: str) -> str:
    """One of the pieces of JavaScript that tests put together."""
    return (_FOLDER / "programs" / f"{name}.js").read_text("utf-8")


async def answer_one(_provider: str, _tool: str, _args: str) -> str:
    return '{"result":1}'


async def withstand(executor: Executor, case: dict[str, Any]) -> Run:
    """Run a case, check all that its file says of it, and see that the executor still works."""
    begun = time.monotonic()
    run = await executor.execute(case["code"], STORE, dispatch=answer_one, limits=Limits(**case["limits"]))
    took = time.monotonic() - begun - run.stats.queued_s
    kind = "result" if run.failure is None else run.failure.kind
    assert kind in case["kinds"], run.failure
    assert took < case["limits"]["wall_s"] + _GRACE_S
    if run.failure is None and "result" in case:
        assert run.result == case["result"]
    if run.failure is None and "logs" in case:
        assert run.logs == case["logs"]
    assert (await executor.execute("async () => 1")).result == 1
    return run
