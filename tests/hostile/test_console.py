"""Nothing that is logged runs the program's code, and whatever it is costs bounded time and gives bounded text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tooltoolexec import Executor, Limits

from .attacks import STORE, answer_one, program

pytestmark = pytest.mark.anyio

METHODS = {
    "log": "console.log(value)",
    "log twice": "console.log(value, [value])",
    **{f"%{letter}": f"console.log('%{letter} and %{letter}', value, [value])" for letter in "sdifjoOc"},
    "dir": "console.dir(value, { depth: null, showHidden: true })",
    "dir options": "console.dir({}, value)",
    "table": "console.table(value)",
    "table rows": "console.table([value, [value], { value }])",
    "table columns": "console.table([{ a: 1 }], value)",
    "trace": "console.trace(value)",
    "assert": "console.assert(false, value)",
    "count": "console.count(value); console.countReset(value)",
    "time": "console.time(value); console.timeLog(value, value); console.timeEnd(value)",
    "group": "console.group(value); console.groupEnd(value)",
    "warn and error": "console.warn(value); console.error(value)",
}


@pytest.mark.parametrize("method", METHODS)
async def test_no_method_asks_a_hook_of_a_value(executor: Executor, method: str) -> None:
    code = f"""async () => {{ {program("booby_traps")}
      for (const value of values) {{ {METHODS[method]} }}
      console.log("written");
      return {{ count: heard.count, first: heard[0] ?? null, values: values.length }};
    }}"""
    run = await executor.execute(code, STORE, dispatch=answer_one, limits=Limits(log_bytes=16 * 1024 * 1024))
    assert run.failure is None, run.failure
    assert run.result["count"] == 0, run.result
    assert run.logs[-1] == "written"
    if "options" not in method and "columns" not in method:
        assert len(run.logs) > run.result["values"] > 100
    assert not [line for line in run.logs if "cannot be shown" in line]


async def test_the_hooks_are_there(executor: Executor) -> None:
    """Otherwise the test above shows nothing: ordinary code meets one at each value."""
    code = f"""async () => {{ {program("booby_traps")}
      let deaf = 0;
      for (const value of values) {{
        const before = heard.count;
        try {{ `${{value}}`; JSON.stringify(value); }} catch {{}}
        if (heard.count === before) deaf++;
      }}
      return deaf / values.length;
    }}"""
    run = await executor.execute(code, STORE, dispatch=answer_one)
    assert run.failure is None, run.failure
    assert run.result < 0.2


@pytest.mark.parametrize("tampering", ["replace_functions", "inherit_settings"])
async def test_tampering_changes_no_line(executor: Executor, tampering: str) -> None:
    tamper = (program("walk") if tampering == "replace_functions" else "") + program(tampering)
    logs = []
    for tampers in (0, 1):
        use = f"if ({tampers}) {{ {tamper} }} show(); con.log('heard', heard.count)"
        code = f"async () => {{ {program('prepare')} {program('show')} {use} }}"
        run = await executor.execute(
            code, STORE, dispatch=answer_one, limits=Limits(log_bytes=16 * 1024 * 1024, memory_mb=256)
        )
        assert run.failure is None, run.failure
        logs.append(run.logs)
    assert logs[0][-1] == "heard 0"
    assert len(logs[0]) > 150
    assert logs[1] == logs[0]


HUGE: dict[str, str] = json.loads((Path(__file__).parent / "cases" / "huge_values.json").read_text("utf-8"))


@pytest.mark.parametrize("kind", HUGE)
async def test_a_huge_value_is_cut(executor: Executor, kind: str) -> None:
    code = f"""async () => {{
      const value = {HUGE[kind]};
      const isText = typeof value === "string";
      if (!isText) {{ console.log(value); console.dir(value, {{ depth: Infinity }}); console.table(value); }}
      console.log("%O %o %j", value, value, value);
      console.log("after");
    }}"""
    limits = Limits(cpu_s=20, wall_s=40, memory_mb=512, log_bytes=16 * 1024 * 1024)
    run = await executor.execute(code, STORE, dispatch=answer_one, limits=limits)
    assert run.failure is None, run.failure
    assert run.logs[-1] == "after"
    assert len(run.logs) == (2 if kind == "text" else 5)
    assert max(len(line) for line in run.logs) < 3_000_000


async def test_near_the_end_of_the_stack_a_line_is_whole_or_says_that_it_is_not(executor: Executor) -> None:
    """The call itself may find no room; it is then the program's own RangeError."""
    code = """async () => {
      const odd = [];
      const map = new Map([[1, { a: [/x/, new Date(0)] }]]);
      const value = { map, error: Object.assign(new Error("e"), { stack: "Error: e" }) };
      const sink = () => {
        let failure;
        try { sink() } catch (error) { failure = error; }
        try { console.log(value); console.table(map); console.log("%s", map); } catch (error) { failure = error; }
        if (failure !== undefined && !(failure instanceof RangeError)) odd.push(String(failure));
      };
      sink();
      console.log("after");
      return odd;
    }"""
    limits = Limits(log_bytes=16 * 1024 * 1024, cpu_s=60, wall_s=60)
    run = await executor.execute(code, STORE, dispatch=answer_one, limits=limits)
    assert run.failure is None, run.failure
    assert run.result == []
    assert run.logs.pop() == "after"
    whole = {*(await executor.execute(WHOLE)).logs}
    assert len(whole) == 3
    seen = set(run.logs)
    assert whole <= seen
    assert [line for line in seen - whole if "that cannot be shown]" not in line] == []


WHOLE = """() => {
  const map = new Map([[1, { a: [/x/, new Date(0)] }]]);
  console.log({ map, error: Object.assign(new Error("e"), { stack: "Error: e" }) });
  console.table(map);
  console.log("%s", map);
}"""
