"""Addresses: three forms, and a text that is none of them says what one looks like."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltoolexec_protocol.address import TcpAddress, UnixAddress, parse_address
from tooltoolexec_protocol.errors import AddressError, TooltoolexecError

FORMS = "Write unix:/path/to/socket, tcp://host:port or tls://host:port."


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/a.sock", UnixAddress("/run/a.sock")),
        ("unix:///run/a.sock", UnixAddress("/run/a.sock")),
        ("unix:a.sock", UnixAddress("a.sock")),
        ("unix:/a b#c?d", UnixAddress("/a b#c?d")),
        ("tcp://host:1", TcpAddress("host", 1)),
        ("tcp://127.0.0.1:65535", TcpAddress("127.0.0.1", 65535)),
        ("tcp://[::1]:80", TcpAddress("::1", 80)),
        ("tcp://host:0", TcpAddress("host", 0)),
        ("tls://a.example:443", TcpAddress("a.example", 443, tls=True)),
        ("tls://a.example:443/", TcpAddress("a.example", 443, tls=True)),
    ],
)
def test_each_form_is_read(text: str, address: UnixAddress | TcpAddress) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "", "/run/a.sock", "unix:", "unix://", "unix:a\0b", "unix:\ud800", "http://host:1", "tcp:host:1", "tcp://", "tcp://host",
        "tcp://:1", "tcp://host:", "tcp://host:x", "tcp://host:65536", "tcp://host:-1", "tcp://[::1:1", "tcp://[zz]:1",
        "tcp://user@host:1", "tcp://user:word@host:1",
    ],
)  # fmt: skip
def test_what_is_no_address_says_what_one_looks_like(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert str(caught.value).endswith(FORMS)
    assert isinstance(caught.value, ValueError | TooltoolexecError)


@pytest.mark.parametrize("text", ["tcp://host:1/x", "tcp://host:1?x", "tls://host:1#x"])
def test_nothing_may_follow_the_port(text: str) -> None:
    with pytest.raises(AddressError, match="has something after the port"):
        parse_address(text)


def test_a_socket_path_is_bounded_in_bytes() -> None:
    assert parse_address("unix:" + "x" * 107) == UnixAddress("x" * 107)
    assert parse_address("unix:\udc80") == UnixAddress("\udc80")
    for path in ("x" * 108, "é" * 54):
        with pytest.raises(AddressError, match="longer than the 107 bytes a Unix socket allows"):
            parse_address("unix:" + path)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True), ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("0.0.0.0", False), ("::", False),
        ("10.0.0.1", False), ("localhost.example", False), ("127.0.0.1.example", False),
    ],
)  # fmt: skip
def test_only_this_machines_own_addresses_are_loopback(host: str, loopback: bool) -> None:
    assert TcpAddress(host, 1).is_loopback is loopback


@given(st.text(st.characters(exclude_categories=())) | st.text(alphabet="unixtcpls:/[]@#?.%0123456789-", max_size=25))
def test_any_text_gives_an_address_or_an_address_error(text: str) -> None:
    for candidate in (text, f"tcp://{text}", f"unix:{text}"):
        with contextlib.suppress(AddressError):
            parse_address(candidate)
