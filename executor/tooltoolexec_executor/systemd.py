"""The service manager's side of a daemon: sockets that it passes, and what it is told.

Source: the manual pages sd_listen_fds(3) and sd_notify(3).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping
from pathlib import Path

from tooltoolexec_executor.errors import ListenError
from tooltoolexec_protocol.address import Address, TcpAddress, UnixAddress

_FIRST_DESCRIPTOR = 3
_TIMEOUT_S = 1.0


def passed_sockets(environment: MutableMapping[str, str]) -> list[socket.socket]:
    """The listening sockets that were passed to this process; the variables that say so are taken out.

    Raises:
        ListenError: one is no listening stream socket.
    """
    count = environment.pop("LISTEN_FDS", "")
    is_meant = environment.pop("LISTEN_PID", "") == str(os.getpid())
    environment.pop("LISTEN_FDNAMES", None)
    if not is_meant or not count.isdigit():
        return []
    return [_socket(descriptor) for descriptor in range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + int(count))]


def _socket(descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        passed = socket.socket(fileno=descriptor)
        is_listening = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError:
        is_listening = 0
    if not is_listening or passed.type != socket.SOCK_STREAM:
        raise ListenError(f"The descriptor {descriptor} that was passed is no listening socket. Use ListenStream=.")
    passed.setblocking(False)
    return passed


def address_of(passed: socket.socket, *, has_tls: bool) -> Address:
    """Where a passed socket listens; a TCP one speaks TLS where there is a certificate."""
    name = passed.getsockname()
    if passed.family == socket.AF_UNIX:
        return UnixAddress(os.fsdecode(name))
    return TcpAddress(name[0], name[1], tls=has_tls)


def mode_of(address: Address) -> int | None:
    """The mode of a passed Unix socket's file; None for any other, and for one that has none."""
    try:
        return Path(address.path).stat().st_mode if isinstance(address, UnixAddress) else None
    except (OSError, ValueError):
        return None


class Manager:
    """Whom to tell how the daemon stands. A failure to tell is not the daemon's.

    Args:
        where: the manager's socket; empty where there is none.
    """

    def __init__(self, where: str = "") -> None:
        self._where = where if where.startswith(("/", "@")) else ""

    def ready(self) -> None:
        """It serves, or serves with its new settings."""
        self._tell("READY=1")

    def reloading(self) -> None:
        """It reads its settings again; `ready` ends it."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """It is about to end."""
        self._tell("STOPPING=1")

    def _tell(self, *lines: str) -> None:
        if not self._where:
            return
        # A leading @ stands for the zero byte of an abstract socket.
        where = "\0" + self._where[1:] if self._where[0] == "@" else self._where
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.settimeout(_TIMEOUT_S)
                manager.connect(where)
                manager.sendall("\n".join(lines).encode())
        except OSError:
            pass
