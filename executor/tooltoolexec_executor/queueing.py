"""A run's way to its worker: a place among the runs, then a worker, with an eye on the client meanwhile.

try at once ──no──▶ in the queue ──turn──▶ wait for a worker ─▶ admitted
                        └── the client hangs up or speaks, the daemon drains or closes, time is up ──▶ not admitted
"""

from __future__ import annotations

import socket

import trio

from tooltoolexec_executor.admission import OverloadedError, Place
from tooltoolexec_executor.state import DaemonState
from tooltoolexec_executor.workers import Worker
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.errors import ProtocolError


class PeerGoneError(Exception):
    """The client hung up."""


class DrainingError(ProtocolError):
    """The daemon takes no more runs; this one has not begun and may be sent again, to this daemon's successor."""

    def __init__(self) -> None:
        super().__init__("draining", texts.DRAINING)


class NotAdmittedError(Exception):
    """The run gets no worker; `kind` is its failure's."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


async def admit(state: DaemonState, connection: socket.socket, client: str) -> tuple[Place, Worker]:
    """A place and a worker, both the caller's to give back.

    Raises:
        NotAdmittedError: there is none.
        DrainingError: the daemon ends.
        PeerGoneError: the client hung up while it waited.
        ProtocolError: it spoke while it waited.
    """
    _check_open(state)
    place = state.admission.try_enter(client)
    if place is not None:
        worker = state.pool.try_take()
        if worker is not None:
            return place, worker
        place.leave()
    return await _wait(state, connection, client)


async def take_worker(state: DaemonState, deadline: float) -> Worker:
    """A worker for a run that has its place; `deadline` is a time of trio's clock.

    Raises:
        NotAdmittedError: none was ready in time; they cannot be started, or not fast enough.
    """
    with trio.move_on_at(deadline):
        return await state.pool.take()
    raise NotAdmittedError("overloaded", texts.OVERLOADED)


def end_of_patience(state: DaemonState) -> float:
    """When a run that begins to wait now has waited long enough, by trio's clock."""
    return trio.current_time() + state.config.queue_s


def _check_open(state: DaemonState) -> None:
    if state.draining.is_set():
        raise DrainingError


async def _wait(state: DaemonState, connection: socket.socket, client: str) -> tuple[Place, Worker]:
    admitted: tuple[Place, Worker] | None = None
    reason: Exception | None = None

    async def watch_client() -> None:
        nonlocal reason
        reason = await _what_it_did(connection)
        nursery.cancel_scope.cancel()

    with state.until_leaving():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch_client)
            try:
                admitted = await _enter(state, client)
            except NotAdmittedError as error:
                reason = error
            nursery.cancel_scope.cancel()
    if admitted is not None:
        return admitted
    if reason is None:
        _check_open(state)
    raise reason or PeerGoneError


async def _enter(state: DaemonState, client: str) -> tuple[Place, Worker]:
    deadline = end_of_patience(state)
    try:
        place = await state.admission.enter(client)
    except OverloadedError:
        raise NotAdmittedError("overloaded", texts.OVERLOADED) from None
    try:
        return place, await take_worker(state, deadline)
    except BaseException:
        place.leave()
        raise


async def _what_it_did(connection: socket.socket) -> Exception:
    """What a waiting client did, which is allowed nothing. Nothing is read: the worker may still get it all."""
    await trio.lowlevel.wait_readable(connection)
    try:
        data = connection.recv(1, socket.MSG_PEEK)
    except OSError:
        data = b""
    if not data:
        return PeerGoneError()
    return ProtocolError("unexpected", "A client sends nothing while its run waits for a worker.")
