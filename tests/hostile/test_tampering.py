"""A program that replaces or deletes all it can reach meets nothing of the runtime's: its hooks are never asked.

Every hook records and throws, so a use of one shows twice: in what was heard, and in what then did not work. What must
come out is what comes out of the same program when it does not tamper.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest

from tooltoolexec import Executor, Limits

from .attacks import STORE, answer_one, program

pytestmark = pytest.mark.anyio

LIMITS = Limits(memory_mb=256)
ENDINGS = {"returns": "return out;", "throws": "throw failure;", "gives no JSON": "return { bad };"}


def fields_of_the_runtime() -> list[str]:
    """Every name that the runtime's source could read or write as a property."""
    folder = resources.files("tooltoolexec_executor") / "runtime"
    source = "\n".join(file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".js"))
    names = set(re.findall(r"[.]([A-Za-z_]\w*)", source)) | set(re.findall(r"([A-Za-z_]\w*)\s*[:,;=}]", source))
    # JavaScript itself asks these of a program's own values: how to write them as JSON, and whether they are thenable.
    return sorted(names - {"toJSON", "then"})


TAMPERINGS = {
    "every function it can reach": program("walk") + program("replace_functions"),
    "every parent": program("walk") + program("replace_parents"),
    "all by deleting it": program("walk") + program("delete_all"),
    "every field it could inherit": f"const fields = {fields_of_the_runtime()};" + program("inherit_fields"),
}


async def outcome_of(executor: Executor, tampering: str, ending: str, *, tampers: bool) -> dict[str, Any]:
    # Both programs have the same text but for one digit, so that the places in their stacks are the same.
    tamper = f"if ({int(tampers)}) {{ {TAMPERINGS[tampering]} }}"
    prepare = program("prepare") + program("prepare_globals")
    use = program("use") + program("use_globals")
    code = f"async () => {{ {prepare} {tamper} {use} {ENDINGS[ending]} }}"
    run = await executor.execute(code, STORE, dispatch=answer_one, limits=LIMITS)
    return {"result": run.result, "failure": run.failure, "logs": run.logs}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("tampering", TAMPERINGS)
async def test_no_hook_is_asked_and_nothing_changes(executor: Executor, tampering: str, ending: str) -> None:
    untouched = await outcome_of(executor, tampering, ending, tampers=False)
    assert untouched["logs"][-1] == "heard of globals [Object: null prototype] { count: 0 }"
    if ending == "returns":
        assert (untouched["result"]["thrown"], untouched["result"]["fired"]) == (0, 3)
        assert "an error" not in [value for value in untouched["result"].values() if isinstance(value, str)]
    assert await outcome_of(executor, tampering, ending, tampers=True) == untouched


@pytest.mark.parametrize("tampering", [name for name in TAMPERINGS if "deleting" not in name])
async def test_the_hooks_are_there(executor: Executor, tampering: str) -> None:
    """Otherwise the test above shows nothing."""
    uses = "try { [1].map(String) } catch {} try { ({}).settled } catch {} try { Map.absent } catch {}"
    code = f"async () => {{ {program('prepare')} {TAMPERINGS[tampering]} {uses} return heard.count }}"
    run = await executor.execute(code, STORE, dispatch=answer_one, limits=LIMITS)
    assert run.result == 1, run.failure


async def test_all_is_deleted(executor: Executor) -> None:
    deletes = program("prepare") + TAMPERINGS["all by deleting it"]
    code = f"async () => {{ {deletes} return [typeof URL, typeof [].map] }}"
    run = await executor.execute(code, STORE, dispatch=answer_one, limits=LIMITS)
    assert run.result == ["undefined", "undefined"], run.failure
