"""The codec: bytes cross at any depth, values keep their form, and what cannot cross says why."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import uuid
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tooltoolexec_protocol.codec import (
    parse_dispatch_arguments,
    parse_for_dispatch,
    rebuild_bytes,
    stringify_for_dispatch,
)
from tooltoolexec_protocol.errors import CodecError

from .wire_examples import json_values, values_with_bytes

TAGGED = '{"__executor_binary_v1__":"Uint8Array","data":"AQID"}'
TOO_DEEP = "The value is nested deeper than 500 levels."


def nested(depth: int, *, in_objects: bool, innermost: Any = 1) -> Any:
    value = innermost
    for _ in range(depth):
        value = {"a": value} if in_objects else [value]
    return value


def nested_text(depth: int, *, in_objects: bool) -> str:
    return '{"a":' * depth + "1" + "}" * depth if in_objects else "[" * depth + "1" + "]" * depth


@given(values_with_bytes)
@example({"__executor_binary_v1__": "Uint8Array"})
@example([b"", "\ud800", "\0", 1e308, 5e-324, -0.0])
def test_any_value_with_bytes_at_any_depth_survives_the_round_trip(value: Any) -> None:
    text = stringify_for_dispatch(value)
    assert parse_for_dispatch(text) == value


@given(json_values)
def test_a_value_without_bytes_is_written_as_plain_json(value: Any) -> None:
    assert json.loads(stringify_for_dispatch(value)) == value


@pytest.mark.parametrize(
    "value", [b"\1\2\3", bytearray(b"\1\2\3"), memoryview(b"\1\2\3"), memoryview(b"\1-\2-\3")[::2]]
)
def test_bytes_of_every_kind_cross_as_one_pinned_object(value: Any) -> None:
    assert stringify_for_dispatch(value) == TAGGED
    assert stringify_for_dispatch({"a": [value]}) == f'{{"a":[{TAGGED}]}}'


@pytest.mark.parametrize("tag", ["Uint8Array", "ArrayBuffer", "ArrayBufferView"])
def test_every_tag_is_read_as_bytes(tag: str) -> None:
    assert parse_for_dispatch(f'{{"data":"AQID","__executor_binary_v1__":"{tag}"}}') == b"\1\2\3"


def test_bytes_are_rebuilt_in_long_and_in_short_texts_alike() -> None:
    escaped = TAGGED.replace("_v1", "\\u005fv1")
    assert parse_for_dispatch(f"[{escaped}]") == [b"\1\2\3"]
    assert parse_for_dispatch(f"[{escaped}]" + " " * 2000) == [b"\1\2\3"]


@pytest.mark.parametrize(
    "value",
    [
        {"__executor_binary_v1__": "Uint8Array", "data": "AQID", "more": 1},
        {"__executor_binary_v1__": "Uint8Array"},
        {"__executor_binary_v1__": "Uint8Array", "date": "AQID"},
        {"__executor_binary_v1__": "Float64Array", "data": "AQID"},
        {"__executor_binary_v1__": None, "data": "AQID"},
        {"__executor_binary_v1__": [], "data": "AQID"},
        {"__executor_binary_v1__": {}, "data": "AQID"},
        {"__executor_binary_v1__": "Uint8Array", "data": 7},
        {"__executor_binary_v1__": "Uint8Array", "data": None},
        {"__executor_binary_v1__": "Uint8Array", "data": []},
        {"__executor_binary_v1__": "Uint8Array", "data": "AQI"},
        {"__executor_binary_v1__": "Uint8Array", "data": "AQ=="[:3]},
        {"__executor_binary_v1__": "Uint8Array", "data": "AR=="},
        {"__executor_binary_v1__": "Uint8Array", "data": "AQ ID"},
        {"__executor_binary_v1__": "Uint8Array", "data": "AQID\n"},
        {"__executor_binary_v1__": "Uint8Array", "data": "-_-_"},
        {"__executor_binary_v1__": "Uint8Array", "data": "é\ud800"},
    ],
)
def test_an_object_that_is_not_exactly_a_tagged_one_stays_an_object(value: dict[str, Any]) -> None:
    assert parse_for_dispatch(json.dumps([value])) == [value]


def test_bytes_inside_an_object_that_only_looks_tagged_are_still_rebuilt() -> None:
    text = f'{{"__executor_binary_v1__":"Uint8Array","data":{TAGGED}}}'
    assert parse_for_dispatch(text) == {"__executor_binary_v1__": "Uint8Array", "data": b"\1\2\3"}


@given(st.binary(max_size=100), st.text(alphabet="AQg=+/- \n\0", max_size=12))
def test_only_what_an_encoder_writes_counts_as_base64(data: bytes, text: str) -> None:
    value = {"__executor_binary_v1__": "Uint8Array", "data": base64.b64encode(data).decode()}
    assert rebuild_bytes(dict(value)) == data
    found = rebuild_bytes({"__executor_binary_v1__": "Uint8Array", "data": text})
    assert isinstance(found, dict) or base64.b64encode(found).decode() == text


class Colour(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    LARGE = 3


@dataclasses.dataclass
class User:
    name: str
    photo: bytes


class Point(msgspec.Struct):
    x: int
    y: int


class Dumped:
    """What pydantic's models look like from outside."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        return {"mode": mode, "photo": b"\1\2\3"}


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


