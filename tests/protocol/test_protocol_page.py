"""docs/protocol.md is the protocol: its examples are real messages, its lists complete, its figures the code's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tooltoolexec_protocol import limits, messages, names, texts
from tooltoolexec_protocol.connection import Connection, State
from tooltoolexec_protocol.messages import MESSAGE_TYPES, Done, Execute, Message, Refused, decode, encode, tag_of

from .wire_examples import REFUSAL_CODES

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
KINDS = (
    "program syntax declaration provider_source payload unserializable timeout cpu memory stalled overloaded shutdown "
    "crashed limit"
).split()


def without_whitespace(block: str) -> str:
    return re.sub(r'("(?:[^"\\]|\\.)*")|\s+', lambda found: found[1] or "", block)


def examples() -> list[Message]:
    return [decode(block.encode()) for block in BLOCKS]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_is_a_message_and_is_written_as_shown(block: str) -> None:
    message = decode(block.encode())
    assert encode(message).decode("ascii") == without_whitespace(block)


def test_every_type_is_shown_and_has_its_place() -> None:
    assert {type(message) for message in examples()} == set(MESSAGE_TYPES)
    for kind in MESSAGE_TYPES:
        assert f"`{tag_of(kind)}`" in PAGE
        for field in kind.__struct_encode_fields__:
            assert f'"{field}"' in PAGE, f"{tag_of(kind)}.{field}"


def test_every_refusal_code_is_shown_and_listed() -> None:
    assert {message.code for message in examples() if isinstance(message, Refused)} == set(REFUSAL_CODES)
    for code in REFUSAL_CODES:
        assert f"| `{code}` |" in PAGE


def test_every_form_of_done_is_shown() -> None:
    done = [message for message in examples() if isinstance(message, Done)]
    literals = [encode(message) for message in done]
    assert any(message.result is None for message in done)
    assert any(
        b'"result"' not in literal and message.failure is None for literal, message in zip(literals, done, strict=True)
    )
    assert any(message.failure is not None and message.failure.detail is not None for message in done)
    assert any(message.failure is not None and message.failure.line is not None for message in done)
    assert any(message.warnings for message in done)
    for field in messages.Stats.__struct_fields__:
        assert any(f'"{field}"'.encode() in literal for literal in literals)


def test_limits_left_out_and_limits_of_null_are_shown() -> None:
    asked = [message.limits.asked() for message in examples() if isinstance(message, Execute)]
    assert {} in asked
    assert {"wall_s": float("inf")} in asked
    assert any(len(limits_of) > 1 for limits_of in asked)
    for name in limits.LIMIT_NAMES:
        assert f"| `{name}` |" in PAGE


def test_every_failure_kind_is_listed_once() -> None:
    assert [kind for kind in re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE, re.MULTILINE) if kind in KINDS][
        -14:
    ] == KINDS


@pytest.mark.parametrize(
    "text",
    [
        texts.COMPLETED, texts.OUTSIDE_ENVELOPE, texts.OVERLOADED, texts.SHUTDOWN, texts.CRASHED, texts.STALLED,
        texts.UNSHOWABLE, texts.FUNCTION_RESULT,
        texts.compose(texts.PAYLOAD, n="<n>", m="<m>"),
        texts.compose(texts.PROVIDER_SOURCE, name="<name>", message="<message>"),
        texts.compose(texts.TOOL_NOT_FOUND, tool="<tool>"),
        texts.limit_over_maximum("<name>", "<n>", "<m>"),
        texts.timeout(1).replace("1000", "<n>"),
        texts.cpu(1).replace("1000", "<n>"),
        texts.memory(1).replace("limit 1", "limit <n>"),
        texts.answer_too_large(1, 2).replace("1", "<n>").replace("2", "<m>"),
        texts.name_reserved("console"), texts.name_not_identifier("my-store"), texts.name_refused("class"),
        texts.name_twice("store"),
        texts.tools_collide("store", "list-users", "list.users", names.identifier_form("list.users")),
    ],
)  # fmt: skip
def test_a_text_is_quoted_as_it_is(text: str) -> None:
    assert text in PAGE


@pytest.mark.parametrize("size", [limits.HELLO_BYTES, limits.REQUEST_BYTES, limits.ANSWER_BYTES, limits.FRAME_BYTES])
def test_a_size_is_the_codes(size: int) -> None:
    assert re.search(rf"\b{size}\b", PAGE)


def test_the_whole_frame_is_one() -> None:
    header, body = re.findall(r"^((?:[0-9a-f]{2} ){4}) (\{.*\})$", PAGE, re.MULTILINE)[0]
    assert int.from_bytes(bytes.fromhex(header), "big") == len(body)
    assert encode(decode(body.encode())).decode() == body


def test_the_conversation_can_be_held() -> None:
    conversation = re.findall(
        r"^```json\n(.*?)^```$", PAGE.split("## A whole conversation")[1], re.MULTILINE | re.DOTALL
    )
    client, daemon = Connection(is_client=True), Connection(is_client=False)
    for block in conversation:
        message = decode(block.encode())
        sender, receiver = (client, daemon) if message.from_client else (daemon, client)
        receiver.receive_data(sender.send(message))
        assert receiver.next_message() == message
    assert client.state is daemon.state is State.CLOSED


def test_the_states_are_the_codes() -> None:
    for state in State:
        assert re.search(rf"^\| {state.name} \|", PAGE, re.MULTILINE)


def test_the_binary_object_is_shown_as_it_is_written() -> None:
    assert json.loads('{"__executor_binary_v1__":"Uint8Array","data":"AQID"}')
    assert '\n{"__executor_binary_v1__":"Uint8Array","data":"AQID"}\n' in PAGE


def test_the_version_described_is_the_one_spoken() -> None:
    assert f"It describes version {messages.VERSION}." in PAGE
