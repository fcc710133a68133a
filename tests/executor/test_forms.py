"""Fences are cut and types erased so that nothing that stays moves; what is text of the program is left alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltoolexec_executor.misleading import may_mislead
from tooltoolexec_executor.worker import forms
from tooltoolexec_executor.worker.forms import fences, types
from tooltoolexec_executor.worker.forms.source import RefusedError, parse, place_of
from tooltoolexec_executor.worker.syntax import SyntaxFault
from tooltoolexec_protocol import texts

FAULT = SyntaxFault("V8's own", 9, 9)


def erased(source: str) -> str:
    return types.erase(source.encode(), parse(source.encode())).decode()


def shown(source: str) -> str:
    """Without the blanks that stand for types."""
    return re.sub(r"[ \t]+", " ", erased(source)).strip()


def attempts(program: str, *, is_tried: bool = True) -> list[forms.Attempt | SyntaxFault]:
    """All that is tried where V8 compiles nothing."""
    search = forms.search(program.encode(), is_tried=is_tried)
    found = [next(search)]
    while isinstance(found[-1], forms.Attempt):
        found.append(search.send(FAULT))
    return found


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```\n1\n```", "\n1\n"),
        ("```js\n1\n```\n", "\n1\n"),
        ("``` JS title=x\n1\n```", "\n1\n"),
        ("````js\n```\n````", "\n```\n"),
        ("~~~js\n1\n~~~", "\n1\n"),
        ("~~~ `js`\n1\n~~~", "\n1\n"),
        ("   ```js\n   1\n  ```  ", "\n   1\n"),
        ("\ufeff```js\n1\n```", "\n1\n"),
        ("```js\r\n1\r\n```\r\n", "\n1\r\n"),
        ("Here's it, see https://x.y or `a`:\n\n```ts\n1\n```\nIt's done, `b`.", "\n\n\n1\n"),
        ("GET /api/*\n```js\n1\n```", "\n\n1\n"),
        ("```js\n1", "\n1"),
        ("```js", ""),
        ("Use the ` key:\n```js\n1\n```", "\n\n1\n"),
        ("Use the ` key:\n```js\n1\n```\nThe ` key.", "\n\n1\n"),
        ("Matches src/*.js:\n```js\n/* x */\n1\n```", "\n\n/* x */\n1\n"),
        ("Use `a` and ``` inline.\n```js\n1\n```", "\n\n1\n"),
        ("1\n```", "1\n"),
        ("1\n~~~\n", "1\n"),
        ("const a = `b`;\na\n```\n\n", "const a = `b`;\na\n"),
        ("const a = `\n~~~js\n1\n~~~\n`\n```", "const a = `\n~~~js\n1\n~~~\n`\n"),
        ("So:\n```js", "So:\n"),
    ],
)
def test_the_text_in_the_one_fence_keeps_its_line(text: str, program: str) -> None:
    assert fences.cut(text.encode()) == program.encode()


@pytest.mark.parametrize(
    "program",
    [
        "const md = `\n~~~js\n1\n~~~\n`",
        "/*\n```js\n1\n```\n*/ 2",
        "const a = '\\\n```js\\\n'",
        "async () => '```js'.length",
        "``\n1\n``",
        "a ```js 1```",
        "/*\n    ```js\n    1\n    ```\n*/ 2",
        "~~~x",
        "a\n~~~b\n~~c",
        "a\n~~~b",
    ],
)
def test_what_is_no_fence_or_a_programs_own_text_is_left_alone(program: str) -> None:
    assert fences.cut(program.encode()) == program.encode()


def test_a_second_fence_is_refused_at_its_own_line() -> None:
    with pytest.raises(RefusedError) as caught:
        fences.cut(b"a\n```js\n1\n```\nor\n```js\n2\n```")
    assert caught.value.fault == (fences.MORE_THAN_ONE, 6, 1)


def test_a_second_fence_is_refused_though_prose_hides_the_first() -> None:
    with pytest.raises(RefusedError) as caught:
        fences.cut(b"Use the ` key:\n```js\n1\n```\nor\n```js\n2\n```")
    assert caught.value.fault == (fences.MORE_THAN_ONE, 6, 1)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("```js 1```", 1, 1),
        ("Text:\n```1```\n", 2, 1),
        ("1. So:\n    ```js\n    1\n    ```", 2, 5),
        ("\t```\n1\n```js 1", 1, 2),
    ],
)
def test_a_fence_that_is_not_on_lines_of_its_own_is_refused_at_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(RefusedError) as caught:
        fences.cut(text.encode())
    assert caught.value.fault == (fences.NOT_ON_ITS_OWN, line, column)


@pytest.mark.parametrize(
    ("typescript", "javascript"),
    [
        ("let a: number = 1", "let a = 1"),
        ("let a!: number", "let a"),
        ("const f = (a?: number, b: string = 'x', ...c: any[]): void => {}", "const f = (a , b = 'x', ...c ) => {}"),
        ("const f = <T,>(a: T) => a", "const f = (a ) => a"),
        ("function f<T extends { a: 1 }>(this: X, a): a is T {}", "function f ( a) {}"),
        ("function f(this: X) {}", "function f( ) {}"),
        ("function f(a): asserts a is string {}", "function f(a) {}"),
        ("a as const", "a"),
        ("(a as unknown as B<C>[]).d", "(a ).d"),
        ("a satisfies B", "a"),
        ("a!.b![0]!()", "a .b [0] ()"),
        ("f<A, B[]>(1); new Map<string, A>()", "f (1); new Map ()"),
        ("<any>a", "a"),
        ("class A<T> extends B<T> implements C, D {}", "class A extends B {}"),
        ("abstract class A { abstract m(): void; n() {} }", "class A { ; ; n() {} }"),
        ("class A { private static readonly a?: number = 1 }", "class A { ; static a = 1 }"),
        ("class A { declare a: number; b!: string; m?(): void {} }", "class A { ; ; b ; m () {} }"),
        ("class A { m(): void; m(a?) {} [k: string]: any }", "class A { ; ; m(a ) {} ; }"),
        ("class A { override m() {} }", "class A { ; m() {} }"),
        ("interface A { b: { c: 1 } }", ";"),
        ("type A = B | { c: 1 };", ";"),
        ("declare const a: number; declare module 'x' { enum A {} }", "; ;"),
        ("import type { A } from 'b'; export type { A }; export interface B {}", "; ; ;"),
        ("function f(a: string): void;\nfunction f(a) {}", "; \nfunction f(a) {}"),
        ("try {} catch (e: unknown) {}", "try {} catch (e ) {}"),
        ("for (const a of b as C[]) {}", "for (const a of b ) {}"),
        ("const a = `${b as C}`", "const a = `${b }`"),
        ("const { a, b }: { a: 1; b: 2 } = c", "const { a, b } = c"),
        ("const a = 'b: c as d', e = /f<g>(h)/", "const a = 'b: c as d', e = /f<g>(h)/"),
    ],
)
def test_types_become_blanks(typescript: str, javascript: str) -> None:
    assert shown(typescript) == javascript
    assert len(erased(typescript)) == len(typescript)


@pytest.mark.parametrize(
    ("typescript", "javascript"),
    [
        ("const a = b as any\n(c)", "const a = b ;\n(c)"),
        ("const a = b as any // why\n\n[c]", "const a = b ; // why\n\n[c]"),
        ("const a = b as any[]\n[c, d].e()", "const a = b ;\n[c, d].e()"),
        ("const a = b as any\n+ 1", "const a = b\n+ 1"),
        ("const a = b\ntype C = 1\n(d)", "const a = b\n;\n(d)"),
        ("class A { b = 1\n private [c] = 2 }", "class A { b = 1\n ; [c] = 2 }"),
        ("const f = (a): Promise<\n B\n> => a", "const f = (a \n\n ) => a"),
        ("const f = async <\n T\n>(a) => a", "const f = async (\n\n a) => a"),
        ("const f = () => <A>{ b: 1 }", "const f = () => 0||{ b: 1 }"),
    ],
)
def test_what_a_type_kept_apart_stays_apart(typescript: str, javascript: str) -> None:
    lines = [re.sub(r" +", " ", line).rstrip() for line in erased(typescript).split("\n")]
    assert [line.strip() for line in lines] == [line.strip() for line in javascript.split("\n")]


@pytest.mark.parametrize("odd", ["\u00e9", "\u65e5", "\U0001f600", "\u2028", "\r\n", "\r"])
def test_erasing_keeps_utf16_columns_and_every_line_end(odd: str) -> None:
    before, after = f"/*{odd}*/ let a: '{odd}' = 1, b = ", "X"
    text = erased(before + after)
    assert "'" not in text
    start = len((before + after).encode()) - 1
    assert place_of(text.encode(), len(text.encode()) - 1) == place_of((before + after).encode(), start)


@pytest.mark.parametrize(
    ("source", "message", "line", "column"),
    [
        ("a\n  enum A { B }", types.NO_ENUM, 2, 3),
        ("const enum A { B }", types.NO_ENUM, 1, 1),
        ("namespace A { }", types.NO_NAMESPACE, 1, 1),
        ("class A {\n  constructor(private a: number) {} }", types.NO_PARAMETER_PROPERTY, 2, 15),
        ("class A { constructor(readonly a?: number) {} }", types.NO_PARAMETER_PROPERTY, 1, 23),
        ("@a class B {}", types.NO_DECORATOR, 1, 1),
    ],
)
def test_more_than_types_is_refused_by_name(source: str, message: str, line: int, column: int) -> None:
    assert attempts(source)[-1] == (message, line, column)


@pytest.mark.parametrize(
    ("source", "is_typescript"),
    [
        ("f<number>(a)", True),
        ("new Map<string, unknown>()", True),
        ("f< string | undefined >(a)", True),
        ("a < b > (c)", False),
        ("f<Row>(a)", False),
        ("'f<number>(a)' + `<any>` // <void>", False),
        ("for (let i = 0; i < number; i++) {}", False),
        ("a < number && b > (c)", False),
    ],
)
def test_only_type_arguments_of_keywords_make_javascript_typescript(source: str, is_typescript: bool) -> None:
    program = source.encode()
    assert types.is_typescript(program, parse(program)) is is_typescript
    first = attempts(source, is_tried=False)[0]
    assert (first is forms.AS_IS) is not is_typescript


def test_what_v8_takes_at_once_is_never_parsed() -> None:
    for program in ("async () => { return a < b > (c) }", "() => 'it``s'", "x < y", "/* <numbers> */ 1"):
        assert not may_mislead(program.encode())


@pytest.mark.parametrize(
    ("program", "text", "tail"),
    [
        ("1;", "return 1;", ""),
        ("const a = 1;\na;", "const a = 1;\nreturn a;", ""),
        ("a();\n;\nfunction a() {}\n// end", "return a();\n;\nfunction a() {}\n// end", ""),
        ("const a = 1", "const a = 1", ""),
        ("if (a) { b }", "if (a) { b }", ""),
        ("function a() {}\nfunction b() {}", "function a() {}\nfunction b() {}", "return b();"),
        ("function main() {}\nfunction b() {}", "function main() {}\nfunction b() {}", "return main();"),
        ("export default function a() {}", "               function a() {}", "return a();"),
        ("export default 1", "__entry.value= 1", "return __entry.value;"),
        ("#!/bin/node\n1", "///bin/node\nreturn 1", ""),
        ("", "", ""),
        ("// nothing", "// nothing", ""),
    ],
)
def test_the_value_is_the_last_expression_or_a_functions(program: str, text: str, tail: str) -> None:
    first = attempts(program)[0]
    assert isinstance(first, forms.Attempt)
    assert (first.text.decode(), first.tail) == (text, tail)


def test_an_insertion_is_told_by_its_line_and_its_column_in_utf16_units() -> None:
    first = attempts("const a = 1;\n/* \U0001f600 */ a")[0]
    assert isinstance(first, forms.Attempt)
    assert (first.line, first.column) == (2, 10)
    assert SyntaxFault("", 2, 17).without(2, 10, len(forms.RETURN)) == ("", 2, 10)
    assert SyntaxFault("", 2, 9).without(2, 10, len(forms.RETURN)) == ("", 2, 9)
    assert SyntaxFault("", 1, 17).without(2, 10, len(forms.RETURN)) == ("", 1, 17)


LINE_END = re.compile("\r\n?|[\n\u2028\u2029]")


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


PIECES = st.sampled_from(
    "a b as <T> <number> ( ) { } [ ] : ? ! => = ; , . 'x' ` ${ ``` ~~~ /* */ // \n \r\n \u2028 \U0001f600 \u00e9 async "
    "function class enum type interface declare import export default return 1 + < > @ #! abstract private".split(" ")
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=40))
def test_any_text_ends_in_a_fault_and_no_attempt_moves_what_stays(pieces: list[str]) -> None:
    program = " ".join(pieces)
    *tried, last = attempts(program)
    assert isinstance(last, SyntaxFault)
    for attempt in tried:
        assert isinstance(attempt, forms.Attempt)
        inserted = len(forms.RETURN) if attempt.line else 0
        if fences.cut(program.encode()) == program.encode():
            assert units(attempt.text.decode()) == units(program) + inserted
            assert LINE_END.findall(attempt.text.decode()) == LINE_END.findall(program)


def test_the_page_for_prompt_writers_quotes_texts_to_the_letter() -> None:
    page = (Path(__file__).parents[2] / "docs" / "forms.md").read_text("utf-8")
    for text in (
        texts.NO_MODULES,
        types.NO_ENUM,
        types.NO_NAMESPACE,
        types.NO_PARAMETER_PROPERTY,
        types.NO_DECORATOR,
        forms.NO_JSX,
    ):
        assert f"`{text}`" in page
