"""The encrypted socket alone: how much it holds, and that every byte comes out in its place."""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from tooltoolexec.tls import TlsError, TlsWire
from tooltoolexec.trust import TlsOptions, Trust
from tooltoolexec_protocol.address import TcpAddress

pytestmark = pytest.mark.anyio
BATCH_BYTES = 64 * 1024
OVERHEAD_BYTES = 1024
"""More than TLS adds to a batch."""


class Server:
    """The other end: TLS in memory, with a socket that nobody reads or writes unasked."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        self.socket = sock
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def shake_hands(self, step: int = 65536) -> None:
        """Blocking, with pieces of `step` bytes either way."""
        self.socket.settimeout(10)
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                while part := self.outgoing.read(step):
                    self.socket.sendall(part)
                self.incoming.write(self.socket.recv(step))
        self.socket.sendall(self.outgoing.read())
        self.socket.setblocking(False)

    def take(self, size: int) -> bytes:
        """What the bytes say that the socket has now, `size` of them at most."""
        self.incoming.write(self.socket.recv(size))
        plain = b""
        try:
            while part := self.tls.read(65536):
                plain += part
        except ssl.SSLWantReadError:
            pass
        return plain

    def give(self, size: int) -> None:
        """Send `size` of the encrypted bytes, if there are any."""
        data = self.outgoing.read(size)
        assert self.socket.send(data) == len(data)


Pair = tuple[TlsWire, Server]


def fill(wire: TlsWire, data: bytearray) -> None:
    """Send from the front of `data` until the socket is full."""
    with contextlib.suppress(BlockingIOError):
        while True:
            del data[: wire.send(data)]


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def make_pair(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Pair]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = request.param
    authority.issue_cert("daemon").configure_cert(context)

    def make() -> Pair:
        ours, theirs = socket.socketpair()
        request.addfinalizer(ours.close)
        request.addfinalizer(theirs.close)
        ours.setblocking(False)
        trust = Trust(TcpAddress("daemon", 1, tls=True), TlsOptions(ca=tmp_path / "ca.pem"))
        return TlsWire(ours, trust), Server(theirs, context)

    return make


@pytest.fixture
async def pair(make_pair: Callable[[], Pair]) -> Pair:
    wire, server = make_pair()
    thread = threading.Thread(target=server.shake_hands)
    thread.start()
    await wire.shake_hands()
    thread.join()
    return wire, server


async def test_a_full_socket_leaves_no_more_than_a_batch_encrypted(pair: Pair) -> None:
    wire, server = pair
    data = bytearray(random.Random(1).randbytes(3_000_000))
    expected, got = bytes(data), b""
    fill(wire, data)
    for _ in range(3):  # However often it is tried meanwhile.
        with pytest.raises(BlockingIOError):
            wire.send(data)
        assert 0 < len(wire._encrypted) <= BATCH_BYTES + OVERHEAD_BYTES
        assert wire._outgoing.pending == 0
    while data:
        got += server.take(1 << 20)
        try:
            del data[: wire.send(data)]
        except BlockingIOError:
            continue
    assert got + server.take(1 << 20) == expected


async def test_what_is_added_behind_a_torn_send_follows_it(pair: Pair) -> None:
    wire, server = pair
    data = bytearray(b"a" * 2_000_000)
    fill(wire, data)
    data += b"b" * 1000
    left, got = len(data), b""
    while data:
        got += server.take(1 << 20)
        try:
            del data[: wire.send(data)]
        except BlockingIOError:
            continue
    got += server.take(1 << 20)
    assert (len(got), got.rstrip(b"b")) == (2_001_000, b"a" * 2_000_000)
    assert left > 1000


@pytest.mark.parametrize("seed", range(5))
async def test_however_the_stream_is_torn_the_reader_gets_every_byte_before_it_is_told_to_wait(
    pair: Pair, seed: int
) -> None:
    wire, server = pair
    chance = random.Random(seed)
    sent = got = b""
    for _ in range(200):
        part = chance.randbytes(chance.choice([1, 100, 16_384, 40_000]))
        server.tls.write(part)
        sent += part
        while server.outgoing.pending:
            server.give(chance.randint(1, 30_000))
            try:
                while True:
                    got += wire.recv(chance.choice([1, 1000, 65_536]))
            except BlockingIOError:
                pass
        # All that was sent has come out, so nothing that a wait for the socket would miss lies in memory.
        assert len(got) == len(sent)
    assert got == sent


class Drip:
    """A socket that always has one byte more."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.reads = 0

    def recv(self, _size: int) -> bytes:
        self.reads += 1
        return self._data[self.reads - 1 : self.reads]


async def test_a_peer_that_always_has_more_leaves_other_tasks_their_turn(pair: Pair) -> None:
    wire, server = pair
    with contextlib.suppress(BlockingIOError):
        wire.recv(100)  # What came with the handshake.
    server.tls.write(b"x" * 10_000)
    drip = Drip(server.outgoing.read())
    wire._socket = drip  # type: ignore[assignment]
    turns, got = 0, b""
    while not got:
        before = drip.reads
        try:
            got = wire.recv(100_000)
        except BlockingIOError:
            turns += 1
        assert drip.reads - before <= 8
    assert got == b"x" * 10_000
    assert turns > 1000


async def test_garbage_after_the_handshake_ends_it_with_a_reason(pair: Pair) -> None:
    wire, server = pair
    server.socket.send(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    with pytest.raises(TlsError, match=r"TLS failed \(.*\)\."):
        wire.recv(100)


async def test_a_handshake_torn_into_single_bytes_is_one(make_pair: Callable[[], Pair]) -> None:
    wire, server = make_pair()
    thread = threading.Thread(target=server.shake_hands, args=[1])
    thread.start()
    await wire.shake_hands()
    thread.join()
    server.tls.write(b"hello")
    server.give(1000)
    assert wire.recv(100) == b"hello"
