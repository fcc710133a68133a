"""Tokens and users: what is read, what is refused, and that no message holds a part of a token."""

from __future__ import annotations

import hashlib
import hmac
import os
import pwd
from pathlib import Path

import pytest

from tooltoolexec_executor.access import Access, Tokens, warn_of_risks
from tooltoolexec_executor.config import Config, ConfigError

SECRET = "0123456789abcdef-secret"
OTHER = "fedcba9876543210-secret"


def of(text: str, tmp_path: Path, environment: str = "") -> Tokens:
    file = tmp_path / "tokens"
    file.write_text(text)
    return Access.of(Config(token_file=str(file)), {"TOOLTOOLEXEC_TOKENS": environment}).tokens


def name_of(tokens: Tokens, token: str) -> str | None:
    found = tokens.recognise(token)
    return found and found.name


def test_each_token_is_known_by_its_name(tmp_path: Path) -> None:
    tokens = of(f"# who may\n\nalpha {SECRET}\n  beta\t{OTHER}  \n", tmp_path)
    assert name_of(tokens, SECRET) == "alpha"
    assert name_of(tokens, OTHER) == "beta"


def test_a_file_need_not_hold_the_token_itself(tmp_path: Path) -> None:
    tokens = of(f"alpha sha256:{hashlib.sha256(SECRET.encode()).hexdigest()}", tmp_path)
    assert name_of(tokens, SECRET) == "alpha"
    assert name_of(tokens, hashlib.sha256(SECRET.encode()).hexdigest()) is None


def test_one_name_may_have_two_tokens_while_one_takes_over_from_the_other(tmp_path: Path) -> None:
    tokens = of(f"alpha {SECRET}\nalpha {OTHER}\n", tmp_path)
    assert name_of(tokens, SECRET) == name_of(tokens, OTHER) == "alpha"


def test_tokens_of_the_environment_count_as_well(tmp_path: Path) -> None:
    tokens = of(f"alpha {SECRET}", tmp_path, f"beta={OTHER}")
    assert name_of(tokens, OTHER) == "beta"
    assert name_of(tokens, SECRET) == "alpha"


@pytest.mark.parametrize("wrong", ["", SECRET[:-1], SECRET + "x", "alpha", f"alpha {SECRET}", "\ud800", "x" * 16000])
def test_whatever_else_is_no_token(wrong: str, tmp_path: Path) -> None:
    assert of(f"alpha {SECRET}", tmp_path).recognise(wrong) is None


def test_a_wrong_token_is_compared_with_all_and_a_right_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the time says nothing about which tokens there are, nor which one came close."""
    tokens = of("".join(f"name{number} {SECRET}{number}\n" for number in range(5)), tmp_path)
    compared: list[int] = []

    def compare(first: bytes, second: bytes) -> bool:
        compared.append(len(first))
        return constant_time(first, second)

    constant_time = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    for token in ("", "no", f"{SECRET}0", f"{SECRET}4"):
        compared.clear()
        tokens.recognise(token)
        assert compared == [32] * 5


def test_a_revoked_token_is_held_no_more(tmp_path: Path) -> None:
    credential = of(f"alpha {SECRET}", tmp_path).recognise(SECRET)
    assert credential is not None
    assert of(f"beta {OTHER}\nalpha {SECRET}", tmp_path).holds(credential)
    assert not of(f"alpha {OTHER}", tmp_path).holds(credential)
    assert not of(f"beta {SECRET}", tmp_path).holds(credential)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"alpha\n{SECRET}", "line 1: write NAME TOKEN or NAME sha256:HEX"),
        ("alpha short", "line 1: the token of alpha"),
        (SECRET, "line 1: write NAME TOKEN"),
        (f"\nal/pha {SECRET}", "line 2: write NAME TOKEN"),
        (f"alpha {SECRET} {OTHER}", "line 1: the token of alpha is one word"),
        ("alpha sha256:0123456789abcdef", "line 1: after sha256: come 64"),
        (f"{SECRET}/", "line 1: write NAME TOKEN"),
    ],
)
def test_a_wrong_line_is_named_and_no_token_shown(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        of(text, tmp_path)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "0123456789abcdef" not in str(caught.value)


def test_a_wrong_entry_of_the_environment_is_named_and_no_token_shown() -> None:
    with pytest.raises(ConfigError, match="TOOLTOOLEXEC_TOKENS, entry 2: write NAME=TOKEN") as caught:
        Access.of(Config(), {"TOOLTOOLEXEC_TOKENS": f"alpha={SECRET} {OTHER}"})
    assert OTHER not in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * ((1 << 20) + 10)])
def test_a_file_that_is_no_token_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_bytes(content)
    with pytest.raises(ConfigError, match="token_file"):
        Access.of(Config(token_file=str(tmp_path / "tokens")), {})


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match="token_file: cannot read /nowhere/tokens: No such file"):
        Access.of(Config(token_file="/nowhere/tokens"), {})


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://[::1]:1", "tcp://localhost:1"])
def test_tcp_needs_a_token_also_on_loopback(address: str) -> None:
    with pytest.raises(ConfigError, match="need a token, and there is none"):
        Access.of(Config(listen=[address]), {})
    assert Access.of(Config(listen=[address]), {"TOOLTOOLEXEC_TOKENS": f"alpha={SECRET}"}).needs_token
    assert not Access.of(Config(listen=[address], insecure_no_token=True), {}).needs_token


def test_a_unix_socket_needs_none() -> None:
    assert not Access.of(Config(listen=["unix:/tmp/s"]), {}).tokens


def test_users_are_let_in_by_name_or_number_beside_the_daemons_own() -> None:
    access = Access.of(Config(allow_users=["nobody", "12345"]), {})
    assert access.admits(pwd.getpwnam("nobody").pw_uid)
    assert access.admits(12345)
    assert access.admits(os.getuid())
    assert not access.admits(12346)


def test_without_a_list_the_sockets_mode_decides() -> None:
    assert Access.of(Config(), {}).admits(4711)


def test_an_unknown_user_is_named() -> None:
    with pytest.raises(ConfigError, match="allow_users: this machine has no user 'no such'"):
        Access.of(Config(allow_users=["no such"]), {})


def test_what_is_left_open_is_warned_of_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_risks(Config(insecure_no_token=True, insecure_no_tls=True, insecure_any_user=True))
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    told = [record.message.partition(": ")[0] for record in caplog.records]
    assert told == ["insecure_no_token", "insecure_no_tls", "insecure_any_user"]


def test_a_token_file_that_others_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"alpha {SECRET}")
    file.chmod(0o600)
    warn_of_risks(Config(token_file=str(file)))
    assert not caplog.records
    file.chmod(0o644)
    warn_of_risks(Config(token_file=str(file)))
    assert "Give it the mode 600" in caplog.text


@pytest.mark.parametrize("setting", ["token_file", "tls_cert", "tls_key", "tls_client_ca"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_never_waited_for(setting: str, tmp_path: Path) -> None:
    """A reload reads files while the daemon serves."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "other").write_text("x")
    files = dict.fromkeys(("tls_cert", "tls_key", "tls_client_ca"), str(tmp_path / "other")) | {setting: str(pipe)}
    with pytest.raises(ConfigError, match=f"{setting}: {pipe} is no file"):
        Access.of(Config(**files), {})  # type: ignore[arg-type]
