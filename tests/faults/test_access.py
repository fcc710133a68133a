"""Who is refused at the door, what is told them, and what the log and the counts say of it."""

from __future__ import annotations

import datetime as dt
import json
import os
import pwd
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from serving import PATIENCE_S, TOKEN, BareClient, Certificates, ServedDaemon, descriptor_count, wait_until
from tooltoolexec_executor.tls import Cipher, TlsError, server_context
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import (
    VERSION,
    Done,
    Execute,
    Hello,
    Outcome,
    Refused,
    Report,
    Started,
    Status,
    Unknown,
    Welcome,
)

OTHER_TOKEN = "another-token-0123456789"
WAITS = "async () => await __dispatch('a', 'b', '')"

Serve = Callable[..., ServedDaemon]


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def serve(tmp_path: Path, certificates: Certificates) -> Iterator[Serve]:
    """Starts a daemon that wants tokens."""
    started: list[ServedDaemon] = []

    def start(*options: str, **settings: Any) -> ServedDaemon:
        daemon = ServedDaemon(tmp_path, options, certificates=certificates, with_tokens=True, **settings)
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        daemon.close()


def greeting(daemon: ServedDaemon, place: str, token: str, tls: ssl.SSLContext | None = None) -> Refused | Welcome:
    """What a client with this token is answered."""
    context = tls or daemon.certificates.client() if place == "tls" else None
    with BareClient(getattr(daemon, place), context) as client:
        client.send(Hello(version=VERSION, oldest_version=VERSION, token=token))
        answer = client.receive()
        assert isinstance(answer, Refused | Welcome)
        return answer


def report_of(daemon: ServedDaemon) -> Report:
    with BareClient(daemon.unix) as client:
        client.greet()
        client.send(Status())
        report = client.receive()
        assert isinstance(report, Report)
        return report


def events(daemon: ServedDaemon, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in tuple(daemon.log) if line.startswith("{")]
    return [line for line in lines if line["event"] == event]


def reload(daemon: ServedDaemon) -> str:
    """Send SIGHUP and wait for what became of it."""
    before = len(daemon.log)
    os.kill(daemon.pid, signal.SIGHUP)

    def told() -> str:
        return "".join(line for line in daemon.log[before:] if "reloaded" in line and "take a restart" not in line)

    wait_until(lambda: bool(told()), "the reload")
    return told()


# Tokens.


@pytest.mark.parametrize("place", ["tcp", "tls"])
def test_every_wrong_token_gets_one_and_the_same_answer_is_logged_and_counted(serve: Serve, place: str) -> None:
    daemon = serve()
    wrong = ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\ud800", "x" * 10_000]
    answers = [greeting(daemon, place, token) for token in wrong]
    assert {(answer.code, answer.message) for answer in answers if isinstance(answer, Refused)} == {
        ("unauthorized", texts.UNAUTHORIZED)
    }
    assert len(answers) == len(wrong)
    assert isinstance(greeting(daemon, place, TOKEN), Welcome)
    assert report_of(daemon).refused == {"unauthorized": len(wrong)}
    refused = events(daemon, "refused")
    assert [(line["code"], line["peer"], line["level"]) for line in refused] == [
        ("unauthorized", "ip:127.0.0.1", "warning")
    ] * len(wrong)
    assert TOKEN[:-1] not in "".join(daemon.log)


def test_a_token_that_a_reload_revokes_ends_what_it_could_do(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"alpha {OTHER_TOKEN}\n")
    daemon = serve("--token-file", str(file))
    with BareClient(daemon.tcp) as idle, BareClient(daemon.tcp) as busy:
        idle.greet(OTHER_TOKEN)
        busy.greet(OTHER_TOKEN)
        busy.send(
            Execute(
                id=os.urandom(16).hex(), code="async () => { await new Promise(r => setTimeout(r, 300)); return 7 }"
            )
        )
        assert isinstance(busy.receive(), Started)
        file.write_text("")
        reload(daemon)
        assert greeting(daemon, "tcp", OTHER_TOKEN) == Refused(code="unauthorized", message=texts.UNAUTHORIZED)
        assert isinstance(greeting(daemon, "tcp", TOKEN), Welcome)
        idle.send(Execute(id=os.urandom(16).hex(), code="() => 1"))
        assert idle.refusal().code == "unauthorized"
        done = busy.receive()
        assert isinstance(done, Done)
        assert done.result == 7  # What ran when it was revoked goes on.


def test_a_reload_with_a_mistake_changes_nothing_and_says_so(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"alpha {OTHER_TOKEN}\n")
    daemon = serve("--token-file", str(file))
    file.write_text("alpha short\n")
    told = reload(daemon)
    assert "everything stays as it was" in told
    assert "line 1: the token of alpha is one word" in told
    assert isinstance(greeting(daemon, "tcp", OTHER_TOKEN), Welcome)


