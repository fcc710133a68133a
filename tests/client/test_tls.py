"""TLS: who is trusted, what a mistake is told as, and that bytes cross as over a plain socket."""

from __future__ import annotations

import json
import os
import select
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
import trustme

from tooltoolexec import AddressError, ConnectError, Executor, connect, sync
from tooltoolexec_protocol.messages import Report, Status

from .daemon import FakeDaemon, Peer

pytestmark = pytest.mark.anyio

Serve = Callable[..., FakeDaemon]


class Authority:
    """An authority, its certificate in a file, and what it signed."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self.trustme = trustme.CA()
        self.ca = folder / f"{name}.pem"
        self.trustme.cert_pem.write_to_path(self.ca)

    def server(self, *names: str, **options: object) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.trustme.issue_cert(*(names or ("127.0.0.1",)), **options).configure_cert(context)  # type: ignore[arg-type]
        return context

    def client(self, name: str = "me") -> tuple[Path, Path]:
        leaf = self.trustme.issue_cert(f"{name}@example.org")
        cert, key = self._folder / f"{name}-cert.pem", self._folder / f"{name}-key.pem"
        leaf.cert_chain_pems[0].write_to_path(cert)
        leaf.private_key_pem.write_to_path(key)
        return cert, key


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


@pytest.fixture
def serve() -> Iterator[Serve]:
    daemons: list[FakeDaemon] = []

    def start(context: ssl.SSLContext) -> FakeDaemon:
        daemons.append(FakeDaemon(None, context))
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def tls_daemon(serve: Serve, authority: Authority) -> FakeDaemon:
    return serve(authority.server())


def finish(peer: Peer) -> None:
    peer.start()
    peer.done("fresh")


async def why_not(executor: Executor) -> str:
    with pytest.raises(ConnectError) as caught:
        async with executor:
            pass
    return caught.value.reason


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_run_goes_over_tls_with_its_token(serve: Serve, authority: Authority, version: ssl.TLSVersion) -> None:
    context = authority.server()
    context.minimum_version = context.maximum_version = version
    daemon = serve(context)

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.done(json.loads(peer.ask("s", "t", '["é"]'))["result"])

    async def echo(provider: str, tool: str, args_json: str) -> str:
        return json.dumps({"result": [provider, tool, args_json]})

    async with connect(daemon.address, ca=authority.ca, token="secret") as executor:
        assert (await executor.execute("1", dispatch=echo)).result == ["s", "t", '["é"]']
    assert daemon.peers[0].token == "secret"


async def test_blocking_code_speaks_tls_too(tls_daemon: FakeDaemon, authority: Authority) -> None:
    tls_daemon.script(finish)

    def block() -> object:
        with sync.connect(tls_daemon.address, ca=str(authority.ca)) as executor:
            return executor.execute("1").result

    assert await anyio.to_thread.run_sync(block) == "fresh"


async def test_megabytes_cross_both_ways_at_once_unchanged(tls_daemon: FakeDaemon, authority: Authority) -> None:
    large = os.urandom(3_000_000).hex()
    count = 6
    got: dict[int, str] = {}

    @tls_daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call(*[(n, "s", "t", json.dumps([large])) for n in range(count)])
        got.update(peer.answers(count))
        peer.done(large)

    async def echo(_provider: str, _tool: str, args_json: str) -> str:
        return json.dumps({"result": json.loads(args_json)[0]})

    async with connect(tls_daemon.address, ca=authority.ca) as executor:
        run = await executor.execute("1", dispatch=echo)
    assert run.result == large
    assert [json.loads(got[n])["result"] == large for n in range(count)] == [True] * count


async def test_a_spare_with_unread_session_tickets_is_used(tls_daemon: FakeDaemon, authority: Authority) -> None:
    async with connect(tls_daemon.address, ca=authority.ca) as executor:
        # The tickets of TLS 1.3 come after the handshake; that the daemon answers shows that they are there.
        for _ in range(2):
            tls_daemon.script(finish)
            assert (await executor.execute("1")).result == "fresh"
        assert tls_daemon.peers[0].request.code == "1"


async def test_a_spare_that_the_daemon_closed_is_not_used(tls_daemon: FakeDaemon, authority: Authority) -> None:
    async with connect(tls_daemon.address, ca=authority.ca) as executor:
        tls_daemon.peers[0].sock.shutdown(2)
        tls_daemon.script(finish)
        assert (await executor.execute("1")).result == "fresh"


@pytest.mark.parametrize("says_goodbye", [True, False])
async def test_an_end_with_or_without_goodbye_is_the_end(
    tls_daemon: FakeDaemon, authority: Authority, says_goodbye: bool
) -> None:
    report = Report(server="x", pid=1, uptime_s=1, workers=2, idle_now=1, running_now=0, queued_now=0, queue=5)

    @tls_daemon.script
    def script(peer: Peer) -> None:
        assert isinstance(peer.receive(), Status)
        peer.send(report)
        if says_goodbye:
            assert isinstance(peer.sock, ssl.SSLSocket)
            peer.sock.unwrap()

    @tls_daemon.script
    def silent(peer: Peer) -> None:
        peer.receive()

    async with connect(tls_daemon.address, ca=authority.ca) as executor:
        assert await executor.status() == report
        with pytest.raises(Exception, match="closed the connection instead of an answer"):
            await executor.status()


async def test_a_cancelled_run_is_reset(tls_daemon: FakeDaemon, authority: Authority) -> None:
    started, was_reset = threading.Event(), threading.Event()

    @tls_daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        started.set()
        poller = select.poll()
        poller.register(peer.sock, select.POLLRDHUP)
        # A connection that is closed in good order has no error; the module `ssl` would not tell the two apart.
        if any(event & select.POLLERR for _, event in poller.poll(10_000)):
            was_reset.set()

    async with connect(tls_daemon.address, ca=authority.ca) as executor, anyio.create_task_group() as group:
        group.start_soon(executor.execute, "1")
        await anyio.to_thread.run_sync(started.wait)
        group.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(was_reset.wait, 10)


async def test_an_unknown_authority_is_told(tls_daemon: FakeDaemon, folder: Path) -> None:
    reason = await why_not(connect(tls_daemon.address))
    assert reason.endswith("trusts. Pass ca=PATH if it is signed by an authority of your own.")
    other = Authority(folder, "other").ca
    assert f"not signed by an authority in {other}" in await why_not(connect(tls_daemon.address, ca=other))


@pytest.mark.parametrize(("begins", "ends", "part"), [(-9, -1, "has expired"), (1, 9, "not valid yet")])
async def test_a_certificate_out_of_its_time_is_told(
    serve: Serve, authority: Authority, begins: int, ends: int, part: str
) -> None:
    now = datetime.now(UTC)
    # The authority's own certificate is valid for all that time.
    context = authority.server(not_before=now + timedelta(days=begins), not_after=now + timedelta(days=ends))
    assert part in await why_not(connect(serve(context).address, ca=authority.ca))


@pytest.mark.parametrize("name", ["daemon.example", "127.0.0.2"])
async def test_a_certificate_for_another_name_needs_that_name(serve: Serve, authority: Authority, name: str) -> None:
    daemon = serve(authority.server(name))
    reason = await why_not(connect(daemon.address, ca=authority.ca))
    assert reason.startswith("its certificate is not for 127.0.0.1. Pass server_name=NAME")
    daemon.script(finish)
    async with connect(daemon.address, ca=authority.ca, server_name=name) as executor:
        assert (await executor.execute("1")).result == "fresh"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_daemon_that_wants_a_certificate_gets_it_or_is_told_as_such(
    serve: Serve, authority: Authority, folder: Path, version: ssl.TLSVersion
) -> None:
    context = authority.server()
    context.minimum_version = context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    authority.trustme.configure_trust(context)
    daemon = serve(context)
    reason = await why_not(connect(daemon.address, ca=authority.ca))
    assert "a client certificate" in reason
    assert reason.endswith("ass cert=PATH and key=PATH.")
    cert, key = Authority(folder, "strange").client("stranger")
    reason = await why_not(connect(daemon.address, ca=authority.ca, cert=cert, key=key))
    assert "does not accept this client's certificate (unknown ca)" in reason
    cert, key = authority.client()
    daemon.script(finish)
    async with connect(daemon.address, ca=authority.ca, cert=cert, key=key) as executor:
        assert (await executor.execute("1")).result == "fresh"


async def test_a_daemon_of_old_tls_alone_is_told(serve: Serve, authority: Authority) -> None:
    context = authority.server()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    assert "no version of TLS" in await why_not(connect(serve(context).address, ca=authority.ca))


async def test_tls_to_a_port_without_it_is_told_with_the_right_address(tcp_daemon: FakeDaemon) -> None:
    tcp_daemon.greeting = lambda peer: peer.send_raw(b"refused")
    reason = await why_not(connect(tcp_daemon.address.replace("tcp", "tls")))
    assert (
        reason
        == f"what answers there does not speak TLS. Connect to {tcp_daemon.address} if the daemon listens without it."
    )


async def test_no_tls_to_a_port_with_it_is_told_with_the_right_address(tls_daemon: FakeDaemon) -> None:
    reason = await why_not(connect(tls_daemon.address.replace("tls", "tcp")))
    assert reason == (
        f"it closed the connection instead of a greeting; if it speaks TLS, connect to {tls_daemon.address}"
    )


async def test_an_alert_to_a_client_without_tls_is_told_with_the_right_address(tcp_daemon: FakeDaemon) -> None:
    tcp_daemon.greeting = lambda peer: peer.send_bytes(b"\x15\x03\x01\x00\x02\x02\x46")
    reason = await why_not(connect(tcp_daemon.address))
    assert reason.startswith("what answers there does not speak this protocol")
    assert reason.endswith(f"; if it speaks TLS, connect to {tcp_daemon.address.replace('tcp', 'tls')}")


async def test_a_peer_that_closes_or_is_silent_during_the_handshake_is_told(tcp_daemon: FakeDaemon) -> None:
    address = tcp_daemon.address.replace("tcp", "tls")

    def close_on_hello(peer: Peer) -> None:
        peer.sock.recv(65536)

    def say_nothing(peer: Peer) -> None:
        while peer.sock.recv(65536):
            pass

    tcp_daemon.greeting = close_on_hello
    assert await why_not(connect(address)) == "it closed the connection during the TLS handshake"
    tcp_daemon.greeting = say_nothing
    assert await why_not(connect(address, connect_timeout_s=0.05)) == "it did not answer within 0.05 s"


@pytest.mark.parametrize("address", ["unix:/run/d.sock", "tcp://127.0.0.1:1"])
@pytest.mark.parametrize("option", ["ca", "cert", "key", "server_name"])
def test_options_of_tls_are_refused_elsewhere(address: str, option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} is for tls:// addresses"):
        connect(address, **{option: "x"})  # type: ignore[arg-type]


def test_options_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match="cert is given without key"):
        connect("tls://x:1", cert="c")
    with pytest.raises(ValueError, match="key is given without cert"):
        sync.connect("tls://x:1", key="k")
    for name in ("", ".x", "a" * 300, "x\0"):
        with pytest.raises(ValueError, match="server_name is a host name or an IP address"):
            connect("tls://x:1", server_name=name)
    with pytest.raises(AddressError):
        connect("tls://x", ca="c")


def test_a_file_that_cannot_be_used_is_told_before_anything_is_sent(authority: Authority, folder: Path) -> None:
    cert, key = authority.client("user")
    missing, garbage, encrypted = folder / "none.pem", folder / "garbage.pem", folder / "encrypted.pem"
    garbage.write_text("garbage")
    from cryptography.hazmat.primitives import serialization as pem  # noqa: PLC0415 - trustme brings it.

    loaded = pem.load_pem_private_key(key.read_bytes(), None)
    encrypted.write_bytes(
        loaded.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.BestAvailableEncryption(b"x"))
    )
    _, other_key = authority.client("other")
    for options, part in (
        ({"ca": missing}, f"the file {missing} (ca) cannot be read: No such file"),
        ({"ca": folder}, "(ca) cannot be read: Is a directory"),
        ({"ca": garbage}, f"the file {garbage} (ca) has no certificate in PEM form"),
        ({"cert": missing, "key": key}, "(cert) cannot be read"),
        ({"cert": cert, "key": missing}, "(key) cannot be read"),
        ({"cert": cert, "key": garbage}, "are no certificate with its key"),
        ({"cert": cert, "key": other_key}, "are no certificate with its key"),
        ({"cert": cert, "key": encrypted}, "the key is encrypted"),
    ):
        with pytest.raises(ConnectError) as caught:
            connect("tls://127.0.0.1:1", **options)  # type: ignore[arg-type]
        assert part in caught.value.reason, options


@pytest.mark.parametrize("token", [None, b"x", 7])
def test_a_token_that_is_no_text_is_told_at_once(token: object) -> None:
    with pytest.raises(TypeError, match="token is a text, empty for none"):
        connect("tcp://127.0.0.1:1", token=token)  # type: ignore[arg-type]
