"""Where connections come in: Unix sockets, TCP on loopback, and the private socket of an embedded daemon."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from tooltoolexec_executor.errors import ListenError
from tooltoolexec_protocol.address import Address, TcpAddress, UnixAddress

_BACKLOG = 1024
_PROBE_S = 1.0
_LOCK_TRIES = 20
_LOCK_PAUSE_S = 0.1
_CREDENTIALS = struct.Struct("3i")


class Listener:
    """A bound socket. `accept` gives connections and who made them."""

    def __init__(self, address: Address, bound: socket.socket) -> None:
        self.address = address
        self._socket = bound

    async def accept(self) -> AsyncGenerator[tuple[socket.socket, str], None]:
        """Connections as they come, for ever. One that fails while it is accepted is passed over."""
        listening = trio.socket.from_stdlib_socket(self._socket)
        while True:
            try:
                accepted, _address = await listening.accept()
            except OSError:
                # Out of descriptors, or the client left already: neither is this listener's end.
                await trio.sleep(0.05)
                continue
            connection = socket.socket(fileno=accepted.detach())
            yield connection, self._identify(connection)

    def _identify(self, connection: socket.socket) -> str:
        if isinstance(self.address, TcpAddress):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return "tcp"
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _pid, uid, _gid = _CREDENTIALS.unpack(credentials)
        return f"uid:{uid}"


class EmbeddedListener:
    """The end of a private socketpair, over which the parent passes a descriptor for each connection.

    Its end of file is the parent's end: `accept` then stops.
    """

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = trio.socket.from_stdlib_socket(control)

    async def accept(self) -> AsyncGenerator[tuple[socket.socket, str], None]:
        """Connections as they come, until the parent is gone."""
        while True:
            data, ancillary, _flags, _address = await self._control.recvmsg(1, socket.CMSG_SPACE(4))
            if not data:
                return
            for _level, _kind, descriptor in ancillary:
                yield socket.socket(fileno=struct.unpack("i", descriptor[:4])[0]), "parent"


@contextmanager
def listen(address: Address) -> Iterator[Listener]:
    """Bind `address`; a Unix socket's file goes away again on leaving.

    Raises:
        ListenError: it cannot be bound, or another daemon listens there.
    """
    if isinstance(address, UnixAddress):
        bound, inode = _bind_unix(address.path)
        try:
            with bound:
                yield Listener(address, bound)
        finally:
            _remove(address.path, inode)
        return
    with _bind_tcp(address) as bound:
        port = bound.getsockname()[1]
        yield Listener(TcpAddress(address.host, port), bound)


def _bind_tcp(address: TcpAddress) -> socket.socket:
    try:
        family, kind, protocol, _name, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[
            0
        ]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ListenError(f"Cannot listen on {address}: {error.strerror}.") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise ListenError(f"Cannot listen on {address}: {error.strerror}. Name another port.") from None
    bound.setblocking(False)
    return bound


def _bind_unix(path: str) -> tuple[socket.socket, int]:
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _locked(Path(path).parent):
            _take_over(path)
            # The socket is its owner's alone from the moment it exists.
            before = os.umask(0o177)
            try:
                bound.bind(path)
            finally:
                os.umask(before)
            bound.listen(_BACKLOG)
        bound.setblocking(False)
        return bound, Path(path).stat().st_ino
    except OSError as error:
        bound.close()
        reason = error.strerror
        raise ListenError(
            f"Cannot listen on unix:{path}: {reason}. Name a path in a folder that exists and that you may write to."
        ) from None
    except ListenError:
        bound.close()
        raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One daemon at a time looks and binds: two that start together must not both find the socket stale."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(_LOCK_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_LOCK_PAUSE_S)
        else:
            raise ListenError(
                f"Cannot listen in {folder}: another process holds a lock on the folder. Name another one."
            )
        yield
    finally:
        os.close(descriptor)


def _take_over(path: str) -> None:
    """Remove a socket that nobody listens on any more."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ListenError(
                f"Cannot listen on unix:{path}: a file that is no socket is there. Remove it or name another path."
            )
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink()
            return
        except OSError:
            pass  # Full or slow: somebody is there.
    raise ListenError(f"Cannot listen on unix:{path}: another daemon listens there. Stop it or name another path.")


def _remove(path: str, inode: int) -> None:
    """Remove the socket's file unless another daemon has put its own there."""
    try:
        if Path(path).stat().st_ino == inode:
            Path(path).unlink()
    except FileNotFoundError:
        pass
