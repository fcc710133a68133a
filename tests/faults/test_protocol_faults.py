"""A client that breaks the protocol is refused by name, its connection ends, and nobody else notices."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable

import pytest

from serving import BareClient, ServedDaemon, children_of, descriptor_count, wait_until, workers_of
from tooltoolexec import sync
from tooltoolexec_protocol.limits import FRAME_BYTES, HELLO_BYTES, REQUEST_BYTES
from tooltoolexec_protocol.messages import (
    Answers,
    Calls,
    Done,
    Execute,
    Hello,
    Outcome,
    ProviderSpec,
    Started,
    Status,
    Unknown,
)

from .conftest import StartDaemon


def runs_fine(address: str) -> None:
    with sync.connect(address) as executor:
        assert executor.execute("async () => 1").result == 1


def header(length: int) -> bytes:
    return struct.pack("!I", length)


Fault = Callable[[BareClient], None]

BEFORE_HELLO: dict[str, tuple[Fault, str, str]] = {
    "no_json": (lambda c: c.send_body(b"{"), "malformed", "no JSON"),
    "no_object": (lambda c: c.send_body(b"[]"), "malformed", "type"),
    "empty": (lambda c: c.send_body(b""), "malformed", "no JSON"),
    "no_utf8": (lambda c: c.send_body(b'{"type":"\xff"}'), "malformed", ""),
    "deep_nesting": (lambda c: c.send_body(b"[" * 10_000), "malformed", ""),
    "unknown_message": (lambda c: c.send_body(b'{"type":"dance"}'), "unknown_message", "dance"),
    "unknown_field": (
        lambda c: c.send_body(b'{"type":"hello","version":1,"oldest_version":1,"more":1}'),
        "malformed",
        "more",
    ),
    "wrong_type_of_field": (
        lambda c: c.send_body(b'{"type":"hello","version":"1","oldest_version":1}'),
        "malformed",
        "version",
    ),
    "future_version": (lambda c: c.send(Hello(version=99, oldest_version=98)), "version", "98 to 99"),
    "oversized_hello": (lambda c: c.socket.sendall(header(HELLO_BYTES + 1)), "too_large", str(HELLO_BYTES + 1)),
    "largest_header": (lambda c: c.socket.sendall(header(2**32 - 1)), "too_large", str(2**32 - 1)),
    "execute_first": (lambda c: c.send(Execute(id="0" * 32, code="1")), "unexpected", "execute"),
    "a_daemons_message": (lambda c: c.send(Started(id="0" * 32, queued_s=0)), "unexpected", "started"),
    "http": (lambda c: c.socket.sendall(b"GET / HTTP/1.1\r\n\r\n"), "too_large", ""),
}

AFTER_HELLO: dict[str, tuple[Fault, str, str]] = {
    "hello_again": (lambda c: c.send(Hello(version=1, oldest_version=1)), "unexpected", "hello"),
    "answers_before_a_run": (lambda c: c.send(Answers(answers=[(1, "")])), "unexpected", "answers"),
    "oversized_request": (lambda c: c.socket.sendall(header(REQUEST_BYTES + 1)), "too_large", str(REQUEST_BYTES + 1)),
    "bad_id": (lambda c: c.send_body(b'{"type":"execute","id":"x","code":"1"}'), "malformed", "id"),
    "no_code": (
        lambda c: c.send_body(json.dumps({"type": "execute", "id": "0" * 32}).encode()),
        "malformed",
        "code",
    ),
    "negative_limit": (
        lambda c: c.send_body(
            json.dumps({"type": "execute", "id": "0" * 32, "code": "1", "limits": {"calls": -1}}).encode()
        ),
        "malformed",
        "calls",
    ),
    "unknown_limit": (
        lambda c: c.send_body(
            json.dumps({"type": "execute", "id": "0" * 32, "code": "1", "limits": {"x": 1}}).encode()
        ),
        "malformed",
        "x",
    ),
}  # fmt: skip

WHILE_RUNNING: dict[str, tuple[Fault, str, str]] = {
    "no_json": (lambda c: c.send_body(b"{"), "malformed", "no JSON"),
    "no_object": (lambda c: c.send_body(b"7"), "malformed", "type"),
    "no_utf8": (lambda c: c.send_body(b'{"type":"\xff"}'), "malformed", ""),
    "unknown_message": (lambda c: c.send_body(b'{"type":"dance"}'), "unknown_message", "dance"),
    "status": (lambda c: c.send(Status()), "unexpected", "status"),
    "execute_again": (lambda c: c.send(Execute(id="1" * 32, code="1")), "unexpected", "execute"),
    "answers_that_are_none": (lambda c: c.send_body(b'{"type":"answers","answers":7}'), "malformed", "answers"),
    "an_answer_of_three": (lambda c: c.send_body(b'{"type":"answers","answers":[[1,"",2]]}'), "malformed", ""),
    "an_answer_that_is_no_text": (lambda c: c.send_body(b'{"type":"answers","answers":[[1,7]]}'), "malformed", ""),
    "oversized_frame": (lambda c: c.socket.sendall(header(FRAME_BYTES + 1)), "too_large", str(FRAME_BYTES + 1)),
    "an_inherited_type": (lambda c: c.send_body(b'{"__proto__":{"type":"answers","answers":[]}}'), "malformed", "type"),
}


def check(client: BareClient, fault: tuple[Fault, str, str]) -> None:
    act, code, text = fault
    act(client)
    refused = client.refusal()
    assert refused.code == code
    assert text in refused.message


@pytest.mark.parametrize("name", BEFORE_HELLO)
def test_before_the_greeting(name: str, address: str) -> None:
    with BareClient(address) as client:
        check(client, BEFORE_HELLO[name])
    runs_fine(address)


@pytest.mark.parametrize("name", AFTER_HELLO)
def test_after_the_greeting(name: str, address: str) -> None:
    with BareClient(address) as client:
        client.greet()
        check(client, AFTER_HELLO[name])
    runs_fine(address)


@pytest.mark.parametrize("name", WHILE_RUNNING)
def test_against_a_running_worker(name: str, address: str) -> None:
    with BareClient(address) as client:
        client.execute("async () => { await __dispatch('a', 'b', ''); return 1 }")
        assert isinstance(client.receive(), Started)
        assert isinstance(client.receive(), Calls)
        check(client, WHILE_RUNNING[name])
    runs_fine(address)


def test_answers_to_calls_nobody_made_are_dropped(address: str) -> None:
    with BareClient(address) as client:
        client.execute("async () => await __dispatch('a', 'b', '')")
        assert isinstance(client.receive(), Started)
        assert isinstance(client.receive(), Calls)
        client.send(Answers(answers=[(99, "stray"), (-1, "stray")]))
        client.send(Answers(answers=[(1, "mine"), (1, "twice")]))
        done = client.receive()
        assert isinstance(done, Done)
        assert done.result == "mine"


def test_a_frame_in_single_bytes_is_read(address: str) -> None:
    with BareClient(address) as client:
        body = b'{"type":"hello","version":1,"oldest_version":1}'
        for byte in header(len(body)) + body:
            client.socket.sendall(bytes([byte]))
        assert client.receive() is not None


def test_a_partial_frame_then_the_end_harms_nothing(address: str) -> None:
    for sent in (b"", b"\0", header(40), header(40) + b'{"type'):
        with BareClient(address) as client:
            client.socket.sendall(sent)
    runs_fine(address)


def test_an_unknown_run_has_no_outcome_and_nobody_elses_is_told(daemon: ServedDaemon) -> None:
    with BareClient(daemon.unix) as client:
        request = client.execute("async () => { throw new Error('mine') }")
        while client.receive() is not None:
            pass
    for place, known in ((daemon.unix, True), (daemon.tcp, False)):
        with BareClient(place) as client:
            client.greet()
            client.send(Outcome(id=request.id))
            answer = client.receive()
            assert isinstance(answer, Done if known else Unknown)
            client.send(Outcome(id=os.urandom(16).hex()))
            assert isinstance(client.receive(), Unknown)


def test_the_id_of_a_known_run_is_refused(address: str) -> None:
    with BareClient(address) as first:
        request = first.execute("async () => { await __dispatch('a', 'b', '') }")
        assert isinstance(first.receive(), Started)
        with BareClient(address) as second:
            second.greet()
            second.send(Execute(id=request.id, code="1"))
            assert second.refusal().code == "duplicate_run"


def test_a_hello_that_does_not_come_is_refused_at_its_deadline(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(preparation="import tooltoolexec_executor.session as s; s.HELLO_S = 0.1")
    with BareClient(daemon.unix) as client:
        assert client.refusal().code == "deadline"
    with BareClient(daemon.unix) as client:
        client.socket.sendall(header(40) + b"{")
        assert client.refusal().code == "deadline"
    runs_fine(daemon.unix)


def test_a_request_that_does_not_end_is_refused_at_its_deadline(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(preparation="import tooltoolexec_executor.conversation as s; s._FRAME_S = 0.1")
    with BareClient(daemon.unix) as client:
        client.greet()
        client.socket.sendall(header(40) + b"{")
        assert client.refusal().code == "deadline"


def test_faults_leave_no_descriptor_and_no_process(daemon: ServedDaemon) -> None:
    runs_fine(daemon.unix)
    wait_until(lambda: len(workers_of(daemon.pid)) == 2, "two warm workers")
    before = descriptor_count(daemon.pid)
    for _ in range(3):
        for fault in BEFORE_HELLO.values():
            with BareClient(daemon.tcp) as client:
                check(client, fault)
        for fault in AFTER_HELLO.values():
            with BareClient(daemon.unix) as client:
                client.greet()
                check(client, fault)
    runs_fine(daemon.unix)
    wait_until(lambda: len(workers_of(daemon.pid)) == 2, "two warm workers again")
    wait_until(lambda: descriptor_count(daemon.pid) == before, "the descriptors of before")
    assert len(children_of(daemon.pid)) == 1


def test_labels_too_long_for_the_logs_are_refused(shared_daemon: ServedDaemon) -> None:
    with BareClient(shared_daemon.unix) as client:
        client.greet()
        client.send(Execute(id="1" * 32, code="1", labels={"a": "x" * 5000}))
        refusal = client.refusal()
    assert (refusal.code, refusal.message) == ("malformed", "The labels of 5001 characters are over the limit of 4096.")


def test_a_request_with_millions_of_tools_is_answered_and_holds_nobody_up(shared_daemon: ServedDaemon) -> None:
    with BareClient(shared_daemon.unix) as client, sync.connect(shared_daemon.unix) as executor:
        client.greet()
        spec = ProviderSpec(name="store", tools=["a"] * 2_000_000)
        client.send(Execute(id="2" * 32, code="1", providers=[spec]))
        assert executor.execute("() => 1").result == 1
        done = client.receive()
    assert isinstance(done, Done)
    assert done.failure is not None
    assert (done.failure.kind, done.failure.message) == (
        "declaration",
        "The run declares 2000000 tools; at most 10000 are allowed.",
    )
