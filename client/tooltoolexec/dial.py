"""Opening connections to a daemon at an address, and the greeting every connection begins with."""

from __future__ import annotations

import errno
import os
import socket
from typing import Protocol

import anyio

from tooltoolexec.tls import TlsError, TlsWire
from tooltoolexec.transport import Transport
from tooltoolexec.trust import TlsOptions, Trust
from tooltoolexec.version import __version__
from tooltoolexec_protocol.address import Address, TcpAddress, UnixAddress, parse_address
from tooltoolexec_protocol.errors import ConnectError, ProtocolError, RefusedError
from tooltoolexec_protocol.messages import OLDEST_VERSION, VERSION, Hello, Refused, Welcome

_FULL_BACKLOG_S = 0.005
"""How long to wait before knocking again at a Unix socket whose backlog is full."""
_BACKLOG_IS_FULL = errno.EAGAIN  # The system has no event for a place in it.
_UNDER_WAY = frozenset({errno.EINPROGRESS, getattr(errno, "WSAEWOULDBLOCK", errno.EINPROGRESS)})


class Dialer(Protocol):
    """Where connections come from: an address, or a daemon that is this process's child."""

    name: str
    """What an error message calls it."""

    async def start(self) -> None:
        """Make it ready for `dial`."""

    async def dial(self) -> Transport:
        """A new connection, not greeted yet.

        Raises:
            OSError: nothing answers, or nothing that is trusted.
        """

    def hint(self) -> str:
        """What may be wrong where something answers that sends no greeting: a clause to add, or nothing."""

    async def why_silent(self, reason: str) -> str:
        """A better reason than `reason` why nothing answers, where one is known."""

    @property
    def has_ended(self) -> bool:
        """Whether it was started here and is gone."""

    async def aclose(self) -> None:
        """Give back what `start` took."""


class AddressDialer:
    """Connects to an address.

    Raises:
        AddressError: the text is none.
        ValueError: the TLS options do not go together, or not with the address.
        ConnectError: a file of theirs cannot be read or used.
    """

    def __init__(self, address: str, options: TlsOptions) -> None:
        self._address: Address = parse_address(address)
        self.name = str(self._address)
        self._trust: Trust | None = None
        is_tls = isinstance(self._address, TcpAddress) and self._address.tls
        options.check(tls=is_tls)
        if isinstance(self._address, TcpAddress) and is_tls:
            self._trust = Trust(self._address, options)

    async def start(self) -> None:
        """Nothing to do: the daemon is somebody else's."""

    async def dial(self) -> Transport:
        """A new connection; over TCP by the first of the host's addresses that answers."""
        if isinstance(self._address, UnixAddress):
            if not hasattr(socket, "AF_UNIX"):
                raise OSError("this system has no Unix sockets")
            return Transport(await _connect(socket.AF_UNIX, self._address.path))
        sock = await self._connect_to_host(self._address)
        if self._trust is None:
            return Transport(sock)
        try:
            wire = TlsWire(sock, self._trust)
            await wire.shake_hands()
        except BaseException:
            sock.close()
            raise
        return Transport(sock, wire)

    async def _connect_to_host(self, address: TcpAddress) -> socket.socket:
        found = await anyio.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        last_error: OSError = OSError("the host name has no address")
        for family, _, _, _, where in found:
            try:
                return await _connect(family, where)
            except OSError as error:
                last_error = error
        raise last_error

    def hint(self) -> str:
        """A TLS port closes on a client that speaks without."""
        if self._trust is None and isinstance(self._address, TcpAddress):
            return f"; if it speaks TLS, connect to {TcpAddress(self._address.host, self._address.port, tls=True)}"
        return ""

    async def why_silent(self, reason: str) -> str:
        """Nothing better is known of a daemon elsewhere."""
        return reason

    @property
    def has_ended(self) -> bool:
        """Nobody here started it."""
        return False

    async def aclose(self) -> None:
        """Nothing to do."""


async def _connect(family: int, where: str | tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await _establish(sock, where)
    except BaseException:
        sock.close()
        raise
    return sock


async def _establish(sock: socket.socket, where: str | tuple[object, ...]) -> None:
    while (error := sock.connect_ex(where)) == _BACKLOG_IS_FULL:  # noqa: ASYNC110 - see there.
        await anyio.sleep(_FULL_BACKLOG_S)
    if error in _UNDER_WAY:
        await anyio.wait_writable(sock)
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


async def greet(dialer: Dialer, *, token: str, timeout_s: float) -> Transport:
    """A new connection on which both sides have agreed to go on.

    Raises:
        ConnectError: nothing answers within `timeout_s` seconds, or what answers is no daemon, or not trusted.
        RefusedError: the daemon does not want this client, or speaks another version.
    """
    cause: Exception
    try:
        with anyio.fail_after(timeout_s):
            transport = await dialer.dial()
            try:
                await _exchange_hello(transport, token)
            except BaseException:
                transport.abort()
                raise
            return transport
    except TimeoutError as error:
        cause, reason = error, f"it did not answer within {timeout_s:g} s"
    except _NoGreetingError as error:
        cause, reason = error, f"it closed the connection instead of a greeting{dialer.hint()}"
    except OSError as error:
        cause, reason = error, error.strerror or str(error)
    except ProtocolError as error:
        cause, reason = error, f"what answers there does not speak this protocol ({error}){dialer.hint()}"
    raise ConnectError(dialer.name, await dialer.why_silent(reason)) from cause


def is_passing(error: ConnectError) -> bool:
    """Whether it is what a daemon looks like while it restarts: nothing listens, or the connection is closed."""
    cause = error.__cause__
    return isinstance(cause, OSError) and not isinstance(cause, TimeoutError | TlsError)


class _NoGreetingError(OSError):
    """The connection ended first."""


async def _exchange_hello(transport: Transport, token: str) -> None:
    await transport.send(
        Hello(version=VERSION, oldest_version=OLDEST_VERSION, client=f"tooltoolexec/{__version__}", token=token)
    )
    answer = await transport.receive()
    if isinstance(answer, Refused):
        raise RefusedError(answer.code, answer.message)
    if not isinstance(answer, Welcome):
        # With TLS 1.3 a daemon says only now that it wants a certificate.
        raise transport.failure if isinstance(transport.failure, TlsError) else _NoGreetingError
    if not OLDEST_VERSION <= answer.version <= VERSION:
        raise RefusedError(
            "version", f"The daemon speaks version {answer.version}, this client {OLDEST_VERSION} to {VERSION}."
        )
    transport.features = answer.features
