# ruff: noqa: E501 - a program stands on one line.
"""`Run.for_model`: the exact text, what is cut from it, and what never reaches a model."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tooltoolexec import Limits, Provider, execute
from tooltoolexec.describe.characters import boundary, shorten
from tooltoolexec.describe.context import Context
from tooltoolexec.run import Failure, Run
from tooltoolexec_protocol.messages import Execute


def run_of(code: str = "", **fields: Any) -> Run:
    return Run(id="0" * 32, _context=Context(Execute(id="0" * 32, code=code)), **fields)


def failed(message: str = "no", kind: str = "program", code: str = "", **fields: Any) -> Run:
    return run_of(code, error=message, failure=Failure(kind=kind, message=message, **fields))


def put(*_values: object) -> None:
    """A tool."""


def result_in(text: str) -> Any:
    """The value in the text; there is one line of it."""
    (line,) = re.findall("^Result: (.*)$", text, re.MULTILINE)
    return json.loads(line)


# What is not cut.


def test_a_result_alone_is_one_line() -> None:
    assert run_of(result={"a": [1, 2.5, None, True], "b": "é\n"}).for_model() == (
        'Result: {"a":[1,2.5,null,true],"b":"é\\n"}'
    )


def test_everything_at_once_stands_in_this_order() -> None:
    run = run_of(result=3, warnings=["one", "two"], logs=["first", "second\nline"])
    assert run.for_model() == "Result: 3\n\nWarnings:\n- one\n- two\n\nLogs:\nfirst\nsecond\nline"


def test_a_failure_shows_its_line_and_column() -> None:
    run = failed("x is not defined", name="ReferenceError", code="a;\n\tfoo(x);\n", line=2, column=6)
    lines = run.for_model().split("\n")
    assert lines[:4] == [
        "Failed (program): ReferenceError: x is not defined",
        "At line 2, column 6:",
        "    foo(x);",
        "        ^",
    ]


def test_a_failure_comes_before_the_logs() -> None:
    run = failed(kind="crashed")
    run.logs = ["line"]
    assert [part.split(" ")[0].split("\n")[0] for part in run.for_model().split("\n\n")] == ["Failed", "Logs:"]


def test_the_name_error_and_the_names_of_other_kinds_say_nothing() -> None:
    assert failed(name="Error").for_model() == "Failed (program): no"
    assert failed(name="SyntaxError", kind="syntax").for_model().startswith("Failed (syntax): no\n")


@pytest.mark.parametrize(
    ("line", "column", "shown"),
    [
        (2, 1, "At line 2, column 1:\n    two\n    ^"),
        (2, 4, "At line 2, column 4:\n    two\n       ^"),
        (2, 5, "At line 2, column 5:\n    two"),
        (2, None, "At line 2:\n    two"),
        (3, 1, "At line 3, column 1."),
        (4, 2, "At line 4, column 2:\n    😀x\n    ^"),
        (4, 3, "At line 4, column 3:\n    😀x\n     ^"),
        (5, 1, "At line 5, column 1:\n    five\n    ^"),
    ],
)
def test_columns_count_utf16_units_and_lines_end_as_in_javascript(line: int, column: int | None, shown: str) -> None:
    run = failed(code="one\r\ntwo\r\r\n😀x\u2028five", line=line, column=column)
    assert run.for_model() == f"Failed (program): no\n{shown}"


@pytest.mark.parametrize(("line", "column"), [(9, 1), (-1, 1), (0, 0), (10**18, 10**18)])
def test_a_place_outside_the_program_is_not_told(line: int, column: int) -> None:
    assert failed(code="one", line=line, column=column).for_model() == "Failed (program): no"


def test_of_a_long_line_the_part_around_the_column_is_shown() -> None:
    code = "x" * 500 + "!" + "y" * 500
    place, source, caret = failed(code=code, line=1, column=501).for_model().split("\n")[1:]
    assert place == "At line 1, column 501:"
    assert source.strip().startswith("…x")
    assert source.endswith("y…")
    assert len(source) < 120
    assert source[caret.index("^")] == "!"


def test_bytes_are_told_by_their_number_and_beginning() -> None:
    assert result_in(run_of(result=b"\1\2\3").for_model()) == {"bytes": 3, "base64": "AQID"}
    assert result_in(run_of(result=[bytes(100_000)]).for_model()) == [{"bytes": 100_000, "base64": "A" * 64 + "…"}]


def test_what_a_program_gave_after_it_ran_is_json_whatever_it_is() -> None:
    class Other:
        pass

    values = [float("inf"), float("nan"), {"deep": Other()}, "\ud800", "\x9b", "\u2028"]
    text = run_of(result=values).for_model()
    assert result_in(text)[2:] == [{"deep": "(a value that cannot be shown)"}, "\ud800", "\x9b", "\u2028"]
    assert text.isprintable()


def test_a_program_without_value_and_logs_is_told_to_return_one() -> None:
    assert run_of().for_model().startswith("Result: null\n\nWarnings:\n- The program gave no value")
    assert run_of(logs=["x"]).for_model() == "Result: null\n\nLogs:\nx"


NOTHING = {
    "const a = 1;": "The program gave no value and logged nothing. End it with return and the value you want to see.",
    "async () => { await 1 }": "The program gave no value and logged nothing.",
    "function f() {}": "The program gave no value and logged nothing.",
    "return null": "It returned null or undefined.",
    "async () => { const a = 1; return undefined }": "It returned null or undefined.",
    "async function main() {\n  return null;\n}": "It returned null or undefined.",
    "// The answer.\nfunction f() {\n  return null;\n}\n\nasync function g() {\n  return f();\n}": "It returned null or undefined.",
    "Here it is:\n```js\nfunction main() {\n  return null;\n}\n```\nDone.": "It returned null or undefined.",
    "function main() {\n  return null;\n}\nmain();": "It returned null or undefined.",
    "const main = async () => {\n  return 5;\n};": "main is declared and never called: end with `return await main()`.",
    "const load = async (id: number): Promise<void> => {\n  return 5;\n};": "load is declared and never called: end with `return await load()`.",
    "async function main() {\n  return 5;\n}\nconst x = 1;": "main is declared and never called: end with `return await main()`.",
    "```ts\nconst x = 1;\nfunction f() {\n  return 5;\n}\n```": "f is declared and never called: end with `return await f()`.",
    "const pick = x => x.domain;\nfunction f() {\n  return pick({});\n}\nreturn f();": "It returned null or undefined.",
}  # fmt: skip


@pytest.mark.parametrize("code", NOTHING)
def test_a_program_that_shows_nothing_is_told_why(code: str) -> None:
    run = execute(code)
    warning = run.for_model().partition("\n- ")[2]
    assert run.failure is None
    assert run.result is None
    assert warning.startswith(NOTHING[code])


UNAWAITED = {
    "store.put();\nawait store.put();\nawait (store.put());\nreturn 1": "(line 1)",
    "await store.put();\nstore.put().then(() => 1);\nstore.put()\n  .catch(() => 1);\nstore.put(1);\nreturn 1": "(line 5)",
    "await store.put();\n[...[store.put()]];\nreturn 1": "(line 2)",
    "void await store.put();\nawait store.put('(').name;\nreturn 1": "(line 2: write (await store.put(…)) and only then read of it)",
    "for (const a of [1, 2]) store.put();\nreturn 1": "(2 times, line 1)",
}  # fmt: skip


@pytest.mark.parametrize("code", UNAWAITED)
def test_a_warning_names_the_lines_of_calls_that_are_not_awaited(code: str) -> None:
    run = execute(code, [Provider("store", [put])])
    assert [line for line in run.for_model().split("\n") if line.startswith("- ")] == [
        f"- {run.warnings[0]} {UNAWAITED[code]}"
    ]


def test_halves_of_surrogate_pairs_in_texts_are_replaced() -> None:
    run = failed("\ud83d!", code="\ude00;", line=1, column=1)
    run.logs = ["\ud83d", "\ud83d\ude00"]
    assert run.for_model() == "Failed (program): \ufffd!\nAt line 1, column 1:\n    \ufffd;\n    ^\n\nLogs:\n\ufffd\n😀"


def test_a_run_that_was_made_by_hand_is_described_too() -> None:
    assert Run(id="", failure=Failure(kind="program", message="no", line=3)).for_model() == "Failed (program): no"


# What is cut.


def test_the_first_line_has_the_totals() -> None:
    run = run_of(result="x" * 150_000, logs=[f"line {number}" for number in range(340)], warnings=["careful"])
    text = run.for_model(1000)
    first = text.split("\n")[0]
    found = re.fullmatch(r"Cut: result ([\d,]+) of 150,002 characters, (\d+) of 340 log lines", first)
    assert found
    assert int(found[1].replace(",", "")) == len(text.split("\n")[2].removeprefix("Result: "))
    logs = text.partition("\n\nLogs:\n")[2].split("\n")
    assert len([line for line in logs if line.startswith("line ")]) == int(found[2])
    assert logs[0] == "line 0"
    assert logs[-1] == "line 339"
    assert f"… {340 - int(found[2])} lines left out …" in logs


def test_nothing_is_cut_from_a_text_that_just_fits() -> None:
    run = run_of(result="x" * 500, logs=["y" * 300], warnings=["z" * 100])
    whole = run.for_model()
    assert run.for_model(len(whole)) == whole
    assert not whole.startswith("Cut")
    assert run.for_model(len(whole) - 1).startswith("Cut: ")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a" * 1000, "a" * 160 + "… (+840 characters)"),
        ("\n" * 1000, "\n" * 80 + "… (+920 characters)"),
        (list(range(1000)), [*range(57), "… 943 more items"]),
        ({f"key{n}": n for n in range(100)}, {f"key{n}": n for n in range(16)} | {"…": "84 more keys"}),
        ({"…": "x", "b": "y" * 500, "c": 1}, {"…": "x", "b": "y" * 145 + "… (+355 characters)", "c": 1}),
        ({"big": "x" * 9000, "tags": ["a", "b"]}, {"big": "x" * 134 + "… (+8,866 characters)", "tags": ["a", "b"]}),
        ([["row", n] for n in range(100)], [*(["row", n] for n in range(15)), "… 85 more items"]),
        ({"k" * 5000: 1, "short": 2}, {"short": 2, "…": "1 more key"}),
    ],
)
def test_a_value_is_cut_to_its_largest_form_that_fits(value: Any, shown: Any) -> None:
    text = run_of(result=value).for_model(230)
    assert result_in(text) == shown
    assert len(text) <= 230


def test_a_key_that_looks_like_the_marker_is_not_overwritten() -> None:
    shown = result_in(run_of(result={"…": 1, **{f"key{n}": n for n in range(100)}}).for_model(230))
    assert shown["…"] == 1
    assert re.fullmatch(r"\d+ more keys", shown["……"])


def test_small_items_beside_a_giant_one_are_whole() -> None:
    rows = [{"id": number, "name": f"row {number}"} for number in range(20)]
    shown = result_in(run_of(result={"text": "x" * 10**6, "rows": rows, "next": None}).for_model(2000))
    assert (shown["rows"], shown["next"]) == (rows, None)
    assert len(shown["text"]) > 1000


def test_rows_are_whole_rather_than_many() -> None:
    rows = [{"id": number, "text": "t" * 300} for number in range(1000)]
    shown = result_in(run_of(result=rows).for_model(2000))
    assert shown[:-1] == rows[: len(shown) - 1]
    assert len(shown) == 7


def test_the_result_and_the_logs_share_the_room() -> None:
    large = run_of(result="x" * 10**5, logs=["y" * 50] * 1000).for_model(10_000)
    result, logs = large.split("\n\n")[1:]
    assert 4500 < len(result) <= 5000
    assert 4500 < len(logs) <= 5100
    small = run_of(result="x", logs=["y" * 50] * 1000).for_model(10_000)
    assert len(small) > 9900


def test_of_long_log_lines_the_beginning_is_shown() -> None:
    text = run_of(result=1, logs=["a" * 5000, "b"]).for_model(1000)
    first, _, rest = text.partition("\n\n")
    assert first == "Cut: 1 log line shortened"
    assert re.fullmatch(r"Result: 1\n\nLogs:\na{200,}… \(\+4,\d+ characters\)\nb", rest)


def test_of_a_long_message_the_beginning_is_shown_and_the_hint_is_kept() -> None:
    run = failed("m" * 5000, kind="memory", code="foo()", line=1, column=1)
    text = run.for_model(1000)
    assert re.match(r"Cut: message \d+ of 5,000 characters\n\nFailed \(memory\): m+… \(\+4,\d+ characters\)\n", text)
    assert "\n    foo()\n    ^\nHint: " in text
    assert 950 < len(text) <= 1000


def test_the_least_size_still_has_the_failure() -> None:
    run = failed("m" * 10**6, kind="program", name="n" * 500, code="foo()", line=1, column=1)
    run.logs, run.warnings = ["x" * 500] * 10**5, ["w" * 600] * 11
    text = run.for_model(200)
    assert len(text) <= 200
    assert "\n\nFailed (program): " in text


def nested(levels: int, inside: Any) -> Any:
    for level in range(levels):
        inside = {"in": inside} if level % 2 else [inside, level]
    return inside


ADVERSARIAL: dict[str, Callable[[], Any]] = {
    "one_giant_text": lambda: "x" * 3_000_000,
    "a_text_of_escapes": lambda: "\0" * 500_000,
    "halves_of_pairs": lambda: "\ud83d" * 300_000,
    "one_endless_cluster": lambda: "a" + "\u0301" * 1_000_000,
    "a_million_items": lambda: list(range(1_000_000)),
    "a_wide_object": lambda: {f"k{number}": number for number in range(300_000)},
    "giant_keys": lambda: {"k" * 100_000 + str(number): number for number in range(20)},
    "as_deep_as_may_be": lambda: nested(500, 1),
    "deep_and_then_wide": lambda: nested(480, list(range(300_000))),
    "many_that_are_deep": lambda: [nested(450, 1) for _ in range(200)],
    "a_bush": lambda: [[[[1] * 30] * 30] * 30] * 30,
    "empty_arrays": lambda: [[] for _ in range(300_000)],
}


@pytest.mark.parametrize("make", ADVERSARIAL.values(), ids=ADVERSARIAL)
@pytest.mark.parametrize("size", [200, 24_000])
def test_no_shape_of_a_result_defeats_the_cutting(make: Callable[[], Any], size: int) -> None:
    text = run_of(result=make(), logs=["line"] * 100).for_model(size)
    assert len(text) <= size
    result_in(text)
    text.encode("utf-8")
    assert text == run_of(result=make(), logs=["line"] * 100).for_model(size)


def test_a_caller_near_the_end_of_its_stack_gets_a_text_too() -> None:
    run = run_of(result=nested(499, "x" * 1000))

    def descend(frames: int) -> str:
        return descend(frames - 1) if frames else run.for_model()

    with ThreadPoolExecutor(1) as threads:  # A stack that has nothing on it yet.
        for left in (300, 100):
            text = threads.submit(descend, sys.getrecursionlimit() - left).result()
            assert text.startswith("Cut: result ")
            result_in(text)


@pytest.mark.parametrize(
    "cluster",
    ["👍🏽", "👨‍👩‍👧‍👦", "e\u0301\u0323", "❤\ufe0f", "\ud83d\ude00", "🏴\U000e0067\U000e0062\U000e007f", "\r\n"],
)
def test_a_boundary_is_never_inside_what_a_reader_sees_as_one(cluster: str) -> None:
    text = "ab" + cluster + "cd"
    for end in range(len(text) + 1):
        at = boundary(text, end)
        assert at <= end
        assert not 2 < at < 2 + len(cluster)


def test_a_boundary_in_an_endless_cluster_is_not_far_back() -> None:
    assert boundary("e" + "\u0301" * 1000, 500) == 500
    assert boundary("\ud83d\ude00" * 1000, 501) == 500


@pytest.mark.parametrize("room", range(60))
def test_a_shortened_text_has_no_more_than_its_room(room: int) -> None:
    assert len(shorten("👨‍👩‍👧‍👦" * 30, room)) <= room


# What may be asked, and what is not told.


@pytest.mark.parametrize(
    ("size", "kind"),
    [(199, ValueError), (-1, ValueError), (True, TypeError), (1e4, TypeError), ("9000", TypeError), (None, TypeError)],
)
def test_a_size_that_is_none_is_refused(size: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="max_chars"):
        run_of(result=1).for_model(size)


def test_what_on_log_raised_is_for_the_host_alone() -> None:
    def on_log(_level: str, _text: str) -> None:
        raise LookupError("/etc/host/secret")

    run = execute("() => { console.log(1); return () => 1 }", on_log=on_log)
    assert [warning.split(" ")[0] for warning in run.warnings] == ["The", "on_log"]
    assert "The program returned a function" in run.for_model()
    assert "secret" not in run.for_model()


def test_a_run_is_shown_compared_copied_and_pickled_without_its_request() -> None:
    run = execute("() => {\n  throw new Error('no')\n}")
    assert "_context" not in repr(run)
    assert "throw" not in repr(run)
    for other in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert other == run
        assert other.for_model() == run.for_model()
    assert run.for_model().split("\n")[2:] == ["    throw new Error('no')", "          ^"]


def test_cut_output_of_a_real_run_is_json_and_within_its_size() -> None:
    code = "() => { for (let i = 0; i < 2000; i++) console.log('😀'.repeat(i)); return '😀'.repeat(75000) }"
    text = execute(code, limits=Limits(log_bytes=10**7)).for_model()
    assert len(text) <= 24_000
    assert re.match(r"Cut: result [\d,]+ of 75,002 characters, \d+ of 2,000 log lines", text)
    assert re.fullmatch(r"(😀)+… \(\+[\d,]+ characters\)", result_in(text))
