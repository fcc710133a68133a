"""From an arrival to its session: a seat among the connections, and the handshake where it speaks TLS."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

import trio

from tooltoolexec_executor.connections import Seat, TooManyError
from tooltoolexec_executor.conversation import Conversation
from tooltoolexec_executor.listeners import Arrival
from tooltoolexec_executor.logs import log_refusal
from tooltoolexec_executor.relay import Relay
from tooltoolexec_executor.sending import send_all
from tooltoolexec_executor.session import HELLO_S, Session
from tooltoolexec_executor.state import DaemonState
from tooltoolexec_executor.tls import Cipher, TlsError
from tooltoolexec_protocol import texts

_HANDSHAKE_READ_BYTES = 16 * 1024
_LAST_BYTES_S = 60.0
"""How long a slow client may take to read what is left for it once its run is over."""
_STANDSTILL_S = 10.0
"""How long it may take none of it."""


async def receive(state: DaemonState, arrival: Arrival) -> None:
    """Serve one arrival to its end. Never raises for anything the client does."""
    try:
        seat = state.connections.take(arrival.client)
    except TooManyError:
        await _turn_away(state, arrival)
        return
    if not arrival.is_tls:
        await Session(state, arrival, Conversation(arrival.connection), seat).serve()
    elif state.access.tls is not None:  # No reload takes it away from a port that speaks TLS.
        await _serve_tls(state, arrival, seat, state.access.tls)


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
    pair: tuple[socket.socket, socket.socket] | None = None
    try:
        with state.until_leaving():
            await _shake_hands(outer, cipher)
            pair = _plain_side(state, arrival)
    except TlsError as error:
        _note_refusal(state, arrival, "tls", str(error))
    except OSError:
        pass  # It hung up.
    if pair is None:
        seat.leave()
        outer.close()
        return
    relay = Relay(outer, cipher, pair[0])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(relay.run)
        session = Session(state, arrival, Conversation(pair[1]), seat)
        await session.serve()
        await _see_out(state, relay, session.client)
        nursery.cancel_scope.cancel()


def _plain_side(state: DaemonState, arrival: Arrival) -> tuple[socket.socket, socket.socket] | None:
    """The relay's socketpair; None where this process has no descriptor left for it."""
    try:
        return socket.socketpair()
    except OSError as error:
        _note_refusal(state, arrival, "busy", f"no descriptor is left for it: {error.strerror}")
        return None


async def _see_out(state: DaemonState, relay: Relay, client: str) -> None:
    """Let a client read what is left for it once its run is over; until then it counts as a connection again."""
    try:
        seat = state.connections.take(client)
    except TooManyError:
        return
    state.last_words.add(relay.ended)
    try:
        with trio.move_on_after(_LAST_BYTES_S):
            while not relay.ended.is_set():
                before = relay.sent
                with trio.move_on_after(_STANDSTILL_S):
                    await relay.ended.wait()
                if relay.sent == before:
                    return
    finally:
        state.last_words.discard(relay.ended)
        seat.leave()


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
            with suppress(OSError):  # It may not wait to be told why.
                await send(cipher.output())
            raise
        return
    raise TlsError(f"no handshake within {HELLO_S:g} seconds")


def _note_refusal(state: DaemonState, arrival: Arrival, code: str, reason: str) -> None:
    state.tally.refused[code] += 1
    log_refusal(code, arrival.client, arrival.client, reason)
