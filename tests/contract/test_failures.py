# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""How a run fails: section 10."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tooltoolexec import Executor, Limits
from tooltoolexec_protocol import texts

from .hosts import STORE, answering, identity, kind_of, raw, run, value_of

pytestmark = pytest.mark.anyio

THROWN = {
    "text": ("'str'", "str"),
    "an_empty_text": ("''", ""),
    "text_with_nul_and_lone_surrogate": ("'a\\0b\\ud800'", "a\0b\ud800"),
    "a_number": ("7", "7"),
    "minus_zero": ("-0", "-0"),
    "a_bigint": ("7n", "7n"),
    "undefined": ("undefined", "undefined"),
    "null": ("null", "null"),
    "a_symbol": ("Symbol('s')", "Symbol(s)"),
    "a_function": ("function f() {}", "[Function: f]"),
    "an_object": ("{ code: 401 }", '{"code":401}'),
    "an_array": ("[1, 'a']", '[1,"a"]'),
    "a_map": ("new Map([['a', 1]])", '{"a":1}'),
    "an_error": ("new Error('boom')", "boom"),
    "an_error_with_an_empty_message": ("new TypeError('')", "TypeError"),
    "an_error_with_an_empty_message_and_a_name": ("Object.assign(new Error(), { name: 'Mine' })", "Mine"),
    "an_error_with_nul": ("new Error('a\\0b\\ud800')", "a\0b\ud800"),
    "a_subclass": ("new (class Mine extends Error {})('sub')", "sub"),
    "a_cycle": ("(() => { const o = {}; o.o = o; return o })()", texts.UNSHOWABLE),
    "a_throwing_proxy": ("new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })", texts.UNSHOWABLE),
    "an_object_with_a_throwing_toJSON": ("{ toJSON() { throw 1 } }", texts.UNSHOWABLE),
    "an_error_with_a_throwing_message": ("Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })", texts.UNSHOWABLE),
}  # fmt: skip


@pytest.mark.parametrize("how", ["throw", "reject"])
@pytest.mark.parametrize(("expression", "message"), [pytest.param(*pair, id=name) for name, pair in THROWN.items()])
async def test_a_thrown_value_reads_as(expression: str, message: str, how: str, executor: Executor) -> None:
    end = f"throw ({expression})" if how == "throw" else f"return Promise.reject({expression})"
    outcome = await run(executor, f"async () => {{ console.log('before'); {end} }}")
    assert (kind_of(outcome), outcome.error) == ("program", message)
    assert outcome.failure is not None
    assert outcome.failure.message == message
    assert outcome.logs == ["before"]
    assert outcome.result is None


async def test_an_error_tells_its_name_line_column_and_stack(executor: Executor) -> None:
    code = (
        "async () => {\n  const one = 1;\n  function inner() {\n    throw new RangeError('deep');\n  }\n  inner();\n}"
    )
    outcome = await run(executor, code)
    assert outcome.failure is not None
    failure = outcome.failure
    assert (failure.name, failure.line, failure.column) == ("RangeError", 4, 11)
    assert failure.stack == "RangeError: deep\n    at inner (program.js:4:11)\n    at program.js:6:3"


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("async () => { throw new Error('x') }", 1, 21),
        ("async () => { missing }", 1, 15),
        ("\n\nasync () => {\r\n  null.x\r\n}", 4, 8),
        ("async () => {\n  await store.f();\n}", 2, 3),
        ("(() => {\n  throw new Error('x')\n})()", 2, 9),
        ("missing", 1, 1),
        ("/* \u00e9\U0001f600 */ missing", 1, 11),
    ],
)
async def test_lines_and_columns_are_those_of_the_callers_text(
    code: str, line: int, column: int, executor: Executor
) -> None:
    outcome = await run(executor, code, raw('{"error":"no"}'))
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.line, outcome.failure.column) == ("program", line, column)


