"""Near the end of the stack every call may throw: what the runtime keeps for the program stays whole all the same."""

from __future__ import annotations

import pytest

from tooltoolexec import Executor, Limits

pytestmark = pytest.mark.anyio

# Calls `act` in as many frames as it says, from the deepest one upwards: first it always throws, then now and then.
UPWARDS = """
const upwards = (frames, act) => {
  let left = frames;
  const deep = () => {
    try { deep() } catch (error) {
      if (left-- <= 0) return;
      act();
      throw error;
    }
  };
  try { deep() } catch {}
};
"""


async def result_of(executor: Executor, body: str) -> object:
    run = await executor.execute(f"async () => {{ {UPWARDS} {body} }}", limits=Limits(memory_mb=256))
    assert run.error is None, run.error
    return run.result


async def test_timers_that_were_set_fire_once_and_cleared_ones_never(executor: Executor) -> None:
    body = """
    const due = new Set(), cut = new Set(), fired = [];
    let failed = 0;
    const set = () => {
      const id = setTimeout(() => fired.push(id), 20 + (due.size * 7919) % 13);
      due.add(id);
    };
    const clear = (id) => {
      due.delete(id);
      cut.add(id);
      clearTimeout(id);
      cut.delete(id); // Else it may have been cleared or not.
    };
    upwards(1500, () => {
      try {
        set();
        if (due.size % 3 === 0) clear([...due][due.size >> 1]);
      } catch { failed++ }
    });
    await new Promise((go) => setTimeout(go, 300));
    const once = new Set(fired);
    const missing = [...due].filter((id) => !once.has(id));
    const wrong = fired.filter((id) => !due.has(id) && !cut.has(id));
    return [failed > 0, due.size > 0, once.size === fired.length, missing, wrong];
    """
    assert await result_of(executor, body) == [True, True, True, [], []]


async def test_randomness_is_never_given_twice(executor: Executor) -> None:
    body = """
    const seen = [];
    let failed = 0;
    const take = () => {
      try { crypto.getRandomValues(new Uint8Array(1500)); seen.push(crypto.randomUUID()) } catch { failed++ }
    };
    upwards(1000, take);
    await new Promise((go) => setTimeout(go, 20));
    for (let i = 0; i < 300; i++) take();
    await new Promise((go) => setTimeout(go, 20));
    return [failed > 0, seen.length > 300, new Set(seen).size === seen.length];
    """
    assert await result_of(executor, body) == [True, True, True]


async def test_signals_listeners_and_copies_work_afterwards(executor: Executor) -> None:
    body = """
    const target = new EventTarget();
    let failed = 0, heard = 0;
    target.addEventListener('x', () => heard++);
    upwards(1000, () => {
      try {
        const controller = new AbortController();
        target.addEventListener('x', () => 1, { signal: AbortSignal.any([controller.signal]), once: true });
        structuredClone({ a: [new Map([[1, new Date()]])] });
        controller.abort();
      } catch { failed++ }
    });
    target.dispatchEvent(new Event('x'));
    const controller = new AbortController();
    controller.abort();
    return [failed > 0, heard, controller.signal.reason.name, structuredClone([1])];
    """
    assert await result_of(executor, body) == [True, 1, "AbortError", [1]]


async def test_a_copy_is_whole_or_none(executor: Executor) -> None:
    body = """
    const kinds = new Set();
    const kindOf = (copy) => Object.prototype.toString.call(copy);
    const values = [new Map(), new Date(0), new Set(), /x/, new ArrayBuffer(1)];
    for (let i = 0; i < values.length; i++) {
      upwards(500, () => {
        let copy;
        try { copy = structuredClone(values[i]) } catch (error) { kinds.add(error.name); return }
        later.push(() => kinds.add(kindOf(copy) === kindOf(values[i]) ? "whole" : "broken"));
      });
    }
    for (const look of later) look();
    return [...kinds].sort();
    """
    assert await result_of(executor, "const later = [];" + body) == ["RangeError", "whole"]
