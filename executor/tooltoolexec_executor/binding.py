"""Binding an address: a TCP port, or a Unix socket with its mode and group, taken over from a daemon that is gone."""

from __future__ import annotations

import fcntl
import grp
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tooltoolexec_executor.config import Config
from tooltoolexec_executor.errors import ListenError
from tooltoolexec_protocol.address import Address, TcpAddress, UnixAddress

_BACKLOG = 1024
_PROBE_S = 1.0
_LOCK_TRIES = 20
_LOCK_PAUSE_S = 0.1


@contextmanager
def bind(address: Address, config: Config) -> Iterator[socket.socket]:
    """A listening socket; a Unix socket's file goes away again on leaving.

    Raises:
        ListenError: it cannot be bound, or another daemon listens there.
    """
    if isinstance(address, UnixAddress):
        bound, inode = _bind_unix(address.path, config)
        try:
            with bound:
                yield bound
        finally:
            _remove(address.path, inode)
        return
    with bind_tcp(address) as bound:
        yield bound


def bind_tcp(address: TcpAddress) -> socket.socket:
    """A socket that listens there. Raises as `bind`."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _name, place = found[0]
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


def _bind_unix(path: str, config: Config) -> tuple[socket.socket, int]:
    group = _group(config.socket_group)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _locked(Path(path).parent):
            _take_over(path)
            # The socket is its owner's alone from the moment it exists until its mode and group are set.
            before = os.umask(0o177)
            try:
                bound.bind(path)
            finally:
                os.umask(before)
            _give_to(path, group, config)
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


def _group(name: str | None) -> int:
    """Its number; -1 leaves the group as it is."""
    if name is None:
        return -1
    if name.isascii() and name.isdigit():
        return int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        raise ListenError(f"socket_group: this machine has no group {name!r}. Write a name or a number.") from None


def _give_to(path: str, group: int, config: Config) -> None:
    try:
        if group >= 0:
            os.chown(path, -1, group)
        Path(path).chmod(config.mode)
    except (OSError, OverflowError) as error:
        Path(path).unlink()
        raise ListenError(
            f"socket_group: unix:{path} cannot be given to {config.socket_group}: {getattr(error, 'strerror', error)}. "
            "Name a group that the daemon's user is in."
        ) from None


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