@pytest.mark.parametrize(
    ("code", "message", "line", "column"),
    [
        ("async () => { const = 1 }", "Unexpected token '='", 1, 21),
        ("async () => {\n  let a = ;\n}", "Unexpected token ';'", 2, 11),
        ("async () => {\n  return 'a\n}", "Invalid or unexpected token", 2, 10),
        ("async () => {", "Unexpected end of input", 1, 14),
        ("async () => { with (a) {} }", "Strict mode code may not include a with statement", 1, 15),
        ("async () => {\n\n  \u00e9 = ; }", "Unexpected token ';'", 3, 7),
    ],
)
async def test_a_syntax_failure_tells_the_place(
    code: str, message: str, line: int | None, column: int | None, executor: Executor
) -> None:
    outcome = await run(executor, code)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.name, outcome.error) == ("syntax", "SyntaxError", message)
    if line is not None:
        assert (outcome.failure.line, outcome.failure.column) == (line, column)


async def test_a_syntax_error_the_program_makes_itself_is_its_own(executor: Executor) -> None:
    outcome = await run(executor, "async () => JSON.parse('{')")
    assert kind_of(outcome) == "program"
    assert outcome.failure is not None
    assert outcome.failure.name == "SyntaxError"
    outcome = await run(executor, "async () => {\n eval('const = 1') }")
    assert kind_of(outcome) == "program"


@pytest.mark.parametrize("code", ["1 /* ", "})(", "1)", "(1", "`"])
async def test_a_program_cannot_close_the_runtimes_own_wrapping(code: str, executor: Executor) -> None:
    assert kind_of(await run(executor, code)) == "syntax"


@pytest.mark.parametrize(("code", "result"), [("async () => 1 // end", 1), ("async () => 1 /* end */\n", 1), ("({ a: 1 })", {"a": 1}), ("1 + 1", 2), ("(() => 5)()", 5), ("() => 3", 3), ("async function named() { return 4 }", 4), ("function () { return 6 }", 6), ("Promise.resolve(7)", 7)])  # fmt: skip
async def test_an_expression_and_a_function_expression_run(code: str, result: Any, executor: Executor) -> None:
    assert await value_of(executor, code) == result


# Time.


async def test_a_timeout_while_computing_says_so(executor: Executor) -> None:
    outcome = await run(executor, "async () => { console.log('first'); for (;;); }", limits=Limits(wall_s=0.05))
    assert (kind_of(outcome), outcome.error) == ("timeout", "Execution timed out after 50 ms.")
    assert outcome.failure is not None
    assert outcome.failure.detail == {"state": "computing"}
    assert outcome.logs == ["first"]


async def test_a_timeout_while_waiting_names_the_calls(executor: Executor) -> None:
    never = anyio.Event()
    code = "async () => { store.a(); await __dispatch('other', 'b', '[]'); }"
    outcome = await run(executor, code, answering(lambda *_: never.wait()), limits=Limits(wall_s=0.05))
    never.set()
    assert (kind_of(outcome), outcome.error) == ("timeout", "Execution timed out after 50 ms.")
    assert outcome.failure is not None
    assert outcome.failure.detail == {
        "state": "waiting",
        "calls": [{"provider": "store", "tool": "a"}, {"provider": "other", "tool": "b"}],
    }


async def test_a_timeout_while_waiting_for_a_timer_names_no_call(executor: Executor) -> None:
    outcome = await run(executor, "async () => new Promise(r => setTimeout(r, 1e6))", limits=Limits(wall_s=0.05))
    assert kind_of(outcome) == "timeout"
    assert outcome.failure is not None
    assert outcome.failure.detail == {"state": "waiting", "calls": []}


LOOPS = {
    "busy": "for (;;);",
    "microtasks": "(function f() { Promise.resolve().then(f) })(); await new Promise(() => {});",
    "await": "while (true) await 0;",
    "queueMicrotask": "(function f() { queueMicrotask(f) })(); await new Promise(() => {});",
    "timers": "(function f() { setTimeout(f, 0) })(); await new Promise(() => {});",
    "catching": "for (;;) { try { for (;;); } catch {} }",
    "a_getter_of_the_result": "return { get x() { for (;;); } };",
    "a_thenable_result": "return { then() { for (;;); } };",
}


@pytest.mark.parametrize("loop", LOOPS)
async def test_no_loop_outlives_the_wall_limit_or_loses_its_log(loop: str, executor: Executor) -> None:
    outcome = await run(executor, f"async () => {{ console.log('first'); {LOOPS[loop]} }}", limits=Limits(wall_s=0.1))
    assert (kind_of(outcome), outcome.logs) == ("timeout", ["first"])
    assert outcome.stats.wall_s < 1


