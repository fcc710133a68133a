"""The connection's table: what it draws is allowed, and nothing else is, at either end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltoolexec_protocol import limits
from tooltoolexec_protocol.connection import Connection, State
from tooltoolexec_protocol.errors import LocalProtocolError, ProtocolError
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.messages import Answers, Done, Execute, Hello, Message, Started, Welcome, encode, tag_of

from .wire_examples import EXAMPLES, ID

TABLE = {
    ("HELLO", "hello"): "GREETING",
    ("GREETING", "welcome"): "READY",
    ("READY", "execute"): "ADMISSION",
    ("READY", "outcome"): "ASKED",
    ("READY", "status"): "ASKED",
    ("ASKED", "done"): "READY",
    ("ASKED", "unknown"): "READY",
    ("ASKED", "report"): "READY",
    ("ADMISSION", "started"): "RUNNING",
    ("ADMISSION", "done"): "CLOSED",
    ("RUNNING", "calls"): "RUNNING",
    ("RUNNING", "logs"): "RUNNING",
    ("RUNNING", "answers"): "RUNNING",
    ("RUNNING", "requests"): "RUNNING",
    ("RUNNING", "invoke"): "RUNNING",
    ("RUNNING", "returns"): "RUNNING",
    ("RUNNING", "done"): "CLOSED",
    ("RETAINED", "logs"): "RETAINED",
    ("RETAINED", "answers"): "RETAINED",
    ("RETAINED", "invoke"): "RETAINED",
    ("RETAINED", "returns"): "RETAINED",
    **{(state.name, "refused"): "CLOSED" for state in State},
}
FROM_CLIENT = {"hello", "execute", "outcome", "status", "answers", "invoke"}

every_combination = pytest.mark.parametrize(
    ("state", "message", "is_client"),
    [
        pytest.param(state, message, is_client, id=f"{state.name}-{tag_of(type(message))}-{is_client}")
        for state in State
        for message in EXAMPLES
        for is_client in (True, False)
    ],
)


def expected(state: State, message: Message, *, sender_is_client: bool) -> State | None:
    tag = tag_of(type(message))
    after = TABLE.get((state.name, tag)) if (tag in FROM_CLIENT) is sender_is_client else None
    return None if after is None else State[after]


@every_combination
def test_sending_moves_as_drawn_or_is_this_sides_own_error(state: State, message: Message, is_client: bool) -> None:
    connection = Connection(is_client=is_client, state=state)
    after = expected(state, message, sender_is_client=is_client)
    if after is None:
        with pytest.raises(LocalProtocolError, match=f"^cannot send {tag_of(type(message))} in state {state.name}$"):
            connection.send(message)
        assert connection.state is state
    else:
        assert connection.send(message) == frame(encode(message))
        assert connection.state is after


@every_combination
def test_receiving_moves_as_drawn_or_is_unexpected(state: State, message: Message, is_client: bool) -> None:
    connection = Connection(is_client=is_client, state=state)
    connection.receive_data(frame(encode(message)))
    after = expected(state, message, sender_is_client=not is_client)
    if state is State.CLOSED:
        assert connection.next_message() is None
        assert connection.state is State.CLOSED
    elif after is None:
        with pytest.raises(ProtocolError) as caught:
            connection.next_message()
        assert caught.value.code == "unexpected"
        assert str(caught.value) == f"The {tag_of(type(message))} message has no place here."
        assert connection.state is state
    else:
        assert connection.next_message() == message
        assert connection.state is after


def test_a_connection_starts_before_hello_unless_told_otherwise() -> None:
    assert Connection(is_client=True).state is State.HELLO
    assert Connection(is_client=False, state=State.RUNNING).state is State.RUNNING


def test_questions_may_be_asked_before_the_run() -> None:
    by_tag = {tag_of(type(message)): message for message in EXAMPLES}
    client, daemon = Connection(is_client=True), Connection(is_client=False)
    conversation = (
        "hello welcome status report outcome unknown outcome done execute started calls requests logs answers "
        "invoke returns done"
    ).split()
    for tag in conversation:
        sender, receiver = (client, daemon) if tag in FROM_CLIENT else (daemon, client)
        receiver.receive_data(sender.send(by_tag[tag]))
        assert receiver.next_message() == by_tag[tag]
        assert client.state is daemon.state
    assert client.state is State.CLOSED


@given(st.integers(1, 50))
def test_a_conversation_in_pieces_is_the_same_conversation(size: int) -> None:
    sender, receiver = Connection(is_client=False, state=State.GREETING), Connection(is_client=True)
    receiver.send(Hello(version=1, oldest_version=1))
    stream = sender.send(Welcome(version=1))
    receiver.state = sender.state = State.ADMISSION
    stream += sender.send(Started(id=ID, queued_s=0.0)) + sender.send(Done(id=ID, result=1))
    receiver.state = State.GREETING
    found: list[Message] = []
    for start in range(0, len(stream), size):
        receiver.receive_data(stream[start : start + size])
        while (message := receiver.next_message()) is not None:
            found.append(message)
            if receiver.state is State.READY:
                receiver.send(Execute(id=ID, code=""))
    assert [type(message) for message in found] == [Welcome, Started, Done]
    assert receiver.at_border


def test_a_done_that_says_retained_keeps_the_connection_open() -> None:
    client, worker = (Connection(is_client=is_client, state=State.RUNNING) for is_client in (True, False))
    client.receive_data(worker.send(Done(id=ID, retained=True)))
    assert client.next_message() == Done(id=ID, retained=True)
    assert client.state is worker.state is State.RETAINED
    with pytest.raises(LocalProtocolError):
        worker.send(Done(id=ID))


@pytest.mark.parametrize("state", [state for state in State if state not in (State.RUNNING, State.CLOSED)])
def test_only_a_run_under_way_can_be_retained(state: State) -> None:
    client = Connection(is_client=True, state=state)
    client.receive_data(frame(encode(Done(id=ID, retained=True))))
    with pytest.raises(ProtocolError, match="has no place here"):
        client.next_message()


def test_nothing_is_read_after_the_last_message() -> None:
    client = Connection(is_client=True, state=State.RUNNING)
    client.receive_data(frame(encode(Done(id=ID))) * 2)
    assert isinstance(client.next_message(), Done)
    assert client.next_message() is None
    assert client.state is State.CLOSED


def test_the_daemon_refuses_unknown_fields_and_the_client_does_not() -> None:
    daemon = Connection(is_client=False)
    daemon.receive_data(frame(b'{"type":"hello","version":1,"oldest_version":1,"mood":"good"}'))
    with pytest.raises(ProtocolError) as caught:
        daemon.next_message()
    assert caught.value.code == "malformed"
    client = Connection(is_client=True, state=State.GREETING)
    client.receive_data(frame(b'{"type":"welcome","version":1,"mood":"good"}'))
    assert client.next_message() == Welcome(version=1)


BOUNDS = {
    State.HELLO: limits.HELLO_BYTES,
    State.GREETING: limits.REQUEST_BYTES,
    State.READY: limits.REQUEST_BYTES,
    State.ASKED: limits.REQUEST_BYTES,
    State.ADMISSION: limits.REQUEST_BYTES,
    State.RUNNING: limits.FRAME_BYTES,
    State.RETAINED: limits.FRAME_BYTES,
}


@pytest.mark.parametrize("state", BOUNDS)
def test_a_frame_over_the_states_bound_is_refused_before_its_body(state: State) -> None:
    daemon = Connection(is_client=False, state=state)
    assert daemon.frame_bound == BOUNDS[state]
    daemon.receive_data((BOUNDS[state] + 1).to_bytes(4, "big"))
    with pytest.raises(ProtocolError) as caught:
        daemon.next_message()
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("state", BOUNDS)
def test_a_frame_at_the_states_bound_is_waited_for(state: State) -> None:
    daemon = Connection(is_client=False, state=state)
    daemon.receive_data(BOUNDS[state].to_bytes(4, "big"))
    assert daemon.next_message() is None
    assert daemon.bytes_wanted == BOUNDS[state]


@pytest.mark.parametrize("state", BOUNDS)
def test_a_client_takes_large_frames_in_every_state(state: State) -> None:
    assert Connection(is_client=True, state=state).frame_bound == limits.FRAME_BYTES


def test_the_bytes_wanted_lead_exactly_to_the_border() -> None:
    daemon = Connection(is_client=False)
    stream = frame(encode(Hello(version=1, oldest_version=1)))
    assert daemon.bytes_wanted == 4
    daemon.receive_data(stream[:4])
    assert daemon.bytes_wanted == len(stream) - 4
    assert not daemon.at_border
    daemon.receive_data(stream[4:])
    assert daemon.bytes_wanted == 0
    assert isinstance(daemon.next_message(), Hello)
    assert daemon.at_border


def test_a_torn_frame_is_not_at_the_border() -> None:
    worker = Connection(is_client=False, state=State.RUNNING)
    worker.receive_data(frame(encode(Answers(answers=[])))[:-1])
    assert worker.next_message() is None
    assert not worker.at_border


def test_an_empty_body_is_malformed() -> None:
    daemon = Connection(is_client=False)
    daemon.receive_data(frame(b""))
    with pytest.raises(ProtocolError) as caught:
        daemon.next_message()
    assert caught.value.code == "malformed"
