"""What docs/protocol.md shows and says of a run, held against a daemon with the usual settings."""

from __future__ import annotations

import os
import re

import msgspec
import pytest

from serving import BareClient, ServedDaemon
from tooltoolexec_protocol.messages import (
    Answers,
    Calls,
    Done,
    Execute,
    Outcome,
    Refused,
    Started,
    Status,
    Unknown,
    decode,
)

from .pages import ROOT

PAGE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r'^```json\n(\{\s*"type":\s*"execute".*?)^```$', PAGE, re.MULTILINE | re.DOTALL)


def last_of(client: BareClient, envelope: str = '{"result":{"name":"Ada"}}') -> Done | Refused:
    """The run's last message; every call is answered twice, and one that nobody made as well."""
    while True:
        message = client.receive()
        if isinstance(message, Done | Refused):
            return message
        assert message is not None
        if isinstance(message, Calls):
            numbers = [call[0] for call in message.calls]
            client.send(Answers(answers=[(number, envelope) for number in (999, *numbers, *numbers)]))


def start_waiting(client: BareClient) -> str:
    """A run that waits for its only call."""
    client.greet()
    request = Execute(id=os.urandom(16).hex(), code="async () => await __dispatch('s', 'f', '[]')")
    client.send(request)
    assert isinstance(client.receive(), Started)
    assert isinstance(client.receive(), Calls)
    return request.id


def outcome_of(served: ServedDaemon, run_id: str) -> object:
    with BareClient(served.unix) as client:
        client.greet()
        client.send(Outcome(id=run_id))
        return client.receive()


@pytest.mark.parametrize("block", BLOCKS)
def test_a_request_that_is_shown_works_unless_it_asks_for_no_bound(block: str, served: ServedDaemon) -> None:
    shown = decode(block.encode())
    assert isinstance(shown, Execute)
    with BareClient(served.unix) as client:
        client.greet()
        client.send(msgspec.structs.replace(shown, id=os.urandom(16).hex()))
        done = last_of(client)
    assert isinstance(done, Done)
    kind = done.failure and done.failure.kind
    assert kind == ("limit" if "null" in block else None), done.failure


def test_a_run_that_succeeded_is_unknown_and_its_id_is_taken(served: ServedDaemon) -> None:
    with BareClient(served.unix) as client:
        request = client.execute("1 + 1")
        last = last_of(client)
        assert isinstance(last, Done)
        assert last.failure is None
    assert outcome_of(served, request.id) == Unknown(id=request.id)
    with BareClient(served.unix) as client:
        client.greet()
        client.send(request)
        assert client.refusal().code == "duplicate_run"


@pytest.mark.parametrize(
    ("body", "code"), [(b'{"type":"status"}', "unexpected"), (b'{"type":"ping"}', "unknown_message")]
)
def test_a_running_program_takes_answers_only(body: bytes, code: str, served: ServedDaemon) -> None:
    with BareClient(served.unix) as client:
        run_id = start_waiting(client)
        client.send_body(body)
        assert client.refusal().code == code
    done = outcome_of(served, run_id)
    assert isinstance(done, Done)
    assert done.failure is not None
    assert done.failure.kind == "crashed"


def test_a_worker_ignores_what_it_does_not_know_in_answers(served: ServedDaemon) -> None:
    with BareClient(served.unix) as client:
        start_waiting(client)
        client.send_body(b'{"type":"answers","more":1,"answers":[[1,"{\\"result\\":7}"]]}')
        last = last_of(client)
    assert isinstance(last, Done)
    assert last.failure is None


def test_the_report_counts_runs_by_the_keys_that_are_listed(served: ServedDaemon) -> None:
    with BareClient(served.unix) as client:
        client.greet()
        client.send(Status())
        report = client.receive()
    kinds = set(re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE, re.MULTILINE))
    assert set(report.runs) <= {"ok", "cancelled", *kinds}  # type: ignore[union-attr]