def test_who_a_token_belongs_to_is_in_the_log_and_others_cannot_ask_after_its_runs(
    serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"alpha {OTHER_TOKEN}\n")
    daemon = serve("--token-file", str(file))
    run = os.urandom(16).hex()
    with BareClient(daemon.tcp) as client:
        client.greet(OTHER_TOKEN)
        client.send(Execute(id=run, code="() => { throw new Error('x') }"))
        assert isinstance(client.receive(), Started)
        assert isinstance(client.receive(), Done)
    wait_until(lambda: bool(events(daemon, "run ended")), "the run's line")
    assert events(daemon, "run ended")[0]["client"] == "token:alpha"
    for token, answer in ((OTHER_TOKEN, Done), (TOKEN, Unknown)):
        with BareClient(daemon.tcp) as client:
            client.greet(token)
            client.send(Outcome(id=run))
            assert isinstance(client.receive(), answer)


def test_limits_are_taken_over_by_a_reload(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[maxima]\ncalls = 5\n")
    daemon = serve("--config", str(file))
    file.write_text("workers = 3\nwarm = 5\n[maxima]\ncalls = 7\n")
    reload(daemon)
    answer = greeting(daemon, "tcp", TOKEN)
    assert isinstance(answer, Welcome)
    assert answer.maxima.calls == 7
    assert report_of(daemon).workers == 3
    assert "they take a restart: warm" in "".join(daemon.log)


# Certificates.


def long_ago() -> dt.datetime:
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=2)


@pytest.mark.parametrize("kind", ["none", "foreign", "expired"])
def test_a_client_without_a_good_certificate_is_refused_where_one_is_wanted(
    serve: Serve, certificates: Certificates, kind: str
) -> None:
    daemon = serve("--tls-client-ca", str(certificates.ca))
    name = "client@example.org"
    leaf: trustme.LeafCert | None = None
    if kind == "foreign":
        leaf = trustme.CA().issue_cert(name)
    elif kind == "expired":
        leaf = certificates.authority.issue_cert(name, not_after=long_ago())
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        greeting(daemon, "tls", TOKEN, certificates.client(leaf))
    good = certificates.client(certificates.authority.issue_cert(name))
    assert isinstance(greeting(daemon, "tls", TOKEN, good), Welcome)
    assert isinstance(greeting(daemon, "tls", "wrong", good), Refused)
    assert report_of(daemon).refused == {"tls": 1, "unauthorized": 1}
    line = events(daemon, "refused")[0]
    assert line["code"] == "tls"
    assert {"none": "certificate", "foreign": "certificate", "expired": "expired"}[kind] in line["reason"]


def test_a_renewed_certificate_is_used_after_a_reload(serve: Serve, certificates: Certificates) -> None:
    def serial() -> Any:
        with BareClient(daemon.tls, certificates.client()) as client:
            assert isinstance(client.socket, ssl.SSLSocket)
            return (client.socket.getpeercert() or {})["serialNumber"]

    daemon = serve()
    before = serial()
    certificates.write(certificates.authority.issue_cert("localhost", "127.0.0.1"))
    assert serial() == before
    reload(daemon)
    assert serial() != before


def test_a_client_that_speaks_no_tls_gets_nothing_and_is_counted(serve: Serve) -> None:
    daemon = serve()
    with BareClient(daemon.tls) as client:
        client.send(Hello(version=VERSION, oldest_version=VERSION, token=TOKEN))
        while client.socket.recv(4096):  # An alert at most.
            pass
    assert report_of(daemon).refused == {"tls": 1}


def test_a_silent_client_is_dropped_before_its_handshake(serve: Serve) -> None:
    daemon = serve(preparation="import tooltoolexec_executor.reception as r; r.HELLO_S = 0.1")
    with BareClient(daemon.tls) as client:
        assert client.socket.recv(4096) == b""
    wait_until(lambda: bool(events(daemon, "refused")), "the log's line")
    assert events(daemon, "refused")[0]["reason"] == "no handshake within 0.1 seconds"