async def test_a_late_answer_to_a_run_that_timed_out_harms_nothing(executor: Executor) -> None:
    go_on, ended = anyio.Event(), anyio.Event()

    async def tool() -> int:
        await go_on.wait()
        ended.set()
        return 1

    outcome = await run(executor, "async () => store.f()", answering(tool), limits=Limits(wall_s=0.05))
    assert kind_of(outcome) == "timeout"
    go_on.set()
    with anyio.fail_after(5):
        await ended.wait()
    assert await value_of(executor, "async () => 1") == 1


async def test_the_cpu_limit_ends_a_busy_program(executor: Executor) -> None:
    outcome = await run(executor, "async () => { console.log('first'); for (;;); }", limits=Limits(cpu_s=0.05))
    assert (kind_of(outcome), outcome.error) == ("cpu", "Execution used more than 50 ms of CPU time.")
    assert outcome.logs == ["first"]


async def test_the_cpu_clock_stops_while_the_program_waits(executor: Executor) -> None:
    code = "async () => { for (let i = 0; i < 5; i++) await store.f(); return 1 }"
    outcome = await run(executor, code, answering(lambda: anyio.sleep(0.05)), limits=Limits(cpu_s=0.15))
    assert (kind_of(outcome), outcome.result) == ("result", 1)
    assert outcome.stats.wall_s > 0.2
    assert outcome.stats.cpu_s < 0.15


# Memory.

GROWTHS = {
    "the_heap": "const a = []; for (;;) a.push({ x: 1 });",
    "array_buffers": "const a = []; for (;;) a.push(new Uint8Array(4 << 20).fill(1));",
    "text": "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(1e6) + i);",
    "a_microtask": "const a = []; await (function f() { for (let i = 0; i < 1e4; i++) a.push({ x: 1 }); return Promise.resolve().then(f) })();",
    "a_detached_microtask": "const a = []; (function f() { for (let i = 0; i < 1e4; i++) a.push({ x: 1 }); Promise.resolve().then(f) })(); await new Promise(() => {});",
    "concatenation": "let a = [1, 2, 3]; for (let i = 0; i < 30; i++) a = a.concat(a);",
    "a_timer": "const a = []; setTimeout(() => { for (;;) a.push({ x: 1 }) }, 1); await new Promise(() => {});",
}


@pytest.mark.parametrize("growth", GROWTHS)
async def test_growth_ends_as_memory(growth: str, executor: Executor) -> None:
    outcome = await run(
        executor, f"async () => {{ console.log('first'); {GROWTHS[growth]} }}", limits=Limits(memory_mb=32)
    )
    assert (kind_of(outcome), outcome.error) == ("memory", "Execution ran out of memory (limit 32 MiB).")
    assert outcome.logs == ["first"]
    assert await value_of(executor, "async () => 1") == 1


# Stalled.


@pytest.mark.parametrize("code", ["async () => await new Promise(() => {})", "new Promise(() => {})", "async () => { await store.f(); await new Promise(() => {}) }", "async () => { const t = setTimeout(() => {}, 1e6); clearTimeout(t); await new Promise(() => {}) }", "async () => { setTimeout(() => {}, 5); await new Promise(() => {}) }"])  # fmt: skip
async def test_a_program_that_waits_for_nothing_is_stalled(code: str, executor: Executor) -> None:
    outcome = await run(executor, code, identity())
    assert (kind_of(outcome), outcome.error) == ("stalled", texts.STALLED)


async def test_a_program_with_a_call_under_way_is_not_stalled(executor: Executor) -> None:
    code = "async () => { let go; const p = new Promise(r => go = r); store.f(5).then(go); return await p }"
    assert await value_of(executor, code, identity()) == 5


# Limit.