class Number(int):
    pass


class Fraction(float):
    pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (User("Ada", b"\1\2\3"), f'{{"name":"Ada","photo":{TAGGED}}}'),
        (Point(1, 2), '{"x":1,"y":2}'),
        (Dumped(), f'{{"mode":"python","photo":{TAGGED}}}'),
        (dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), '"2024-01-02T03:04:05Z"'),
        (dt.date(2024, 1, 2), '"2024-01-02"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (decimal.Decimal("1.50"), '"1.50"'),
        ([Colour.RED, Size.LARGE], '["red",3]'),
        ({7}, "[7]"),
        ((1, (2,)), "[1,[2]]"),
        ({1: "a"}, '{"1":"a"}'),
        (math.nan, "null"),
        ([math.inf, -math.inf], "[null,null]"),
        ("\ud800\0é", '"\\ud800\\u0000\\u00e9"'),
        ({"\udfff": None}, '{"\\udfff":null}'),
        (2**53 - 1, "9007199254740991"),
        (1e300, "1e+300"),
        (True, "true"),
        ([Text("a"), Number(7), Fraction(1.5)], '["a",7,1.5]'),
    ],
)
def test_a_python_value_crosses_in_its_pinned_form(value: Any, text: str) -> None:
    assert stringify_for_dispatch(value) == text


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**30])
def test_an_integer_no_javascript_number_holds_is_refused_by_its_own_text(number: int) -> None:
    for value in (number, [{"a": number}], Number(number)):
        with pytest.raises(CodecError) as caught:
            stringify_for_dispatch(value)
        assert str(caught.value) == f"The integer {number} does not fit a JavaScript number. Return it as text."


@pytest.mark.parametrize("value", [object(), 1j, range(3), iter([]), print, ValueError("x"), {(1, 2): 3}, {None: 1}])
def test_a_type_with_no_form_is_refused_also_deep_inside(value: Any) -> None:
    for container in (value, [{"a": value}]):
        with pytest.raises(CodecError, match=r"^The value cannot cross to a program: "):
            stringify_for_dispatch(container)


@pytest.mark.parametrize("in_objects", [False, True])
def test_five_hundred_levels_cross_both_ways(in_objects: bool) -> None:
    value, text = nested(500, in_objects=in_objects), nested_text(500, in_objects=in_objects)
    assert stringify_for_dispatch(value) == text
    assert parse_for_dispatch(text) == value
    assert stringify_for_dispatch(nested(500, in_objects=in_objects, innermost=b"\1\2\3")) == text.replace("1", TAGGED)


@pytest.mark.parametrize("in_objects", [False, True])
@pytest.mark.parametrize("depth", [501, 700, 990, 5000, 100_000])
def test_one_level_more_is_refused_both_ways(depth: int, in_objects: bool) -> None:
    with pytest.raises(CodecError) as caught:
        parse_for_dispatch(nested_text(depth, in_objects=in_objects))
    assert str(caught.value) == TOO_DEEP
    value = nested(min(depth, 5000), in_objects=in_objects)
    with pytest.raises(CodecError) as caught:
        stringify_for_dispatch(value)
    assert str(caught.value) == TOO_DEEP


def test_a_cycle_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append({"again": cycle})
    with pytest.raises(CodecError) as caught:
        stringify_for_dispatch(cycle)
    assert str(caught.value) == TOO_DEEP


@pytest.mark.parametrize("frames", [300, 600, 800])
def test_a_caller_near_the_end_of_its_stack_gets_nothing_but_a_codec_error(frames: int) -> None:
    def below(left: int) -> str:
        if left:
            return below(left - 1)
        try:
            parse_for_dispatch(nested_text(499, in_objects=True))
            stringify_for_dispatch(nested(499, in_objects=True))
        except CodecError as error:
            return str(error)
        return TOO_DEEP

    assert below(frames) == TOO_DEEP


@pytest.mark.parametrize("text", ["", "{", "nope", "[1,]", "NaN", "[Infinity]", "-Infinity", "\ufeff1", "'a'", "1 2"])
def test_a_text_that_is_no_json_is_refused(text: str) -> None:
    for parse in (parse_for_dispatch, parse_dispatch_arguments):
        with pytest.raises(CodecError, match=r"^The text is no JSON: "):
            parse(text)


def test_a_number_longer_than_python_reads_is_refused() -> None:
    with pytest.raises(CodecError):
        parse_for_dispatch("1" * 5000)


@given(st.text(alphabet='[]{}":,0123456789eE.\\ud8nulltrefas_ \0é', max_size=60))
def test_any_text_gives_a_value_or_a_codec_error(text: str) -> None:
    with contextlib.suppress(CodecError):
        parse_for_dispatch(text)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("[]", []),
        ('["ada",7]', ["ada", 7]),
        ("[[1]]", [[1]]),
        ("{}", [{}]),
        ("null", [None]),
        ('"a"', ["a"]),
        (TAGGED, [b"\1\2\3"]),
        (f"[{TAGGED}]", [b"\1\2\3"]),
    ],
)
def test_arguments_are_always_a_list(text: str, arguments: list[Any]) -> None:
    assert parse_dispatch_arguments(text) == arguments
