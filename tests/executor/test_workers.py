"""What the daemon makes of a worker's first bytes, over a bare socket in the worker's place."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import trio

from tooltoolexec_executor.worker.main import FAULT, TAKEN
from tooltoolexec_executor.workers import Worker, WorkerGoneError
from tooltoolexec_protocol.framing import frame

HANDOVER = b"handover"


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    control, theirs = socket.socketpair()
    with control, theirs:
        yield control, theirs


def give(worker: Worker) -> None:
    connection, peer = socket.socketpair()
    with connection, peer:
        worker.give(connection, HANDOVER)


def test_a_worker_that_says_it_has_the_run_has_it(sockets: tuple[socket.socket, socket.socket]) -> None:
    worker = Worker(sockets[0])
    give(worker)
    sockets[1].send(TAKEN)
    trio.run(worker.taken)
    sockets[1].shutdown(socket.SHUT_WR)
    assert trio.run(worker.report) is None


def test_a_worker_that_ends_with_the_run_unread_was_idle(sockets: tuple[socket.socket, socket.socket]) -> None:
    worker = Worker(sockets[0])
    give(worker)
    sockets[1].close()
    with pytest.raises(WorkerGoneError):
        trio.run(worker.taken)


def test_a_worker_that_ends_with_the_run_read_had_it(sockets: tuple[socket.socket, socket.socket]) -> None:
    worker = Worker(sockets[0])
    give(worker)
    assert sockets[1].recv(1024) == HANDOVER
    sockets[1].close()
    trio.run(worker.taken)


def test_a_fault_before_the_first_word_is_logged(
    sockets: tuple[socket.socket, socket.socket], caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(sockets[0])
    give(worker)
    sockets[1].send(FAULT + frame(b"why it failed"))
    trio.run(worker.taken)
    assert trio.run(worker.report) is None
    assert "why it failed" in caplog.text
