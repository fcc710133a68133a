"""The decoder and the state machine: whatever comes is a message in its place or a refusal, however it is cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache

from protocol.wire_examples import WIRE
from tooltoolexec_protocol.connection import Connection, State
from tooltoolexec_protocol.errors import LocalProtocolError, ProtocolError
from tooltoolexec_protocol.framing import HEADER_BYTES, frame
from tooltoolexec_protocol.messages import MESSAGE_TYPES, Message, decode

from .frames import LITERALS, Budget, Memory, frame_counts, hostile_body, hostile_frame, literal, pieces

CODES = {"malformed", "unknown_message", "too_large", "unexpected"}
GROWTH_MB = 64

Step = bytes | Message
"""What the peer sends, or what this end says then."""
Feed = Callable[[Connection, bytes], Iterator[bytes]]
"""How bytes reach an end."""


def conversation(chance: random.Random, end: Connection, budget: Budget) -> list[Step]:
    """Mostly what the states allow, from either side, so that all of them are reached; then anything."""
    steps: list[Step] = []
    state = end.state
    wildness = chance.choice([0.02, 0.1, 0.5])
    for _ in range(chance.randint(1, 60)):
        budget.sent += 1
        hears, says = places(state, is_client=end.is_client)
        if chance.random() < wildness or not (hears or says):
            steps.append(hostile_frame(chance) if chance.random() < 0.9 else WIRE[chance.choice(list(WIRE))][0])
            continue
        name = chance.choice([*hears, *says])
        if name in hears:
            steps.append(frame(LITERALS[name]))
        else:
            steps.append(WIRE[name][0])
        state = hears.get(name) or says[name]
    if steps and isinstance(steps[-1], bytes) and chance.random() < 0.3:
        steps[-1] = steps[-1][: chance.randrange(len(steps[-1]))]
    return steps


@cache
def places(state: State, *, is_client: bool) -> tuple[dict[str, State], dict[str, State]]:
    """Which messages may come and which may be said in a state, and where they lead; refusals only where all ends."""
    end = Connection(is_client=is_client, state=state)
    found: tuple[dict[str, State], dict[str, State]] = ({}, {})
    for name, (message, _) in WIRE.items():
        for sender_is_client in (not is_client, is_client):
            after = end._after(message, sender_is_client=sender_is_client)
            if after is not None and not name.startswith("refused"):
                found[sender_is_client is is_client][name] = after
    return found


def hold(end: Connection, steps: list[Step], feed: Feed) -> list[object]:
    """Everything that `end` makes of the conversation, up to a refusal."""
    trace: list[object] = []
    for step in steps:
        if isinstance(step, Message):
            try:
                trace.append(end.send(step))
            except LocalProtocolError as error:
                trace.append(str(error))
            continue
        try:
            for part in feed(end, step):
                end.receive_data(part)
                while (message := end.next_message()) is not None:
                    assert isinstance(message, MESSAGE_TYPES)
                    assert message.from_client is not end.is_client
                    trace.append(message)
                assert end.state is State.CLOSED or 0 < end.bytes_wanted <= end.frame_bound + HEADER_BYTES
        except ProtocolError as error:
            return [*trace, code_of(error)]
        trace.append((end.state, end.at_border))
    return trace


def code_of(refusal: ProtocolError) -> str:
    """Its code, once it is clear that it may be sent and shown."""
    assert refusal.code in CODES
    assert str(refusal).isascii()
    assert len(str(refusal)) < 400
    return refusal.code


def whole(_end: Connection, data: bytes) -> Iterator[bytes]:
    yield data


def exactly_wanted(end: Connection, data: bytes) -> Iterator[bytes]:
    """As one reads who takes no byte beyond a frame; the rest of what came after the last one is nobody's."""
    at = 0
    while at < len(data):
        size = len(data) if end.state is State.CLOSED else end.bytes_wanted
        yield data[at : at + size]
        at += size


@frame_counts
def test_any_bytes_in_any_state_give_the_same_messages_or_the_same_refusal_however_they_are_cut(frames: int) -> None:
    memory, budget, ends = Memory(), Budget(frames, "connection"), set()
    for number in budget:
        with budget.replayable(number):
            chance = budget.chance(number)
            is_client = chance.random() < 0.5
            first = chance.choice([State.HELLO, State.HELLO, *State])
            steps = conversation(chance, Connection(is_client=is_client, state=first), budget)

            def cut(_end: Connection, data: bytes, chance: random.Random = chance) -> Iterator[bytes]:
                return pieces(data, chance)

            traces = []
            for feed in (whole, cut, exactly_wanted):
                end = Connection(is_client=is_client, state=first)
                traces.append(hold(end, steps, feed))
                ends.add((is_client, end.state))
            assert traces[0] == traces[1] == traces[2]
    assert ends == {(is_client, state) for is_client in (True, False) for state in State}, "a state was never reached"
    assert memory.growth_mb() < GROWTH_MB


@frame_counts
def test_the_quick_way_of_reading_a_frame_and_the_slow_one_come_to_the_same(frames: int) -> None:
    memory, budget = Memory(), Budget(frames, "decode")
    taken = 0
    for number in budget:
        with budget.replayable(number):
            chance = budget.chance(number)
            budget.sent += 1
            body = hostile_body(chance) if chance.random() < 0.9 else literal(chance)
            message = reading(body)
            # The blank makes it slow. What the quick way skips need not be UTF-8: it does not look.
            slowly = reading(b" " + (body if isinstance(message, str) else repaired(body)))
            assert message == slowly, body
            taken += isinstance(message, Message)
    assert 0 < taken < budget.sent
    assert memory.growth_mb() < GROWTH_MB


def reading(body: bytes) -> Message | str:
    try:
        return decode(body)
    except ProtocolError as error:
        return code_of(error)


def repaired(body: bytes) -> bytes:
    return body.decode("utf-8", "replace").encode()
