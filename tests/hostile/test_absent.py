"""Shared memory, machine code and weak observation of the collector are absent, however a program looks for them."""

from __future__ import annotations

import pytest

from tooltoolexec import Executor

from .attacks import STORE, answer_one, program

pytestmark = pytest.mark.anyio

ABSENT = ["WebAssembly", "SharedArrayBuffer", "Atomics", "FinalizationRegistry", "WeakRef", "ShadowRealm"]
THERE = ["Uint8Array", "Segmenter", "WeakMap", "Promise", "PlainDate"]

LOOKS = {
    "by name": "(name) => eval('typeof ' + name)",
    "by indirect eval": "(name) => (0, eval)('typeof ' + name)",
    "by a function's source": "(name) => new Function('return typeof ' + name)()",
    "by a tool's constructor": "(name) => store.f.constructor('return typeof ' + name)()",
    "by a generator's source": "(name) => (function* () {}).constructor('yield typeof ' + name)().next().value",
    "on the sloppy global": "(name) => typeof Function('return this')()[name]",
    "on the global's prototype": "(name) => typeof Object.getPrototypeOf(globalThis)[name] + typeof globalThis[name]",
    "in a timer": "(name) => new Promise((go) => setTimeout(() => go(typeof globalThis[name]), 0))",
}


@pytest.mark.parametrize("look", LOOKS)
async def test_a_name_leads_nowhere(executor: Executor, look: str) -> None:
    code = f"""async () => {{
      const look = {LOOKS[look]}, found = [];
      for (const name of {[*ABSENT, "Map"]}) if (/function|object/.test(await look(name))) found.push(name);
      return found;
    }}"""
    run = await executor.execute(code, STORE, dispatch=answer_one)
    assert run.result == ["Map"], run.failure


async def test_a_walk_over_all_there_is_meets_none_of_it(executor: Executor) -> None:
    code = f"async () => {{ {program('walk')} const wanted = {ABSENT + THERE}; {program('find_absent')} }}"
    run = await executor.execute(code, STORE, dispatch=answer_one)
    assert run.result == THERE, run.failure
