"""The text form of where a daemon listens: ``unix:PATH``, ``tcp://HOST:PORT``, ``tls://HOST:PORT``."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from tooltoolexec_protocol.errors import AddressError

_FORMS = "Write unix:/path/to/socket, tcp://host:port or tls://host:port."
_UNIX_PATH_BYTES = 107


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket in the file system."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP port, with TLS when `tls`. `host` is without brackets."""

    host: str
    port: int
    tls: bool = False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.tls else 'tcp'}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


Address = UnixAddress | TcpAddress


def parse_address(text: str) -> Address:
    """Read an address.

    Raises:
        AddressError: `text` is none; the message says what one looks like.
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        path = path.removeprefix("//")
        try:
            size = len(path.encode(errors="surrogateescape"))
        except UnicodeEncodeError:  # A lone surrogate that no file name decodes to.
            size = 0
        if not size or "\0" in path:
            raise AddressError(f"{text!r} names no socket. {_FORMS}")
        if size > _UNIX_PATH_BYTES:
            raise AddressError(
                f"The socket path {path!r} is longer than the {_UNIX_PATH_BYTES} bytes a Unix socket allows."
            )
        return UnixAddress(path)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise AddressError(f"{text!r} is no address: {error}. {_FORMS}") from None
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or port is None or parts.username is not None:
        raise AddressError(f"{text!r} is no address. {_FORMS}")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise AddressError(f"{text!r} has something after the port. {_FORMS}")
    return TcpAddress(parts.hostname, port, tls=parts.scheme == "tls")
