"""The way to one host: its addresses are looked up once, checked, and the connection goes to one of those."""

from __future__ import annotations

import math
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from socket import SOCK_STREAM
from typing import Any

import anyio
import httpcore

from tooltoolexec.outbound.addresses import is_public
from tooltoolexec.outbound.exchange import OutboundError
from tooltoolexec.outbound.hosts import Target

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""`await resolve(host, port)` gives the host's addresses as texts. OSError: it has none."""


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """The addresses that the system has for a name."""
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to one target, once: httpcore asks for a name, and no look-up but ours has a say in where it leads.

    Args:
        target: where to; what httpcore names is this, as it is told nothing else.
        resolve: finds addresses.
        allow_private: whether they may be other than public.
        room: how many bytes may be read to begin with.
    """

    def __init__(self, target: Target, resolve: Resolve, *, allow_private: bool, room: int) -> None:
        self.target = target
        self._resolve = resolve
        self._allow_private = allow_private
        self._room = room
        self._stream: _Stream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature; time is bounded around all.
        local_address: str | None = None,  # noqa: ARG002 - httpcore's signature.
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - httpcore's signature.
    ) -> httpcore.AsyncNetworkStream:
        """A connection to an address that was looked at. Raises OutboundError, whose message is for the program."""
        target = self.target
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            addresses = ()
        if not addresses:
            raise OutboundError(f"The host {target.host} was not found.")
        # One is enough: a name that mixes them is none to be trusted.
        if not self._allow_private and not all(map(is_public, addresses)):
            raise OutboundError(f"The host {target.host} has an address that is not public.")
        self._stream = _Stream(await _first(addresses, target, timeout), target, self._room)
        return self._stream

    def lift(self) -> None:
        """Let everything be read from now on."""
        self._give(math.inf)

    def cut(self) -> None:
        """Let the next read fail."""
        self._give(0)

    async def aclose(self) -> None:
        """Close what is still open: httpcore forgets a connection that is cancelled while it comes about."""
        if self._stream is not None:
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()

    def _give(self, room: float) -> None:
        if self._stream is not None:
            self._stream.room = room


async def _first(addresses: Iterable[str], target: Target, timeout: float | None) -> httpcore.AsyncNetworkStream:  # noqa: ASYNC109
    """A connection to the first that answers."""
    last: Exception | None = None
    for address in addresses:
        try:
            return await httpcore.AnyIOBackend().connect_tcp(address, target.port, timeout)
        except httpcore.ConnectError as error:
            last = error
    raise OutboundError(f"The host {target.authority} cannot be connected to.") from last


class _Stream(httpcore.AsyncNetworkStream):
    """A connection; `room` is how many more bytes may be read from it."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, target: Target, room: float) -> None:
        self.room = room
        self._stream = stream
        self._target = target

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self.room <= 0:
            raise httpcore.ReadError("no more is to be read")
        data = await self._stream.read(int(min(max_bytes, self.room)), timeout)
        self.room -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        try:
            self._stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except httpcore.ConnectError as error:
            is_untrusted = isinstance(error.__cause__, ssl.SSLCertVerificationError)
            what = "has no certificate that is trusted" if is_untrusted else "does not speak TLS"
            raise OutboundError(f"The host {self._target.authority} {what}.") from error
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
