"""From an arrival to its session: a seat among the connections, and the handshake where it speaks TLS."""

from __future__ import annotations

import socket
import ssl

import trio

from tooltoolexec_executor.connections import Seat, TooManyError
from tooltoolexec_executor.conversation import Conversation
from tooltoolexec_executor.listeners import Arrival
from tooltoolexec_executor.logs import log_refusal
from tooltoolexec_executor.relay import Relay, send_all
from tooltoolexec_executor.session import HELLO_S, Session
from tooltoolexec_executor.state import DaemonState
from tooltoolexec_executor.tls import Cipher, TlsError
from tooltoolexec_protocol import texts

_HANDSHAKE_READ_BYTES = 16 * 1024
_LAST_BYTES_S = 60.0
"""How long a slow client may take to read what is left for it once its run is over."""


async def receive(state: DaemonState, arrival: Arrival) -> None:
    """Serve one arrival to its end. Never raises for anything the client does."""
    try:
        seat = state.connections.take(arrival.client)
    except TooManyError:
        await _turn_away(state, arrival)
        return
    context = state.access.tls if arrival.is_tls else None
    if context is not None:
        await _serve_tls(state, arrival, seat, context)
    else:
        await Session(state, arrival, Conversation(arrival.connection), seat).serve()


async def _turn_away(state: DaemonState, arrival: Arrival) -> None:
    """One client has too many connections. It is not worth a handshake, nor a word where many are being told."""
    _note_refusal(state, arrival, "busy", texts.BUSY)
    talk = Conversation(arrival.connection)
    try:
        if not arrival.is_tls:
            state.turned_away.acquire_nowait()
            try:
                await talk.refuse("busy", texts.BUSY)
            finally:
                state.turned_away.release()
    except trio.WouldBlock:
        pass
    finally:
        talk.close()


async def _serve_tls(state: DaemonState, arrival: Arrival, seat: Seat, context: ssl.SSLContext) -> None:
    outer, cipher = arrival.connection, Cipher(context)
    outer.setblocking(False)
    try:
        await _shake_hands(outer, cipher)
        inner, sessions_end = socket.socketpair()
    except (TlsError, OSError) as error:
        if isinstance(error, TlsError):
            _note_refusal(state, arrival, "tls", str(error))
        seat.leave()
        outer.close()
        return
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Relay(outer, cipher, inner).run)
        await Session(state, arrival, Conversation(sessions_end), seat).serve()
        nursery.cancel_scope.deadline = trio.current_time() + _LAST_BYTES_S


async def _shake_hands(outer: socket.socket, cipher: Cipher) -> None:
    """Raises TlsError or OSError where that fails; the client has been told why."""
    connection = trio.socket.from_stdlib_socket(outer.dup())

    async def receive_some() -> bytes:
        return await connection.recv(_HANDSHAKE_READ_BYTES)

    async def send(data: bytes) -> None:
        await send_all(connection, data)

    with connection, trio.move_on_after(HELLO_S):
        try:
            await cipher.handshake(receive_some, send)
        except TlsError:
            await send(cipher.output())
            raise
        return
    raise TlsError(f"no handshake within {HELLO_S:g} seconds")


def _note_refusal(state: DaemonState, arrival: Arrival, code: str, reason: str) -> None:
    state.tally.refused[code] += 1
    log_refusal(code, arrival.client, arrival.client, reason)
