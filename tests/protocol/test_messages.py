"""Messages: each form is pinned to a literal, and whatever bytes come in, only a ProtocolError comes out."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltoolexec_protocol import messages
from tooltoolexec_protocol.errors import ProtocolError
from tooltoolexec_protocol.limits import DEFAULTS, EffectiveLimits, Limits
from tooltoolexec_protocol.messages import (
    MESSAGE_TYPES,
    Answers,
    Calls,
    Done,
    Execute,
    Hello,
    Message,
    Outcome,
    ProviderSpec,
    Status,
    Unknown,
    WireLimits,
    decode,
    encode,
    tag_of,
)

from .wire_examples import EXAMPLES, ID, WIRE, json_values, texts


@pytest.mark.parametrize("name", WIRE)
def test_each_form_is_written_as_its_literal(name: str) -> None:
    message, literal = WIRE[name]
    assert encode(message) == literal.encode("ascii")


@pytest.mark.parametrize("name", WIRE)
def test_each_literal_is_read_as_its_message(name: str) -> None:
    message, literal = WIRE[name]
    found = decode(literal.encode())
    assert found == message
    assert type(found) is type(message)


def test_every_message_type_has_a_literal() -> None:
    assert {type(message) for message, _ in WIRE.values()} == set(MESSAGE_TYPES)
    assert {type(message) for message in EXAMPLES} == set(MESSAGE_TYPES)


def test_the_list_of_types_holds_every_message_the_module_declares() -> None:
    declared = {
        kind
        for kind in vars(messages).values()
        if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
    }
    assert set(MESSAGE_TYPES) == declared
    assert messages.AnyMessage.__args__ == MESSAGE_TYPES
    assert [tag_of(kind) for kind in MESSAGE_TYPES] == [kind.__name__.lower() for kind in MESSAGE_TYPES]


def test_the_client_sends_six_types_and_no_more() -> None:
    assert {tag_of(kind) for kind in MESSAGE_TYPES if kind.from_client} == {
        "hello", "execute", "answers", "invoke", "outcome", "status",
    }  # fmt: skip


def test_plain_utf8_is_read_as_well_as_escapes() -> None:
    assert decode('{"type":"logs","lines":[["log","é😀"]]}'.encode()) == messages.Logs(lines=[("log", "é😀")])


def test_a_result_of_null_is_not_a_result_left_out() -> None:
    assert decode(f'{{"type":"done","id":"{ID}"}}'.encode()) != decode(
        f'{{"type":"done","id":"{ID}","result":null}}'.encode()
    )


def test_a_whole_number_is_taken_where_a_fraction_may_stand() -> None:
    assert decode(f'{{"type":"started","id":"{ID}","queued_s":1}}'.encode()) == messages.Started(id=ID, queued_s=1.0)


MALFORMED = {
    "nothing": "",
    "no JSON": "{",
    "two values": '{"type":"status"}{}',
    "an array": "[]",
    "a text": '"status"',
    "null": "null",
    "no type": "{}",
    "a type that is no text": '{"type":1}',
    "a type of null": '{"type":null}',
    "a field missing": '{"type":"hello","version":1}',
    "a wrong field": '{"type":"hello","version":"1","oldest_version":1}',
    "a version with a fraction": '{"type":"hello","version":1.0,"oldest_version":1}',
    "a version of true": '{"type":"hello","version":true,"oldest_version":1}',
    "a text of null": '{"type":"hello","version":1,"oldest_version":1,"token":null}',
    "NaN": f'{{"type":"done","id":"{ID}","result":NaN}}',
    "Infinity": f'{{"type":"done","id":"{ID}","result":[Infinity]}}',
    "minus Infinity": f'{{"type":"done","id":"{ID}","result":-Infinity}}',
    "a negative limit": f'{{"type":"execute","id":"{ID}","code":"","limits":{{"calls":-1}}}}',
    "a limit too long": f'{{"type":"execute","id":"{ID}","code":"","limits":{{"calls":1{"0" * 400}}}}}',
    "a number longer than Python reads": f'{{"type":"done","id":"{ID}","result":1{"0" * 5000}}}',
    "an id too short": '{"type":"outcome","id":"abc"}',
    "an id in capitals": f'{{"type":"outcome","id":"{ID.upper()}"}}',
    "an id with a line end": f'{{"type":"outcome","id":"{ID}\\n"}}',
    "an id with a surrogate": '{"type":"outcome","id":"\\ud800"}',
    "a call of three": '{"type":"calls","calls":[[1,"p","t"]]}',
    "a call of five": '{"type":"calls","calls":[[1,"p","t","",""]]}',
    "a label that is no text": f'{{"type":"execute","id":"{ID}","code":"","labels":{{"a":1}}}}',
    "a surrogate as a field": f'{{"type":"done","id":"{ID}","\\ud800":1}}',
    "a surrogate as a limit": f'{{"type":"execute","id":"{ID}","code":"","limits":{{"\\ud800":1}}}}',
    "brackets without end": "[" * 100_000,
    "brackets with an end": "[" * 100_000 + "]" * 100_000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_body_is_refused_with_a_short_ascii_text(name: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(MALFORMED[name].encode())
    assert caught.value.code == "malformed"
    assert str(caught.value).isascii()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("body", [b"\xff\xfe", b"\x80", b'{"type":"\xc3"}', b"\x00", b"\xff" * 5])
def test_a_body_that_is_no_text_is_malformed(body: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(body)
    assert caught.value.code == "malformed"


@pytest.mark.parametrize(
    ("tag", "shown"), [("ping", "'ping'"), ("", "''"), ("\\ud800", r"'\ud800'"), ("x" * 90, repr("x" * 40))]
)
def test_an_unknown_type_is_refused_by_its_name_cut_short(tag: str, shown: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(f'{{"type":"{tag}"}}'.encode())
    assert caught.value.code == "unknown_message"
    assert str(caught.value) == f"Unknown message type {shown}."


REQUESTS_WITH_UNKNOWN_FIELDS = {
    "in a question": '{"type":"status","when":1}',
    "in the other question": f'{{"type":"outcome","id":"{ID}","when":1}}',
    "in a greeting": '{"type":"hello","version":1,"oldest_version":1,"when":1}',
    "at the top": f'{{"type":"execute","id":"{ID}","code":"","when":1}}',
    "at the front": f'{{"when":1,"type":"execute","id":"{ID}","code":""}}',
    "beside a lone surrogate": f'{{"type":"execute","id":"{ID}","code":"\\ud800","when":1}}',
    "in the limits": f'{{"type":"execute","id":"{ID}","code":"","limits":{{"when":1}}}}',
    "in a provider": f'{{"type":"execute","id":"{ID}","code":"","providers":[{{"name":"a"}},{{"name":"b","when":1}}]}}',
}


@pytest.mark.parametrize("where", REQUESTS_WITH_UNKNOWN_FIELDS)
def test_a_request_with_an_unknown_field_is_refused(where: str) -> None:
    with pytest.raises(ProtocolError, match="message is malformed: Object contains unknown field `when`") as caught:
        decode(REQUESTS_WITH_UNKNOWN_FIELDS[where].encode())
    assert caught.value.code == "malformed"


@pytest.mark.parametrize("name", WIRE)
def test_unknown_fields_in_all_else_are_ignored(name: str) -> None:
    message, literal = WIRE[name]
    body = (literal[:-1] + ',"when":1}').encode()
    if isinstance(message, Hello | Execute | Status | Outcome):
        with pytest.raises(ProtocolError):
            decode(body)
    else:
        assert decode(body) == message


def test_a_providers_field_is_known_only_by_its_name_on_the_wire() -> None:
    body = f'{{"type":"execute","id":"{ID}","code":"","providers":[{{"name":"a","positional_args":false}}]}}'
    with pytest.raises(ProtocolError, match="unknown field `positional_args`"):
        decode(body.encode())


def test_a_programs_own_keys_are_no_unknown_fields() -> None:
    message = Done(id=ID, result=[{"anything": {"\ud800": 1}}])
    assert decode(encode(message)) == message


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_without_a_json_form_is_the_senders_defect(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode(Done(id=ID, result=number))


def test_a_result_may_be_as_deep_as_a_value_may_be() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    message = Done(id=ID, result=value)
    assert decode(encode(message)) == message


def test_limits_travel_with_infinity_as_null_and_none_left_out() -> None:
    wire = WireLimits.of(Limits(wall_s=math.inf, calls=3))
    assert wire == WireLimits(wall_s=None, calls=3)
    assert wire.asked() == {"wall_s": math.inf, "calls": 3}
    assert WireLimits().asked() == {}
    assert EffectiveLimits(**WireLimits.of(DEFAULTS).asked()) == DEFAULTS


def test_wire_limits_and_limits_have_the_same_names_in_the_same_order() -> None:
    names = tuple(Limits.__dataclass_fields__)
    assert WireLimits.__struct_fields__ == names
    assert tuple(EffectiveLimits.__dataclass_fields__) == names


@given(json_values, st.lists(texts))
def test_any_result_and_any_text_survives_the_wire(result: Any, warnings: list[str]) -> None:
    message = Done(id=ID, result=result, warnings=warnings)
    body = encode(message)
    assert body.isascii()
    assert decode(body) == message


@given(st.lists(st.tuples(st.integers(0), texts, texts, texts)), st.lists(st.tuples(st.integers(0), texts)))
def test_any_call_and_any_answer_survives_the_wire(
    calls: list[tuple[int, str, str, str]], answers: list[tuple[int, str]]
) -> None:
    for message in (Calls(calls=calls), Answers(answers=answers)):
        assert decode(encode(message)) == message


@given(texts, st.lists(texts), st.dictionaries(texts, texts), st.none() | texts)
def test_any_request_survives_the_wire(
    code: str, tools: list[str], labels: dict[str, str], prelude: str | None
) -> None:
    message = Execute(
        id=ID, code=code, providers=[ProviderSpec(name=code, tools=tools, prelude=prelude)], labels=labels
    )
    assert decode(encode(message)) == message


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_bytes_that_are_no_message_give_nothing_but_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(body)


SCRAPS = (
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\ud800", b"\\u0000", b"null", b"true", b"1e999", b"-1", b"NaN",
    b'"type"', b'"hello"', b'"id"', b"\xff", b"\x00", b"\xed\xa0\x80", b"[" * 2000, b"9" * 400, b'"\\ud800":1,', b"{}",
)  # fmt: skip


def mutate(body: bytes, chance: random.Random) -> bytes:
    mutated = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(mutated) + 1)
        match chance.randrange(5):
            case 0:
                mutated[at:at] = chance.choice(SCRAPS)
            case 1:
                mutated[at : at + chance.randint(1, 8)] = chance.choice(SCRAPS)
            case 2:
                del mutated[at : at + chance.randint(1, 20)]
            case 3:
                mutated[at : at + 1] = bytes([chance.randrange(256)])
            case _:
                end = at + chance.randint(1, 30)
                mutated[at:at] = mutated[at:end]
    return bytes(mutated)


def fuzz(rounds: int, seed: int) -> int:
    """Decode so many mutated frames; gives how many were still messages."""
    chance = random.Random(seed)
    literals = [literal.encode() for _, literal in WIRE.values()]
    taken = 0
    for _ in range(rounds):
        body = mutate(chance.choice(literals), chance)
        refusal = None
        try:
            message = decode(body)
        except ProtocolError as error:
            refusal = error
        if refusal is None:
            assert isinstance(message, MESSAGE_TYPES)
            taken += 1
        else:
            assert refusal.code in {"malformed", "unknown_message"}
            assert str(refusal).isascii()
    return taken


def test_mutated_frames_give_a_message_or_a_protocol_error() -> None:
    assert 0 < fuzz(10_000, seed=1) < 10_000


@pytest.mark.slow
def test_a_hundred_thousand_mutated_frames_give_a_message_or_a_protocol_error() -> None:
    assert 0 < fuzz(100_000, seed=2) < 100_000


def test_what_is_decoded_again_is_the_same_message() -> None:
    for message, _ in WIRE.values():
        assert msgspec.convert(json.loads(encode(message)), type(message)) == message
    assert decode(bytearray(encode(Unknown(id=ID)))) == decode(memoryview(encode(Unknown(id=ID)))) == Unknown(id=ID)
