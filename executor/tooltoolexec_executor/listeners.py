"""Where connections come in: Unix sockets, TCP ports, and the private socket of an embedded daemon."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import trio

from tooltoolexec_protocol.address import Address, TcpAddress, UnixAddress

_CREDENTIALS = struct.Struct("3i")
_KEEPALIVE = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 10, socket.TCP_KEEPCNT: 3}
"""Seconds, seconds and times: a client whose machine has vanished is noticed after a minute, during its run as well."""
_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Arrival:
    """A connection that was accepted.

    Attributes:
        client: whom it counts for until it is greeted, and afterwards too where no token tells more.
        uid: the user at the other end of a Unix socket.
        is_tls: whether a handshake comes first.
        is_remote: whether it came by TCP, and so may need a token.
    """

    connection: socket.socket
    client: str
    uid: int | None = None
    is_tls: bool = False
    is_remote: bool = False


class Listener:
    """A bound socket.

    Args:
        address: where it listens.
        bound: the socket.
        is_inherited: it is the service manager's, which keeps it open and waits for the next daemon with it.
    """

    def __init__(self, address: Address, bound: socket.socket, *, is_inherited: bool = False) -> None:
        if isinstance(address, TcpAddress):
            address = TcpAddress(address.host, bound.getsockname()[1], tls=address.tls)
        self.address = address
        self.is_inherited = is_inherited
        self._socket = bound

    async def accept(self) -> AsyncGenerator[Arrival, None]:
        """Connections as they come, for ever. One that fails while it is accepted is passed over."""
        listening = trio.socket.from_stdlib_socket(self._socket)
        while True:
            try:
                accepted, _address = await listening.accept()
            except OSError:
                # Out of descriptors: not this listener's end.
                await trio.sleep(_PAUSE_S)
                continue
            connection = socket.socket(fileno=accepted.detach())
            try:
                arrival = self._arrival(connection)
            except OSError:
                connection.close()  # The client left already.
                continue
            yield arrival

    def _arrival(self, connection: socket.socket) -> Arrival:
        if isinstance(self.address, UnixAddress):
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            _pid, uid, _gid = _CREDENTIALS.unpack(credentials)
            return Arrival(connection, f"uid:{uid}", uid=uid)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE.items():
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        host = connection.getpeername()[0]
        return Arrival(connection, f"ip:{host}", is_tls=self.address.tls, is_remote=True)


class EmbeddedListener:
    """The end of a private socketpair, over which the parent passes a descriptor for each connection.

    Its end of file is the parent's end: `accept` then stops.
    """

    is_inherited = False

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = trio.socket.from_stdlib_socket(control)

    async def accept(self) -> AsyncGenerator[Arrival, None]:
        """Connections as they come, until the parent is gone."""
        while True:
            data, ancillary, _flags, _address = await self._control.recvmsg(1, socket.CMSG_SPACE(4))
            if not data:
                return
            for _level, _kind, descriptor in ancillary:
                yield Arrival(socket.socket(fileno=struct.unpack("i", descriptor[:4])[0]), "parent")
