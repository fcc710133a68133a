"""Whatever a run holds, its text for a model keeps to its size and a cut result is JSON still."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tooltoolexec.describe.context import Context
from tooltoolexec.run import Failure, Run
from tooltoolexec_protocol.messages import FAILURE_KINDS, Execute, ProviderSpec


def nested(value: Any) -> Any:
    """`value` inside as many arrays and objects as may cross."""
    for level in range(480):
        value = [level, value] if level % 2 else {"down": value, "level": level}
    return value


characters = st.characters(codec=None) | st.sampled_from('\ud83d\ude00\0\u2028"\\\n👍🏽👨‍👩‍👧é\u0301🇨🇭\u200d')
texts = st.text(characters, max_size=60) | st.builds(
    lambda text, count: text * count, st.text(characters, max_size=5), st.integers(0, 400)
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=True)
    | texts
    | st.binary(max_size=99)
)
small = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=6), max_leaves=12
)
values = small | st.builds(lambda item, count: [item] * count, small, st.integers(0, 300)) | st.builds(nested, small)
failures = st.builds(
    Failure,
    kind=st.sampled_from(sorted(FAILURE_KINDS)),
    message=texts,
    name=st.none() | texts,
    line=st.none() | st.integers(-1, 5),
    column=st.none() | st.integers(-1, 300),
    detail=st.none() | st.builds(lambda calls: {"state": "waiting", "calls": calls}, values),
)
contexts = st.builds(
    lambda code, names, told: Context(
        Execute(id="0" * 32, code=code, providers=[ProviderSpec(name="s", tools=names)]), told
    ),
    texts,
    st.lists(texts, max_size=5),
    st.integers(0, 2),
)
lists = st.lists(texts, max_size=15)


def run_with(
    result: Any, failure: Failure | None, logs: list[str], warnings: list[str], context: Context | None
) -> Run:
    return Run(id="0" * 32, result=result, failure=failure, logs=logs, warnings=warnings, _context=context)


@settings(deadline=None, max_examples=150)
@given(values, lists, lists, st.none() | contexts, st.integers(200, 5000))
def test_a_result_is_one_line_of_json_in_a_text_of_the_size_asked_for(
    result: Any, logs: list[str], warnings: list[str], context: Context | None, size: int
) -> None:
    text = run_with(result, None, logs, warnings, context).for_model(size)
    assert len(text) <= size
    text.encode("utf-8")
    lines = re.findall("^Result: (.*)$", text, re.MULTILINE)
    json.loads(lines[0])
    assert text.startswith(("Result: ", "Cut: "))


@settings(deadline=None, max_examples=150)
@given(failures, lists, lists, st.none() | contexts, st.integers(200, 5000))
def test_a_failure_is_told_first_in_a_text_of_the_size_asked_for(
    failure: Failure, logs: list[str], warnings: list[str], context: Context | None, size: int
) -> None:
    text = run_with(None, failure, logs, warnings, context).for_model(size)
    assert len(text) <= size
    text.encode("utf-8")
    if text.startswith("Cut: "):
        text = text.partition("\n\n")[2]
    assert text.startswith("Failed (")


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(("👍🏽", "👨‍👩‍👧", "e\u0301", "🇨🇭", "a", "\u4e2d")), min_size=400, max_size=600),
    st.integers(200, 700),
)
def test_a_cut_splits_no_character_a_reader_sees(clusters: list[str], size: int) -> None:
    whole = "".join(clusters)
    for run in (
        Run(id="", result=whole),
        Run(id="", logs=[whole]),
        Run(id="", failure=Failure(kind="program", message=whole)),
    ):
        shown = re.search(r'(?:Result: "|Logs:\n|\(program\): )(.*?)… \(\+', run.for_model(size))
        assert shown
        ends, at = {0}, 0
        for cluster in clusters:
            at += len(cluster)
            ends.add(at)
        assert whole.startswith(shown[1])
        assert len(shown[1]) in ends
