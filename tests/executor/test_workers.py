"""What the daemon makes of a worker's first bytes, over a bare socket in the worker's place."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import trio

from tooltoolexec_executor import workers
from tooltoolexec_executor.worker.main import FAULT, TAKEN
from tooltoolexec_executor.worker.watchdog import COMPUTING, PARKED
from tooltoolexec_executor.workers import Worker, WorkerGoneError
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.messages import Done, encode

HANDOVER = b"handover"


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    control, theirs = socket.socketpair()
    with control, theirs:
        yield control, theirs


def ignore(_state: bytes) -> None:
    pass


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
    assert trio.run(worker.report, ignore) is None


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
    assert trio.run(worker.report, ignore) is None
    (record,) = caplog.records
    assert vars(record)["fields"] == {"exception": "why it failed"}


def test_a_worker_that_parks_and_goes_on_is_heard_before_its_report(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    worker = Worker(sockets[0])
    done = Done(id="0" * 32)
    sockets[1].send(PARKED + COMPUTING + PARKED + frame(encode(done)))
    states: list[bytes] = []
    assert trio.run(worker.report, states.append) == done
    assert states == [PARKED, COMPUTING, PARKED]


def test_a_worker_that_only_ever_parks_is_not_listened_to_for_ever(
    sockets: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_STATES_AT_ONCE", 50)
    worker = Worker(sockets[0])
    sockets[1].send(PARKED * 1000)
    sockets[1].shutdown(socket.SHUT_WR)
    states: list[bytes] = []
    assert trio.run(worker.report, states.append) is None
    assert 50 <= len(states) < 200  # As many at once, and a few for the time that it took.


def test_a_worker_that_talks_on_after_its_outcome_is_not_listened_to(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    worker = Worker(sockets[0])
    sockets[1].send(b"x" * 1000)
    trio.run(worker.gone)  # It returns although the other end is open.


def test_a_workers_last_words_are_waited_out(sockets: tuple[socket.socket, socket.socket]) -> None:
    worker = Worker(sockets[0])
    sockets[1].send(PARKED + COMPUTING)
    sockets[1].shutdown(socket.SHUT_WR)
    trio.run(worker.gone)
    assert worker.is_idle() is False
