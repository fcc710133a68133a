"""A hostile daemon in the loop of the client under test: much that is allowed and absurd, and then what is not."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc

from protocol.wire_examples import ID
from tooltoolexec.transport import Transport
from tooltoolexec_protocol.connection import Connection, State
from tooltoolexec_protocol.errors import ProtocolError
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.messages import (
    VERSION,
    Answers,
    Calls,
    Done,
    Execute,
    Logs,
    Message,
    Outcome,
    Started,
    Unknown,
    Welcome,
    encode,
)

from .frames import LITERALS, Budget, hostile_body, hostile_frame, pieces

SILENCE_S = 0.02
NUMBERS = (0, 1, 1, 2, -1, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, 10**4000)
TEXTS = ("", "a", "then", "\ud800", "[]", '{"a":1}', "NaN", "\0", "[[[[", "x" * 5000, "[" * 3000)


class GoneError(Exception):
    """The client hung up."""


@dataclass
class HostileDaemon:
    """A dialer whose connections end in this very loop, at a daemon that plays the conversation's chances.

    Attributes:
        is_good: whether it behaves.
    """

    group: anyio.abc.TaskGroup
    budget: Budget
    chance: random.Random
    is_good: bool = False
    name: str = "hostile"
    has_ended: bool = False

    async def start(self) -> None:
        pass

    async def dial(self) -> Transport:
        if not self.is_good and self.chance.random() < 0.02:
            raise ConnectionRefusedError(111, "no")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.group.start_soon(self._serve, ours)
        return Transport(theirs)

    def hint(self) -> str:
        return ""

    async def why_silent(self, reason: str) -> str:
        return reason

    async def aclose(self) -> None:
        pass

    async def _serve(self, sock: socket.socket) -> None:
        peer = Peer(sock, self.chance, self.budget)
        with sock, contextlib.suppress(GoneError):
            if not await self._greet(peer):
                return
            message = await peer.receive()
            if isinstance(message, Execute):
                if self.is_good:
                    await peer.run_well(message)
                else:
                    await peer.run(message)
            else:
                await peer.answer(message)

    async def _greet(self, peer: Peer) -> bool:
        await peer.receive()
        if self.is_good or self.chance.random() < 0.93:
            welcome = frame(encode(Welcome(version=VERSION)))
            more = b"" if self.is_good or self.chance.random() < 0.98 else hostile_frame(self.chance)
            await peer.send(welcome + more)
            return True
        await peer.misbehave(LITERALS["welcome"])
        return False


class Peer:
    """The hostile end of one connection."""

    def __init__(self, sock: socket.socket, chance: random.Random, budget: Budget) -> None:
        self._socket = sock
        self._chance = chance
        self._budget = budget
        self._connection = Connection(is_client=False)

    async def receive(self) -> Message:
        while True:
            try:
                message = self._connection.next_message()
            except ProtocolError as error:
                raise AssertionError(f"the client said what no client may say: {error}") from error
            if message is not None:
                if self._connection.state is State.GREETING:
                    self._connection.send(Welcome(version=VERSION))
                return message
            self._connection.receive_data(await self._some())

    async def _some(self) -> bytes:
        while True:
            try:
                data = self._socket.recv(65536)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            except ConnectionError:
                data = b""
            if not data:
                raise GoneError
            return data

    async def send(self, data: bytes, frames: int = 1) -> None:
        self._budget.sent += frames
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError:
                raise GoneError from None

    async def misbehave(self, instead: bytes, run_id: str = ID) -> None:
        """Something wrong in the place of `instead`, then the end."""
        match self._chance.randrange(6):
            case 0:
                return
            case 1:
                await anyio.sleep(SILENCE_S)
            case 2:
                whole = frame(instead)
                await self.send(whole[: self._chance.randrange(len(whole))])
            case 3:
                await self.send(
                    frame(self._chance.choice(list(LITERALS.values())).replace(ID.encode(), run_id.encode()))
                )
            case _:
                await self.send(hostile_frame(self._chance, run_id))
        if self._chance.random() < 0.3:
            await self.send(b"".join(hostile_frame(self._chance, run_id) for _ in range(10)), 10)

    async def answer(self, question: Message) -> None:
        """The daemon is asked for an outcome or its status."""
        if isinstance(question, Outcome) and self._chance.random() < 0.5:
            done = Done(id=question.id, result={"a": [1]})
            await self.send(frame(encode(self._chance.choice([done, Unknown(id=question.id)]))))
            return
        await self.misbehave(LITERALS["report"], question.id if isinstance(question, Outcome) else ID)

    async def run(self, request: Execute) -> None:
        """Much that is allowed and absurd, and then what is not."""
        stream = frame(encode(Started(id=request.id, queued_s=0.0)))
        count = self._chance.choice([0, 3, 10, 30, 100])
        for _ in range(count):
            stream += frame(self._absurd())
        for piece in pieces(stream, self._chance) if self._chance.random() < 0.1 else (stream,):
            await self.send(piece, 0)
        self._budget.sent += 1 + count
        if self._chance.random() < 0.3:
            done = frame(encode(Done(id=request.id, result=[1], warnings=["w"])))
            await self.send(done * self._chance.choice([1, 1, 2, 3]))
            return
        await self.misbehave(LITERALS["done"].replace(ID.encode(), request.id.encode()), request.id)

    def _absurd(self) -> bytes:
        def pick(values: Sequence[Any]) -> Any:
            """The last ones are large, and seldom."""
            return self._chance.choice(values if self._chance.random() < 0.1 else values[:6])

        count = self._chance.choice([0, 1, 1, 3])
        if self._chance.random() < 0.005:
            return hostile_body(self._chance)
        if self._chance.random() < 0.6:
            return encode(Calls(calls=[(pick(NUMBERS), pick(TEXTS), pick(TEXTS), pick(TEXTS)) for _ in range(count)]))
        return encode(Logs(lines=[(pick(TEXTS), pick(TEXTS)) for _ in range(count)]))

    async def run_well(self, request: Execute) -> None:
        await self.send(frame(encode(Started(id=request.id, queued_s=0.0))))
        await self.send(frame(encode(Calls(calls=[(1, "a", "b", "[1]")]))))
        message = await self.receive_answers()
        await self.send(frame(encode(Logs(lines=[("log", "line")]))))
        await self.send(frame(encode(Done(id=request.id, result=message))))

    async def receive_answers(self) -> str:
        self._connection.send(Started(id=ID, queued_s=0.0))
        answers = await self.receive()
        assert isinstance(answers, Answers)
        return answers.answers[0][1]
