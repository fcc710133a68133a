"""What the console writes, in literals: levels and their marks, groups, counts, times, traces, and the bounds."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest

from tooltoolexec import Limits, execute, local


def logs(body: str, **options: Any) -> list[str]:
    run = execute(f"async () => {{ {body} }}", **options)
    assert run.failure is None, run.failure
    return run.logs


def test_levels_have_their_marks() -> None:
    body = "for (const level of ['log', 'info', 'debug', 'warn', 'error', 'dir', 'table']) console[level]('x');"
    assert logs(body) == ["x", "x", "x", "[warn] x", "[error] x", "'x'", "x"]


def test_a_failed_assertion_is_an_error_and_a_held_one_says_nothing() -> None:
    body = """
      console.assert(true, "a"); console.assert(false); console.assert(0, "is %d", 5);
      console.assert("", { a: 1 }, 2); console.assert();"""
    assert logs(body) == [
        "[error] Assertion failed",
        "[error] Assertion failed: is 5",
        "[error] Assertion failed: { a: 1 } 2",
        "[error] Assertion failed",
    ]


def test_a_trace_names_the_programs_frames_alone() -> None:
    body = """
      function outer() { inner() }
      function inner() { console.trace("at %s", "work", { a: 1 }) }
      outer(); console.trace();"""
    frames = ["inner (program.js:3:34)", "outer (program.js:2:26)", "program.js:4:7"]
    assert logs(body) == [
        "\n    at ".join(["[warn] Trace: at work { a: 1 }", *frames]),
        "[warn] Trace\n    at program.js:4:24",
    ]


def test_a_trace_without_a_stack_is_its_message() -> None:
    body = "Error.stackTraceLimit = 0; console.trace('here'); delete Error.stackTraceLimit; console.trace('there');"
    assert logs(body) == ["[warn] Trace: here", "[warn] Trace: there"]


def test_groups_indent_every_line_and_end_where_they_must() -> None:
    body = """
      console.groupEnd(); console.group("a", 1); console.warn("b\\nc"); console.groupCollapsed(); console.log("d");
      console.groupEnd(); console.groupEnd(); console.log("e");"""
    assert logs(body) == ["a 1", "[warn]   b\n  c", "    d", "e"]


def test_groups_without_end_indent_no_further() -> None:
    assert logs("for (let i = 0; i < 1e4; i++) console.group(); console.log('x');") == [" " * 100 + "x"]


def test_counts_are_kept_by_label() -> None:
    body = """
      console.count(); console.count("x"); console.count(undefined); console.countReset(); console.count();
      console.countReset("y"); console.count({ a: 1 });"""
    assert logs(body) == [
        "default: 1",
        "x: 1",
        "default: 2",
        "default: 1",
        "[warn] Count for 'y' does not exist",
        "{ a: 1 }: 1",
    ]


def test_times_are_kept_by_label() -> None:
    body = """
      console.time(); console.timeLog(); console.time("x"); console.timeLog("x", { a: 1 }, "more");
      console.time("x"); console.timeEnd("x"); console.timeEnd("x"); console.timeLog("y"); console.timeEnd();"""
    shapes = [
        r"default: \d+(\.\d+)?ms",
        r"x: \d+(\.\d+)?ms \{ a: 1 \} more",
        r"\[warn\] Label 'x' already exists for console\.time\(\)",
        r"x: \d+(\.\d+)?ms",
        r"\[warn\] No such label 'x' for console\.timeEnd\(\)",
        r"\[warn\] No such label 'y' for console\.timeLog\(\)",
        r"default: \d+(\.\d+)?ms",
    ]
    written = logs(body)
    assert len(written) == len(shapes)
    for line, shape in zip(written, shapes, strict=True):
        assert re.fullmatch(shape, line), line


def test_values_are_shown_as_programs_know_them() -> None:
    body = """
      console.log({ a: 1 }, [1, 2], new Map([[1, 2]]), new Set(["a"]), "text", ["text"], -0, 1n);
      const cycle = { name: "c" }; cycle.self = cycle; console.log(cycle);
      console.log({ a: { b: { c: { d: 1 } } } });
      console.log(Object.create(null), class A {}, new (class Foo { a = 1 })(), () => 1);"""
    assert logs(body) == [
        "{ a: 1 } [ 1, 2 ] Map(1) { 1 => 2 } Set(1) { 'a' } text [ 'text' ] -0 1n",
        "<ref *1> { name: 'c', self: [Circular *1] }",
        "{ a: { b: { c: [Object] } } }",
        "[Object: null prototype] {} [class A] Foo { a: 1 } [Function (anonymous)]",
    ]


def test_errors_are_shown_with_the_programs_frames_their_fields_and_their_causes() -> None:
    body = """
      const inner = new TypeError("inner");
      console.log(Object.assign(new Error("outer", { cause: inner }), { code: "E_X" }));
      console.log([new AggregateError([inner], "all")]);"""
    outer, aggregate = logs(body)
    assert outer.splitlines() == [
        "Error: outer",
        "    at program.js:3:33 {",
        "  code: 'E_X',",
        "  [cause]: TypeError: inner",
        "      at program.js:2:21",
        "}",
    ]
    assert aggregate.splitlines() == [
        "[",
        "  AggregateError: all",
        "      at program.js:4:20 {",
        "    [errors]: [",
        "      TypeError: inner",
        "          at program.js:2:21",
        "    ]",
        "  }",
        "]",
    ]


def test_web_classes_show_what_their_accessors_say() -> None:
    body = """
      console.log(new URLSearchParams("a=1&a=2"), new Headers({ b: "1" }), AbortSignal.abort(), new EventTarget());
      console.log(new URL("http://h/p?q#f"));
      console.log(new DOMException("m", "AbortError"), Object.create(URL.prototype));
      console.log(new (class Mine extends URLSearchParams { x = 1 })("a"));"""
    plain, url, odd, own = logs(body)
    assert (
        plain
        == "URLSearchParams { 'a' => '1', 'a' => '2' } Headers { b: '1' } AbortSignal { aborted: true } EventTarget {}"
    )
    assert url.splitlines() == [
        "URL {",
        "  href: 'http://h/p?q#f',",
        "  origin: 'http://h',",
        "  protocol: 'http:',",
        "  username: '',",
        "  password: '',",
        "  host: 'h',",
        "  hostname: 'h',",
        "  port: '',",
        "  pathname: '/p',",
        "  search: '?q',",
        "  searchParams: URLSearchParams { 'q' => '' },",
        "  hash: '#f'",
        "}",
    ]
    assert odd == "DOMException [AbortError]: m\n    at program.js:4:19 URL {}"
    assert own == "Mine { 'a' => '', x: 1 }"


def test_looking_at_a_provider_calls_no_tool() -> None:
    code = """async () => {
      console.log(store, [store], "%s %j", store, store);
      console.table(store);
      console.dir(store, { showHidden: true });
      console.log({ f: store.f });
    }"""
    run = execute(code, [{"name": "store", "tools": ["f"]}], dispatch=lambda *_call: '{"result":1}')
    assert run.stats.calls == 0
    assert run.logs[:3] == ["[Proxy] [ [Proxy] ] %s %j [Proxy] [Proxy]", "[Proxy]", "[Proxy]"]
    assert "Function" in run.logs[3]


def test_iterators_are_not_used_up() -> None:
    body = """
      const items = [1, 2].values(), pairs = new Map([[1, 2]]).entries(), made = (function* () { yield 5 })();
      console.log(items, pairs, made, "%o", items);
      console.table(pairs);
      console.log([...items], [...pairs], [...made]);"""
    assert logs(body)[-1] == "[ 1, 2 ] [ [ 1, 2 ] ] [ 5 ]"


def test_the_console_looks_like_one() -> None:
    body = """
      console.log(Object.prototype.toString.call(console), typeof console.log.prototype, console.log.name);
      console.info(console.log());"""
    assert logs(body) == ["[object console] undefined log", "", "undefined"]


def test_lines_past_the_bound_are_counted_and_the_first_too_long_one_ends_all() -> None:
    run = execute(
        "async () => { console.log('1234'); console.log('123456'); console.log('x'); }", limits=Limits(log_bytes=9)
    )
    assert run.logs == ["1234", "2 more log lines were dropped: the run logs at most 9 bytes."]


@pytest.mark.anyio
async def test_a_line_leaves_while_the_program_is_busy() -> None:
    """The program never rests after its line, and only this test's having seen the line ends it."""
    seen = anyio.Event()

    def on_log(_level: str, text: str) -> None:
        if text == "here { a: 1 }":
            seen.set()

    code = "async () => { console.log('here', { a: 1 }); for (;;); }"
    limits = Limits(wall_s=60, cpu_s=60)
    async with local() as executor, anyio.create_task_group() as group:

        async def run_busily() -> None:
            await executor.execute(code, on_log=on_log, limits=limits)
            pytest.fail("the program ended, and it cannot")

        group.start_soon(run_busily)
        with anyio.fail_after(30):
            await seen.wait()
        group.cancel_scope.cancel()
