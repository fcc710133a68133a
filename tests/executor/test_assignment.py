"""A worker takes its run over whole, however the bytes come, with its connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tooltoolexec_executor import handover
from tooltoolexec_executor.worker.assignment import receive
from tooltoolexec_protocol.limits import DEFAULTS
from tooltoolexec_protocol.messages import Execute

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def control() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def packed(code: str) -> bytes:
    return handover.pack(Execute(id="1" * 32, code=code, providers=[]), DEFAULTS, 0.5, retained_idle_s=1)


def open_descriptors() -> list[Path]:
    return list(Path("/proc/self/fd").iterdir())


def send(theirs: socket.socket, pieces: list[bytes], connection: socket.socket) -> None:
    socket.send_fds(theirs, [pieces[0]], [connection.fileno()])
    for piece in pieces[1:]:
        theirs.sendall(piece)


@pytest.mark.parametrize("room", [1, 7, 8, 9, 200, 4096])
@pytest.mark.parametrize("first", [1, 7, 8, 9, 300])
def test_a_run_may_come_in_any_pieces(control: Pair, room: int, first: int) -> None:
    whole = packed("async () => 1")
    send(control[1], [whole[:first], whole[first : first + 1], whole[first + 1 :]], control[1])
    assignment = receive(control[0], bytearray(room))
    assert assignment is not None
    with assignment.connection:
        assert (assignment.facts.id, assignment.facts.queued_s) == ("1" * 32, 0.5)
        assert b"async () => 1" in assignment.script
        assert assignment.script.endswith(b"//# sourceURL=program.js")


def test_a_run_larger_than_the_buffer_comes_whole(control: Pair) -> None:
    code = "/*" + "é" * 1_000_000 + "*/ 1"
    whole = packed(code)
    sender = threading.Thread(target=send, args=(control[1], [whole[:1000], whole[1000:]], control[1]))
    sender.start()
    assignment = receive(control[0], bytearray(4096))
    sender.join()
    assert assignment is not None
    with assignment.connection:
        assert code.encode() in assignment.script


def test_there_is_none_without_a_daemon_or_a_connection(control: Pair) -> None:
    control[1].sendall(b"x")
    assert receive(control[0], bytearray(100)) is None
    control[1].close()
    assert receive(control[0], bytearray(100)) is None


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET])
def test_the_connection_is_the_one_that_was_sent(control: Pair, family: socket.AddressFamily) -> None:
    with ExitStack() as stack:
        if family == socket.AF_UNIX:
            client, given = map(stack.enter_context, socket.socketpair())
        else:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            client = stack.enter_context(socket.create_connection(listener.getsockname()))
            given = stack.enter_context(listener.accept()[0])
        send(control[1], [packed("1")], given)
        assignment = receive(control[0], bytearray(4096))
        assert assignment is not None
        taken = stack.enter_context(assignment.connection)
        given.close()
        taken.sendall(b"x")
        assert client.recv(1) == b"x"
        assert (taken.family, taken.type, taken.proto) == (family, socket.SOCK_STREAM, 0)


def test_no_second_descriptor_is_taken(control: Pair) -> None:
    before = len(open_descriptors())
    socket.send_fds(control[1], [packed("1")], [control[1].fileno()] * 2)
    assignment = receive(control[0], bytearray(4096))
    assert assignment is not None
    with assignment.connection:
        assert len(open_descriptors()) == before + 1
