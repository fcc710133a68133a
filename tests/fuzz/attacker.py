"""A hostile client: one connection to a daemon and one conversation on it, in one of many bad manners."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import time

from serving import PATIENCE_S, BareClient
from tooltoolexec_protocol.framing import FrameReader, frame
from tooltoolexec_protocol.limits import FRAME_BYTES
from tooltoolexec_protocol.messages import (
    VERSION,
    AskedLimits,
    Calls,
    Done,
    Execute,
    Hello,
    Message,
    Outcome,
    Refused,
    Report,
    Started,
    Status,
    Unknown,
    Welcome,
    decode,
    encode,
)

from .frames import Budget, hostile_frame, pieces

SAID_BY_DAEMON = (Welcome, Refused, Started, Calls, Done, Unknown, Report)
HELLO = frame(encode(Hello(version=VERSION, oldest_version=VERSION, client="fuzz")))
PROGRAMS = (
    "async () => { for (let i = 0; i < 40; i++) await __dispatch('a', 'b', '[' + i + ']') }",
    "async () => { await Promise.all(Array.from({ length: 30 }, (_, i) => __dispatch('a', 'b', '' + i))) }",
    "async () => { for (;;) { console.log('x'); await __dispatch('a', 'b', '') } }",
    "() => { throw new Error('\\ud800') }",
    "() => { for (;;); }",
    "1 +",
)


class Attacker:
    """One connection to the daemon and one hostile conversation on it."""

    def __init__(self, address: str, chance: random.Random, budget: Budget) -> None:
        self._address = address
        self.client = BareClient(address)
        self.socket = self.client.socket
        self.socket.settimeout(PATIENCE_S)
        self._chance = chance
        self._budget = budget
        self._run_id = chance.randbytes(16).hex()

    def attack(self) -> None:
        with self.client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if self._chance.random() < 0.9:
                self._send(HELLO, 1)
                self._ask_much()
            way = self._chance.choices(
                [self._misbehave, self._drip, self._flood, self._tear, self._run, self._crowd, self._leave],
                weights=[34, 4, 2, 20, 20, 3, 17],
            )[0]
            way()

    def _send(self, data: bytes, frames: int) -> None:
        self._budget.sent += frames
        self.socket.sendall(data)

    def _ask_much(self) -> None:
        """Many honest questions at once, so that the daemon has work and later frames find it in every state."""
        count = self._chance.randrange(60)
        questions = [Outcome(id=self._chance.randbytes(16).hex()), Outcome(id=self._run_id), Status()]
        self._send(b"".join(frame(encode(self._chance.choice(questions))) for _ in range(count)), count)

    def _misbehave(self) -> None:
        count = self._chance.randint(1, 10)
        data = b"".join(hostile_frame(self._chance, self._run_id) for _ in range(count))
        for piece in pieces(data, self._chance):
            self.socket.sendall(piece)
        self._budget.sent += count
        if self._chance.random() < 0.7:
            self.socket.shutdown(socket.SHUT_WR)
            self._read_to_end()

    def _drip(self) -> None:
        for byte in hostile_frame(self._chance)[:40]:
            self.socket.sendall(bytes([byte]))
            time.sleep(0.0005)
        self._budget.sent += 1

    def _flood(self) -> None:
        """Never reads; stops when the daemon does not take it."""
        self.socket.settimeout(0.05)
        with contextlib.suppress(TimeoutError):
            self._send(frame(encode(Status())) * 2000, 400)
            self._send(self._chance.randbytes(1 << 20), 1)

    def _tear(self) -> None:
        whole = hostile_frame(self._chance, self._run_id)
        self._send(whole[: self._chance.randint(1, len(whole))], 1)
        if self._chance.random() < 0.3:
            self.socket.shutdown(self._chance.choice([socket.SHUT_WR, socket.SHUT_RDWR]))

    def _leave(self) -> None:
        if self.socket.family == socket.AF_INET and self._chance.random() < 0.7:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _crowd(self) -> None:
        """Many connections that come and go."""
        with contextlib.ExitStack() as crowd:
            for _ in range(50):
                other = crowd.enter_context(BareClient(self._address))
                other.socket.sendall(HELLO[: self._chance.choice([0, 0, 5, len(HELLO)])])
                self._budget.sent += 1

    def _run(self) -> None:
        """A run whose calls are answered with garbage, and sometimes a frame it should have waited with."""
        request = Execute(
            id=self._run_id,
            code=self._chance.choice(PROGRAMS),
            limits=AskedLimits(wall_s=self._chance.choice([0.02, 0.3, 1e-9])),
        )
        self._send(frame(encode(request)), 1)
        if self._chance.random() < 0.15:
            self._send(frame(encode(request)), 1)
        number, message = 0, self.client.receive()
        while isinstance(message, Report | Unknown):  # What was asked before.
            message = self.client.receive()
        while message is not None and self._chance.random() < 0.95:
            if isinstance(message, Calls):
                number = message.calls[-1][0]
            answer = b'{"type":"answers","answers":[[%d,"{\\"result\\":1}"],[%d,"x"]]}' % (number, number + 7)
            garbage = frame(answer) if self._chance.random() < 0.8 else hostile_frame(self._chance, self._run_id)
            self._send(garbage, 1)
            message = self.client.receive()

    def _read_to_end(self) -> None:
        """Whatever the daemon said was a whole message of the protocol, and nothing came after a refusal."""
        reader, heard = FrameReader(), list[Message]()
        while data := self.socket.recv(1 << 16):
            reader.feed(data)
            while (body := reader.next_body(FRAME_BYTES)) is not None:
                heard.append(decode(body))
        assert reader.is_empty or any(isinstance(message, Started) for message in heard)  # A worker may be cut off.
        assert all(isinstance(message, SAID_BY_DAEMON) for message in heard)
        assert not any(isinstance(message, Refused) for message in heard[:-1])
