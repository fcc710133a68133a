"""Handles of a program that replaces or deletes all it can reach: they work as before, and no hook is asked."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tooltoolexec import Executor, HandleError, HandleReleased, Limits

from .attacks import STORE, answer_one, program
from .test_tampering import LIMITS, TAMPERINGS

pytestmark = pytest.mark.anyio

FUNCTIONS = """
  const retain = __retainHandle;
  const early = retain((x) => x);
"""
RESULT = """
  return {
    __proto__: null,
    early,
    late: retain(async (a, b) => { await undefined; return { __proto__: null, a, b, count: 2 }; }),
    own: retain(() => new P((go) => later(go, 1, values))),
    fails: retain(() => { throw failure }),
    never: retain(() => bad),
    tool: retain(() => tool(1)),
    heard: retain(() => heard),
  };
"""


@pytest.mark.parametrize("tampering", TAMPERINGS)
async def test_no_hook_is_asked_and_they_work_as_ever(executor: Executor, tampering: str) -> None:
    code = f"async () => {{ {program('prepare')} {FUNCTIONS} {TAMPERINGS[tampering]} {RESULT} }}"
    run = await executor.execute(code, STORE, dispatch=answer_one, limits=LIMITS, retain_handles=True)
    assert run.failure is None, run.failure
    assert run.retained is not None
    async with run.retained:
        call = run.result
        assert await call["early"]({"a": [b"\1\2", None]}) == {"a": [b"\1\2", None]}
        assert await call["late"]("x", [1]) == {"a": "x", "b": [1], "count": 2}
        values = {"list": [1, [2, {"three": 3}]], "set": [4], "map": [["five", 5]], "bytes": b"\1\2\3"}
        assert await call["own"]() == {**values, "map": {"five": 5}}
        for name, message in (("fails", "end"), ("never", "Converting"), ("tool", "Execution has already completed.")):
            with pytest.raises(HandleError) as raised:
                await call[name]()
            assert str(raised.value).startswith(message), name
        assert await call["heard"]() == {"count": 0}


@pytest.mark.parametrize(
    "token", ["{ __executor_handle_v1__: '__proto__' }", "{ __executor_handle_v1__: '99' }", "{ ...real, more: 1 }"]
)
async def test_a_made_up_token_leads_to_no_function(executor: Executor, token: str) -> None:
    code = f"async () => {{ const real = __retainHandle(() => 1); return [real, {token}] }}"
    run = await executor.execute(code, retain_handles=True)
    assert run.retained is not None
    async with run.retained:
        real, made_up = run.result
        if isinstance(made_up, dict):
            assert made_up["more"] == 1
        else:
            with pytest.raises(HandleError, match=r"^The run has no retained function "):
                await made_up()
        assert await real() == 1


@pytest.mark.parametrize(
    "function",
    [
        "() => { for (;;); }",
        "async () => { for (;;) await undefined; }",
        "() => { setInterval(() => { for (;;); }, 0) }",
        "() => { (function again() { queueMicrotask(again) })() }",
        "() => ({ get then() { for (;;); } })",
        "() => ({ toJSON() { for (;;); } })",
        "() => { throw { get name() { for (;;); }, toJSON() { for (;;); } } }",
        "() => { console.log('x'.repeat(1e6)); for (;;) console.log('y') }",
        "() => { const all = []; for (;;) all.push(new Array(1e4).fill(all.length)) }",
    ],
)
async def test_a_function_that_never_ends_costs_its_own_isolate_only(executor: Executor, function: str) -> None:
    limits = Limits(wall_s=0.3, memory_mb=32)
    run = await executor.execute(f"async () => __retainHandle({function})", retain_handles=True, limits=limits)
    assert run.retained is not None
    with suppress(HandleReleased):
        while True:
            await run.result()
    assert run.retained.closed
    assert (await executor.execute("async () => 1")).result == 1