# Users.


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize(("allowed", "answer"), [("daemon", "forbidden"), ("nobody", "welcome")])
def test_another_user_on_the_unix_socket_is_let_in_only_if_named(
    serve: Serve, tmp_path: Path, allowed: str, answer: str
) -> None:
    daemon = serve("--socket-mode", "666", "--allow-user", allowed)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder != Path("/tmp") and len(folder.parts) > 2:
            folder.chmod(folder.stat().st_mode | 0o011)
    program = (
        "import os, socket, struct, sys; os.setuid(int(sys.argv[2])); s = socket.socket(socket.AF_UNIX); "
        's.connect(sys.argv[1]); b = b\'{"type":"hello","version":1,"oldest_version":1}\'; '
        "s.sendall(struct.pack('!I', len(b)) + b); n = struct.unpack('!I', s.recv(4))[0]; print(s.recv(n).decode())"
    )
    uid = pwd.getpwnam("nobody").pw_uid
    command = [sys.executable, "-c", program, str(daemon.path), str(uid)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    said = json.loads(ended.stdout)
    assert said.get("code", said["type"]) == answer
    if answer == "forbidden":
        assert said["message"] == texts.FORBIDDEN
        assert [(line["code"], line["client"]) for line in events(daemon, "refused")] == [("forbidden", f"uid:{uid}")]
        assert report_of(daemon).refused == {"forbidden": 1}


def test_a_socket_has_the_mode_and_the_group_it_is_given(serve: Serve) -> None:
    group = os.getgid()
    daemon = serve("--socket-mode", "660", "--socket-group", str(group))
    status = daemon.path.stat()
    assert status.st_mode & 0o777 == 0o660
    assert status.st_gid == group


# Bounds of one client.


def test_one_client_can_open_so_many_connections_and_others_still_can(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"alpha {OTHER_TOKEN}\n")
    daemon = serve("--token-file", str(file), "--connections-per-client", "2")
    with BareClient(daemon.tcp) as first, BareClient(daemon.tcp) as second:
        first.greet(OTHER_TOKEN)
        second.greet(OTHER_TOKEN)
        refused = greeting(daemon, "tcp", OTHER_TOKEN)
        assert refused == Refused(code="busy", message=texts.BUSY)
        assert isinstance(greeting(daemon, "tcp", TOKEN), Welcome)
    wait_until(lambda: isinstance(greeting(daemon, "tcp", OTHER_TOKEN), Welcome), "room after they left")


def test_who_has_not_given_a_token_counts_by_address(serve: Serve) -> None:
    daemon = serve("--connections-per-client", "2")
    with BareClient(daemon.tcp), BareClient(daemon.tcp):
        with BareClient(daemon.tcp) as third:
            assert third.refusal().code == "busy"
        with BareClient(daemon.unix) as other:
            other.greet()


def test_the_runs_of_one_client_wait_and_those_of_others_pass_them(serve: Serve) -> None:
    daemon = serve("--runs-per-client", "1", "--queue-per-client", "1")
    with BareClient(daemon.unix) as first, BareClient(daemon.unix) as second, BareClient(daemon.unix) as third:
        first.execute(WAITS)
        assert isinstance(first.receive(), Started)
        second.execute("() => 2")
        wait_until(lambda: report_of(daemon).queued_now == 1, "the second waits")
        third.execute("() => 3")
        done = third.receive()
        assert isinstance(done, Done)
        assert (done.failure and done.failure.kind) == "overloaded"
        with BareClient(daemon.tcp) as other:
            other.greet(TOKEN)
            other.send(Execute(id=os.urandom(16).hex(), code="() => 4"))
            assert isinstance(other.receive(), Started)
        first.socket.close()
        assert isinstance(second.receive(), Started)


# Deadlines.


def test_a_greeted_client_that_is_silent_for_too_long_is_let_go(serve: Serve) -> None:
    daemon = serve("--idle-s", "1")
    with BareClient(daemon.unix) as client:
        client.greet()
        assert client.receive() is None


# What is left open.


@pytest.mark.parametrize(
    ("option", "listen"),
    [("--insecure-no-token", "tcp://127.0.0.1:0"), ("--insecure-no-tls", "tcp://0.0.0.0:0")],
)
def test_what_the_rules_forbid_needs_a_flag_and_is_warned_of(option: str, listen: str, tmp_path: Path) -> None:
    environment = {**os.environ}
    if option == "--insecure-no-tls":
        environment["TOOLTOOLEXEC_TOKENS"] = f"tests={TOKEN}"
    command = [sys.executable, "-c", "from tooltoolexec_executor.cli import serve; serve()", "--listen", listen]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert refused.returncode == 2
    assert option.removeprefix("--").replace("-", "_") in refused.stderr
    with subprocess.Popen([*command, option], env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = json.loads(process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
    assert first["level"] == "warning"
    assert first["event"].startswith(option.removeprefix("--").replace("-", "_"))


def test_a_crowd_of_one_client_costs_no_descriptors_and_nobody_else(serve: Serve) -> None:
    """Who is turned away is told so, but only some at a time; the others are let go at once."""
    daemon = serve("--connections-per-client", "2")
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(BareClient(daemon.tcp))
        before = descriptor_count(daemon.pid)
        crowd = [stack.enter_context(BareClient(daemon.tcp)) for _ in range(200)]
        wait_until(lambda: report_of(daemon).refused.get("busy", 0) == len(crowd), "all are refused")
        assert descriptor_count(daemon.pid) <= before + 32 + 8


# What a reload may not do.


def mistake(daemon: ServedDaemon) -> str:
    told = reload(daemon)
    assert "everything stays as it was" in told, told
    return told


def test_a_reload_takes_tls_away_from_no_port(serve: Serve, certificates: Certificates, tmp_path: Path) -> None:
    """The port stays, so it would speak in the clear."""
    file = tmp_path / "c.toml"
    place = f'listen = ["tls://127.0.0.1:0"]\ntls_cert = "{certificates.cert}"\ntls_key = "{certificates.key}"\n'
    file.write_text(place)
    with started_by(file) as (daemon, address):
        file.write_text(f'listen = ["unix:{tmp_path}/s"]\n')
        daemon.send_signal(signal.SIGHUP)
        assert daemon.stderr is not None
        while "everything stays as it was" not in (line := daemon.stderr.readline()):
            assert line
        assert "needs a certificate" in line
        with BareClient(address, certificates.client()) as client:
            client.greet(TOKEN)


def test_a_reload_opens_no_socket_to_everybody(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f'listen = ["unix:{tmp_path}/s"]\nsocket_mode = "666"\nallow_users = ["root"]\n')
    with started_by(file) as (daemon, _address):
        file.write_text(f'listen = ["unix:{tmp_path}/s"]\n')
        daemon.send_signal(signal.SIGHUP)
        assert daemon.stderr is not None
        while "everything stays as it was" not in (line := daemon.stderr.readline()):
            assert line
        assert "lets every user of this machine connect" in line


@contextmanager
def started_by(file: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A daemon with these settings, and its first address."""
    command = [sys.executable, "-c", "from tooltoolexec_executor.cli import serve; serve()", "--config", str(file)]
    environment = {**os.environ, "TOOLTOOLEXEC_TOKENS": f"tests={TOKEN}"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            while '"listening"' not in (line := process.stderr.readline()):
                assert line
            address = json.loads(line)["address"]
            while '"ready"' not in process.stderr.readline():
                pass
            yield process, address
        finally:
            process.send_signal(signal.SIGINT)
            process.stderr.read()


@pytest.mark.parametrize(
    "text",
    [
        'token_file = "a\\u0000b"',
        f'allow_users = ["{"9" * 5000}"]',
        'token_file = "/dev/zero"',
        'token_file = "/"',
        'socket_mode = "\u0663\u0663"',
    ],
)
def test_no_mistake_in_a_file_ends_the_daemon(serve: Serve, tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text("")
    daemon = serve("--config", str(file))
    file.write_text(text)
    mistake(daemon)
    assert isinstance(greeting(daemon, "tcp", TOKEN), Welcome)


def test_what_a_reload_leaves_open_is_warned_of(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("")
    daemon = serve("--config", str(file))
    file.write_text("insecure_no_token = true\n")
    reload(daemon)
    assert '"insecure_no_token: ' in "".join(daemon.log)
    with BareClient(daemon.tcp) as client:
        client.greet()
        file.write_text("")
        reload(daemon)
        client.send(Execute(id=os.urandom(16).hex(), code="() => 1"))
        assert client.refusal().code == "unauthorized"


def test_more_connections_let_in_who_waits(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("connections = 1\n")
    daemon = serve("--config", str(file))
    with BareClient(daemon.unix) as first, BareClient(daemon.unix) as second:
        first.greet()
        second.send(Hello(version=VERSION, oldest_version=VERSION))
        file.write_text("connections = 10\n")
        reload(daemon)
        assert isinstance(second.receive(), Welcome)


def test_a_run_that_waits_is_not_begun_once_its_token_is_revoked(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"alpha {OTHER_TOKEN}\n")
    daemon = serve("--token-file", str(file), "--workers", "1", "--parked", "0")
    with BareClient(daemon.unix) as busy, BareClient(daemon.tcp) as waiting:
        busy.execute(WAITS)
        assert isinstance(busy.receive(), Started)
        waiting.greet(OTHER_TOKEN)
        waiting.send(Execute(id=os.urandom(16).hex(), code="() => 1"))
        wait_until(lambda: report_of(daemon).queued_now == 1, "it waits")
        file.write_text("")
        reload(daemon)
        busy.socket.close()
        assert waiting.refusal().code == "unauthorized"


def test_a_client_that_says_nothing_at_length_is_let_go(certificates: Certificates) -> None:
    """It could renew its keys for ever: little for it to send, and work for the daemon."""
    cipher = Cipher(server_context(str(certificates.cert), str(certificates.key), None))

    class Renewing:
        def read(self, _size: int) -> bytes:
            raise ssl.SSLWantReadError

    cipher._object = Renewing()  # type: ignore[assignment]
    for _ in range(65):
        assert cipher.decrypt(b"x" * 1000) == b""
    with pytest.raises(TlsError, match="says nothing at length"):
        cipher.decrypt(b"x" * 1000)
