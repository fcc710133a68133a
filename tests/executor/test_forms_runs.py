"""Programs of every form through a whole run: their values, the places of their failures, and what cannot go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tooltoolexec import Limits, Provider
from tooltoolexec.sync import BlockingExecutor, local
from tooltoolexec_executor.worker import forms
from tooltoolexec_executor.worker.forms import fences, types
from tooltoolexec_protocol import texts

HERE = "null.x"
"""Throws where its `x` stands."""


@pytest.fixture(scope="module")
def executor() -> Iterator[BlockingExecutor]:
    with local(maxima=Limits(wall_s=20, cpu_s=20)) as opened:
        yield opened


def dispatch(_provider: str, tool: str, _args: str) -> str:
    return f'{{"result":"{tool}"}}'


@pytest.mark.parametrize("blanks", [0, 20_000])
@pytest.mark.parametrize("code", ["```js\nasync () => 7\n```", "async () => { const f = (x) => x; return f<any>(7) }"])
def test_v8_does_not_misread_a_program_however_long_it_is(executor: BlockingExecutor, code: str, blanks: int) -> None:
    assert executor.execute(code + "\n" + " " * blanks, []).result == 7


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("const a = 1;\nasync () => a + 1", 2),
        ("const main = async () => 4;\nmain", 4),
        ("async () => helper();\nfunction helper() { return 1 }", 1),
        ("main();\nasync function main() { return 3 }", 3),
        ("if (true) return 1;\n2", 1),
        ("return await store.a()", "a"),
        ("const a = store.a();\na", "a"),
        ("const [a, b] = await Promise.all([store.a(), store.b()]);\n({ a, b })", {"a": "a", "b": "b"}),
        ("for await (const x of [1, 2]) {}\n3", 3),
        ("let i = 1\ni++\n++i", 3),
        ("{ a: 1 };", {"a": 1}),
        ("const x = 1;\n{ a: x, b: 2 }", {"a": 1, "b": 2}),
        ("const x = 1;\n{ x; }", None),
        ("if (1) { 5 }", None),
        ("label: 5", None),
        ("class A { b = 1 }\nnew A()", {"b": 1}),
        ("using a = null;\n7", 7),
        ("return 5\n```", 5),
        ("async () => {\n  return 7;\n}\n```", 7),
        ("Use the ` key:\n```js\nconst a = 1;\na + 41\n```", 42),
        ("this === undefined", True),
        ("const a = this;\na === undefined", True),
        ("async () => this === undefined", True),
        ("export default this === undefined", True),
        ("function* f() { yield 1 }\n[...f()]", [1]),
        ("export default { a: 1 }", {"a": 1}),
        ("export default async () => late;\nconst late = 7;", 7),
        ("const a = 2\nexport default a", 2),
        ("export interface A { b: 1 }\nexport default (): A => ({ b: 1 })", {"b": 1}),
        ("import type { A } from 'b';\nlet a: A = 1;\na", 1),
        ("const f = <T,>(x: T): T => x;\nf<{ a: number }>({ a: 1 }).a", 1),
        ("const a = 1, b = 2, c = 0;\n[a < b > (c)]", [True]),
        ("const a = [[2]] as any\n[a[0][0]].map((x) => x)", [2]),
        ("'use strict';\n(function () { return this === undefined })()", True),
    ],
)
def test_the_program_has_the_value_its_author_meant(executor: BlockingExecutor, code: str, value: Any) -> None:
    run = executor.execute(code, [Provider("store")], dispatch=dispatch)
    assert (run.failure, run.result) == (None, value)


@pytest.mark.parametrize(
    "code",
    [
        f"const a = 1; {HERE}",
        f"const a = 1;\n{HERE}",
        f"const a = 1; /* \U0001f600\u00e9 */ const b = () => {HERE}; b()",
        f"const a = 1;\n\n  const b = () => {HERE};\n  b()",
        f"const b = () => 1; b(); function c() {{}} (() => {{ {HERE} }})()",
        f"const b = 1;\nb + (() => {{ {HERE} }})()",
        f"async () => {{\n  {HERE} }};",
        f"function main() {{ {HERE} }}",
        f"export default () => {HERE}",
        f"export default function () {{ {HERE} }}",
        f"let a: '\U0001f600\u00e9' | {{\n b: 1 }} = 1; {HERE}",
        f"const a = (x?: string): Promise<\n  '\u00e9'> => {HERE};\na()",
        f"#!/bin/node\nconst a = 1; {HERE}",
        f"See:\n\n```js\r\nconst a = 1; {HERE}\r\n```\r\n",
    ],
)
def test_a_failure_has_the_line_and_column_of_the_callers_text(executor: BlockingExecutor, code: str) -> None:
    before = code[: code.index(HERE) + len(HERE) - 1]
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2].encode("utf-16-le")) // 2 + 1
    failure = executor.execute(code).failure
    assert failure is not None
    assert (failure.message, failure.line, failure.column) == (
        "Cannot read properties of null (reading 'x')",
        line,
        column,
    )
    assert failure.stack is not None
    lines = code.count("\n") + 1
    frames = [
        int(frame.partition("program.js:")[2].partition(":")[0]) for frame in failure.stack.split("\n    at ")[1:]
    ]
    assert frames[0] == line
    assert max(frames) <= lines
    assert "__" not in failure.stack


@pytest.mark.parametrize(
    ("code", "message", "line", "column"),
    [
        ("const a = 1;\nconst = oops {{{", "Unexpected token '='", 2, 7),
        ("const a = 1; const b = ;", "Unexpected token ';'", 1, 24),
        ("const a = 1; b c", "Unexpected identifier 'c'", 1, 16),
        ("async () => {\n  const a: number = 1;\n  const b = a +;\n}", "Unexpected token ';'", 3, 16),
        ("const a = 1;\n}", forms.STRAY_BRACE, 2, 1),
        ("<div>", types.NO_TAG, 1, 1),
        ("<Foo bar={1}>", types.NO_TAG, 1, 1),
        ("const a: number = 1;\nreturn <Foo bar={a}", types.NO_TAG, 2, 8),
        ("const a: number = 1;\n<b>c d</b>", forms.NO_JSX, 2, 1),
        ("class A<T> {\n  get(): T {", "Unexpected end of input", 2, 13),
        ("const f = <T>(a: T => a", "Unexpected end of input", 1, 24),
        ("return 5\n```\n1 1", "Unexpected number", 3, 3),
        ("```js 5```", fences.NOT_ON_ITS_OWN, 1, 1),
        ("async () => {\n  if (a) { b } }\n}", forms.STRAY_BRACE, 3, 1),
        ("const a = 1;\nif (a) {", "Unexpected end of input", 2, 9),
        ("async () => {\n  if (a) {\n}", "Unexpected end of input", 3, 2),
        ("const a = () => <b>c</b>;\na()", forms.NO_JSX, 1, 17),
        ("import a from 'b'", texts.NO_MODULES, 1, 1),
        ("1;\nexport const a = 1", texts.NO_MODULES, 2, 1),
        ("1;\n#!/bin/node", "Invalid or unexpected token", 2, 1),
        ("I cannot do that.", "Unexpected identifier 'cannot'", 1, 3),
        ("Text\n```js\nconst a = ;\n```", "Unexpected token ';'", 3, 11),
    ],
)
def test_a_syntax_failure_is_about_the_form_that_was_meant(
    executor: BlockingExecutor, code: str, message: str, line: int, column: int
) -> None:
    failure = executor.execute(code).failure
    assert failure is not None
    assert (failure.kind, failure.message, failure.line, failure.column) == ("syntax", message, line, column)


@pytest.mark.parametrize(
    "code",
    [
        "1)][0]) }); console.log('out'); ((",
        "1)][0] } }) }); console.log('out'); __entry.run(() => { l: { return [(2",
        "1)][0]; } l: { console.log('out'); [(2",
        "1)][0]; console.log('out'); [(2",
        "1 } } ); console.log('out'); (() => { {",
        "const a = 1 } console.log('out'); {",
        "const a = 1 } }, 1, 1, 1) }); console.log('out'); (() => { (() => { {",
    ],
)
def test_text_that_closes_what_stands_around_it_does_not_run_there(executor: BlockingExecutor, code: str) -> None:
    run = executor.execute(code)
    assert run.logs == []
    assert run.failure is None or run.failure.kind == "syntax"


@pytest.mark.parametrize("code", ["const a = helper(1);\na", "async (): Promise<number> => helper(1)", "helper(1)"])
def test_host_sources_stand_before_every_form(executor: BlockingExecutor, code: str) -> None:
    prelude = "globalThis.helper = (x) =>\n\n  x + 1;"
    assert executor.execute(code, [Provider("store", prelude=prelude)]).result == 2
    failure = executor.execute(f"const a = 1;\n{HERE}", [Provider("store", prelude=prelude)]).failure
    assert failure is not None
    assert (failure.line, failure.column) == (2, 6)


@pytest.mark.parametrize("code", ["const a = 1;\na", "const a = ;", "enum A {}", "() => 1"])
def test_a_broken_host_source_is_the_providers_fault_whatever_the_program(
    executor: BlockingExecutor, code: str
) -> None:
    failure = executor.execute(code, [Provider("store", prelude="const = 1;")]).failure
    assert failure is not None
    assert (failure.kind, failure.message) == (
        "provider_source",
        texts.compose(texts.PROVIDER_SOURCE, name="store", message="Unexpected token '='"),
    )


@pytest.mark.parametrize("code", ["const a = 1;\nconst b = ;", "1; enum A {}"])
def test_a_broken_program_is_its_own_fault_beside_sound_host_sources(executor: BlockingExecutor, code: str) -> None:
    failure = executor.execute(code, [Provider("store", prelude="const fine = 1;")]).failure
    assert failure is not None
    assert failure.kind == "syntax"


def test_a_program_of_statements_cannot_change_how_it_is_run(executor: BlockingExecutor) -> None:
    code = """
    const log = console.log;
    Promise.prototype.then = Function.prototype.call = Function.prototype.apply = Array.prototype.push = () => log('x');
    Object.defineProperty(Object.prototype, 'lines', { get() { log('lines') }, configurable: true });
    for (const name of ['run', 'movedLine', 'settled']) {
      Object.defineProperty(Object.prototype, name, { get() { log(name) }, set() { log(name) }, configurable: true });
    }
    globalThis.Promise = globalThis.Symbol = globalThis.Error = undefined;
    ({ done: await store.a() })"""
    run = executor.execute(code, [Provider("store")], dispatch=dispatch)
    assert (run.failure, run.result, run.logs) == (None, {"done": "a"}, [])


@pytest.mark.parametrize(
    "code",
    [
        "(" * 100_000,
        "{" * 100_000,
        "let a: " + "A<" * 50_000,
        "let a: " + "{ b: " * 50_000 + "1" + "}" * 50_000 + "\n1",
        "const a = 1; a" + "!" * 100_000,
        "f<number>(" * 20_000,
        "const a = `${" * 20_000,
        "```" + "/*" * 200_000,
        "x```" + "\\`" * 200_000,
        "<" + " " * 1_000_000 + "number",
        "} " * 100_000,
    ],
    ids=lambda code: code[:10],
)
def test_hostile_text_ends_in_an_outcome_well_before_the_limits(executor: BlockingExecutor, code: str) -> None:
    run = executor.execute(code, limits=Limits(wall_s=20, cpu_s=20))
    assert run.failure is None or run.failure.kind in ("syntax", "program", "memory")


@pytest.mark.parametrize("source", [None, "const fine = 1;"])
@pytest.mark.parametrize(
    "code",
    ["[" * 100_000, "() => " + "[" * 100_000, "const a = 1;\n" + "[" * 100_000, "let a: number = 1;\n" + "[" * 100_000],
    ids=["expression", "function", "statements", "types"],
)
def test_text_nested_too_deep_to_be_compiled_is_a_syntax_failure(
    executor: BlockingExecutor, code: str, source: str | None
) -> None:
    failure = executor.execute(code, [Provider("store", prelude=source)]).failure
    assert failure is not None
    assert (failure.kind, failure.name, failure.message) == ("syntax", "RangeError", "Maximum call stack size exceeded")


def test_a_host_source_nested_too_deep_is_the_providers_fault(executor: BlockingExecutor) -> None:
    failure = executor.execute("() => 1", [Provider("store", prelude="[" * 100_000)]).failure
    assert failure is not None
    assert failure.kind == "provider_source"


def test_a_stack_overflow_of_a_program_that_runs_is_its_own_error(executor: BlockingExecutor) -> None:
    failure = executor.execute("const f = () => f() + 1;\nf()").failure
    assert failure is not None
    assert (failure.kind, failure.name, failure.line) == ("program", "RangeError", 1)


@pytest.mark.parametrize(
    "code",
    [
        "class A {}",
        "(class A {})",
        "export default class A {}",
        "Map",
        "const a = 1;\nclass B {}\nB",
        "URL",
        "() => Map",
    ],
)
def test_a_class_is_not_called_but_told_of(executor: BlockingExecutor, code: str) -> None:
    run = executor.execute(code)
    assert (run.failure, run.result, run.warnings) == (None, None, [texts.FUNCTION_RESULT])


@pytest.mark.parametrize(
    "code",
    [
        "function f() { return 1 }",
        "const f = function () { return 1 };\nf",
        "new Proxy(() => 1, { getOwnPropertyDescriptor() { throw 2 } })",
        "Object.defineProperty(() => 1, 'prototype', { get() { throw 2 } })",
        "delete Object.prototype.hasOwnProperty;\nReflect.getOwnPropertyDescriptor = 2;\n() => 1",
        "Object.prototype.writable = false;\n() => 1",
    ],
)
def test_any_other_function_is_called_and_asked_nothing(executor: BlockingExecutor, code: str) -> None:
    run = executor.execute(code)
    assert (run.failure, run.result, run.warnings) == (None, 1, [])


def test_the_search_for_a_form_counts_against_the_limits(executor: BlockingExecutor) -> None:
    code = "{ const a: number = 1; const b = [a, a, a].map((c) => c + 1); }\n" * 20_000
    failure = executor.execute(code, limits=Limits(wall_s=0.05)).failure
    assert failure is not None
    assert failure.kind in ("timeout", "memory")