async def test_a_limit_over_the_maximum_names_it(executor: Executor) -> None:
    outcome = await run(executor, "async () => 1", limits=Limits(memory_mb=300))
    assert (kind_of(outcome), outcome.error) == ("limit", "The limit memory_mb of 300 is over this executor's maximum of 256.")  # fmt: skip
    outcome = await run(executor, "async () => 1", limits=Limits(wall_s=float("inf")))
    assert (kind_of(outcome), outcome.error) == ("limit", "The limit wall_s of none is over this executor's maximum of 600.")  # fmt: skip


# What a program may read.

READERS = {
    "a_failed_tool": "try { await store.f() } catch (e) { return e.stack }",
    "a_tool_refused_at_the_call_site": "try { await store.f(1n) } catch (e) { return e.stack }",
    "an_own_error": "return new Error('x').stack",
    "an_error_in_a_timer": "return await new Promise(r => setTimeout(() => r(new Error('x').stack), 1))",
    "an_error_in_a_toJSON": "try { await store.f({ toJSON() { throw new Error('x') } }) } catch (e) { return e.stack }",
    "an_error_thrown_by_a_builtin": "try { [].reduce(() => 1) } catch (e) { return e.stack }",
    "a_stack_overflow": "const f = () => f() + 1; try { f() } catch (e) { return e.stack }",
    "a_codec_error": "try { __parseForDispatch('{') } catch (e) { return e.stack }",
    "captured": "const o = {}; Error.captureStackTrace(o); return o.stack",
}


@pytest.mark.parametrize("reader", READERS)
async def test_a_stack_shows_the_programs_own_frames_alone(reader: str, executor: Executor) -> None:
    stack = await value_of(executor, f"async () => {{ {READERS[reader]} }}", raw('{"error":"no"}'))
    frames = stack.split("\n    at ")[1:]
    assert all("program.js:" in frame for frame in frames), stack
    for secret in ("/", "<anonymous>", "runtime", "python", "Object.get", "sendCall"):
        assert secret not in "".join(frames), stack


async def test_a_raised_exception_brings_no_host_stack_or_path(executor: Executor) -> None:
    def tool() -> None:
        raise OSError(2, "gone", "/etc/secret")

    def masked() -> None:
        raise RuntimeError("secret")

    from tooltoolexec import Provider  # noqa: PLC0415

    code = "async () => { try { await store.masked() } catch (e) { return [e.message, e.stack, JSON.stringify(Object.getOwnPropertyNames(e))] } }"
    outcome = await executor.execute(code, [Provider("store", [masked, tool])])
    assert outcome.result[0] == "masked failed (internal error)"
    assert "secret" not in str(outcome.result)
    assert outcome.result[2] == '["stack","message"]'


async def test_the_structured_call_sites_reach_no_host_object(executor: Executor) -> None:
    code = (
        "async () => { let seen = []; Error.prepareStackTrace = (e, sites) => { seen = sites; return 'mine' }; "
        "try { await store.f(1n) } catch (e) { e.stack } "
        "return seen.map((s) => [typeof s.getThis(), typeof s.getFunction(), String(s.getFileName() ?? s.getEvalOrigin() ?? '')].join()) }"
    )
    outcome = await run(executor, code, identity())
    assert kind_of(outcome) == "result", outcome.failure
    for site in outcome.result:
        assert "/" not in site
        assert site.startswith("undefined,undefined")


@pytest.mark.parametrize("kind", ["program", "syntax", "timeout", "stalled", "unserializable"])
async def test_a_failure_has_one_outcome_and_the_next_run_is_fine(kind: str, executor: Executor) -> None:
    code = {
        "program": "async () => { throw 1 }",
        "syntax": "async (",
        "timeout": "async () => { for (;;); }",
        "stalled": "new Promise(() => {})",
        "unserializable": "async () => 1n",
    }[kind]
    outcome = await executor.execute(code, STORE, limits=Limits(wall_s=0.1))
    assert kind_of(outcome) == kind
    assert outcome.failure is not None
    assert (outcome.error, outcome.result) == (outcome.failure.message, None)
    assert await value_of(executor, "async () => 1") == 1


async def test_a_program_that_does_not_parse_made_no_calls(executor: Executor) -> None:
    for code in ("() => {{{", "syntax("):
        outcome = await run(executor, code)
        assert kind_of(outcome) == "syntax"
        assert (outcome.stats.calls, outcome.logs) == (0, [])
