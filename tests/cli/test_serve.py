"""`tooltoolexec serve`: where its settings come from, and what it says when they or the addresses are wrong."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from serving import ServedDaemon

from .conftest import Command, launch


def summary(command: Command, *args: str | Path) -> dict[str, object]:
    ended = command("serve", "--check", *args)
    assert (ended.code, ended.err) == (0, "")
    values: dict[str, object] = json.loads(ended.out)
    return values


def test_an_option_wins_over_the_environment_and_that_over_the_file(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        'listen = ["unix:/tmp/a.sock"]\nworkers = 1\nwarm = 1\nqueue = 1\n'
        '[maxima]\ncalls = 1\nlog_bytes = 1\nwall_s = "none"\n[defaults]\ncalls = 1'
    )
    monkeypatch.setenv("TOOLTOOLEXEC_WARM", "2")
    monkeypatch.setenv("TOOLTOOLEXEC_QUEUE", "2")
    monkeypatch.setenv("TOOLTOOLEXEC_MAX_CALLS", "2")
    monkeypatch.setenv("TOOLTOOLEXEC_MAX_LOG_BYTES", "2")
    values = summary(command, "--config", file, "--queue", "3", "--max-log-bytes", "3")
    assert [values[name] for name in ("workers", "warm", "queue")] == [1, 2, 3]
    assert values["listen"] == ["unix:/tmp/a.sock"]
    maxima = values["maxima"]
    assert isinstance(maxima, dict)
    assert [maxima[name] for name in ("wall_s", "calls", "log_bytes", "cpu_s")] == [None, 2, 3, 120]


def test_several_addresses(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["unix:/tmp/a.sock", "unix:/tmp/b.sock"]
    assert summary(command, "--listen", both[0], "--listen", both[1])["listen"] == both
    monkeypatch.setenv("TOOLTOOLEXEC_LISTEN", " ".join(both))
    assert summary(command)["listen"] == both


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ([], "There is nowhere to listen. Add --listen"),
        (["--listen", "here"], "'here' is no address. Write unix:"),
        (["--listen", "tcp://0.0.0.0:80"], "in the clear to other machines. Listen on tls://"),
        (["--listen", "tls://127.0.0.1:80"], "tls://127.0.0.1:80 needs a certificate"),
        (["--listen", "tcp://127.0.0.1:80"], "clients of tcp://127.0.0.1:80 need a token"),
        (["--listen", "unix:/tmp/a", "--tls-cert", "/c"], "tls_cert without tls_key: TLS needs both"),
        (["--listen", "unix:/tmp/a", "--tls-cert", "/no/c", "--tls-key", "/no/k"], "tls_cert: cannot read /no/c"),
        (["--listen", "unix:/tmp/a", "--tls-client-ca", "/c"], "tls_client_ca without tls_cert"),
        (["--listen", "unix:/tmp/a", "--socket-mode", "666"], "lets every user of this machine connect"),
        (["--listen", "unix:/tmp/a", "--socket-mode", "888"], "write an octal mode such as 660, not '888'"),
        (["--listen", "unix:/tmp/a", "--socket-mode", "060"], "a mode from 600 to 777, not 060"),
        (["--listen", "unix:/tmp/a", "--allow-user", "no such"], "has no user 'no such'"),
        (["--listen", "unix:/tmp/a", "--metrics", "here"], "metrics: write HOST:PORT"),
        (["--listen", "unix:/tmp/a", "--log", "xml"], "log: "),
        (["--listen", "unix:/tmp/a", "--idle-s", "0"], "idle_s must be at least 1"),
        (["--listen", "unix:/tmp/" + "x" * 200], "longer than the 107 bytes"),
        (["--workers", "0"], "workers must be at least 1, not 0"),
        (["--workers", "many"], "'many' is not a valid integer"),
        (["--queue-s", "nan"], "queue_s must be at least 0"),
        (["--queue-s", "inf"], "queue_s must be a number of seconds, not inf"),
        (["--listen", "unix:/tmp/a.sock"] * 2, "unix:/tmp/a.sock is there twice"),
        (["--max-calls", "lots"], "--max-calls takes a number or none, not 'lots'"),
        (["--config", "/no/such.toml"], "Cannot read /no/such.toml: No such file"),
        (["--config", "/tmp"], "Is a directory"),
        (["--nonsense"], "--nonsense"),
    ],
)
@pytest.mark.parametrize("check", [["--check"], []])
def test_a_wrong_option_is_one_line(args: list[str], part: str, check: list[str], command: Command) -> None:
    assert command("serve", *check, *args).is_one_line(part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"= 1", "is no TOML: Invalid statement (at line 1, column 1)"),
        (b"\xff", "is no TOML"),
        pytest.param(b"x = " + b"[" * 300_000, "is nested too deeply", id="deep"),
        pytest.param(b"workers = " + b"1" * 5000, "is no TOML: Exceeds the limit", id="long"),
        (b"workers = 'x'", "workers: write a whole number, not 'x'."),
        (b"workers = 0", "workers must be at least 1"),
        (b"worker = 1", "There is no setting `worker`"),
        (b"listen = 'unix:/tmp/x'", "listen: write a list"),
        (b"maxima = 1", "maxima: write a table"),
        (b"[maxima]\nwalls = 1", "maxima: there is no limit 'walls'. There are wall_s"),
        (b"[defaults]\ncalls = -1", "defaults.calls: "),
        (b"[defaults]\ncalls = 'many'", "defaults.calls: write a number or none"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it(text: bytes, part: str, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(text)
    assert command("serve", "--check", "--config", file).is_one_line(str(file), part)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("WORKERS", "x"), ("WORKERS", ""), ("WARM", "0"), ("QUEUE_S", "soon"), ("LISTEN", "nowhere"),
        ("MAX_CALLS", "x"), ("DEFAULT_WALL_S", "-1"),
    ],
)  # fmt: skip
def test_a_wrong_variable_is_one_line_that_names_it(
    variable: str, text: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TOOLTOOLEXEC_{variable}", text)
    assert command("serve", "--check").is_one_line(f"TOOLTOOLEXEC_{variable} in the environment: ")


def test_a_wrong_value_is_shown(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLTOOLEXEC_WORKERS", "eight")
    assert command("serve", "--check").is_one_line("workers: write a whole number, not 'eight'.")
    monkeypatch.setenv("TOOLTOOLEXEC_WORKERS", "8")
    monkeypatch.setenv("TOOLTOOLEXEC_MAX_CALLS", "x" * 10_000)
    ended = command("serve", "--check")
    assert ended.is_one_line("maxima.calls: write a number or none, not 'xxx")
    assert len(ended.err) < 200


def test_a_free_port_may_be_asked_for_twice(command: Command) -> None:
    free = "tcp://127.0.0.1:0"
    assert summary(command, "--insecure-no-token", "--listen", free, "--listen", free)["listen"] == [free, free]


def test_a_live_unix_socket_is_refused(served: ServedDaemon, command: Command) -> None:
    assert command("serve", "--listen", served.unix).is_one_line(
        "another daemon listens there. Stop it or name another"
    )
    assert command("status", "--connect", served.unix).code == 0


def test_a_stale_unix_socket_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    with launch("serve", "--listen", f"unix:{path}") as process:
        assert process.stderr is not None
        assert f'"address": "unix:{path}"' in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()
    assert not path.exists()


def test_a_file_in_the_place_of_the_socket_is_left_alone(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("x")
    assert command("serve", "--listen", f"unix:{path}").is_one_line("Remove it or name another path")
    assert path.read_text() == "x"


@pytest.mark.parametrize("address", ["unix:/no/such/folder/s.sock", "unix:/proc/s.sock"])
def test_a_path_that_cannot_be_bound_is_one_line(address: str, command: Command) -> None:
    assert command("serve", "--listen", address).is_one_line(f"Cannot listen on {address}: ", "Name a path in a folder")


def test_a_port_in_use_is_one_line(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("TOOLTOOLEXEC_TOKENS", "test=0123456789abcdef")
        assert command("serve", "--listen", address).is_one_line("Address already in use. Name another port.")
