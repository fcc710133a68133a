"""One HTTP/1.1 exchange, on a connection of its own to an address that was checked. The only file that needs h11."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from socket import SOCK_STREAM

import anyio
import anyio.to_thread
import certifi
import h11
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from tooltoolexec.outbound.addresses import is_public
from tooltoolexec.outbound.decoder import Decoder
from tooltoolexec.outbound.exchange import OutboundError
from tooltoolexec.outbound.hosts import Target

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""`await resolve(host, port)` gives the host's addresses as texts. OSError: it has none."""

_MOST_HEAD_BYTES = 64 * 1024
_READ_BYTES = 64 * 1024
_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """The addresses that the system has for a name."""
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


@cache
def trust_of_system() -> ssl.SSLContext:
    """The authorities of the system and of certifi. Reading them takes a while, so it is done once."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


async def connect(target: Target, resolve: Resolve, trust: ssl.SSLContext | None, *, allow_private: bool) -> ByteStream:
    """A connection to an address that was looked at: no second look-up can lead elsewhere.

    Raises:
        OutboundError: there is none; the message is for the program.
    """
    host = target.host.strip("[]")
    try:
        addresses = await resolve(host, target.port)
    except (OSError, UnicodeError):
        addresses = ()
    if not addresses:
        raise OutboundError(f"The host {target.host} was not found.")
    # One is enough: a name that mixes them is none to be trusted.
    if not allow_private and not all(map(is_public, addresses)):
        raise OutboundError(f"The host {target.host} has an address that is not public.")
    stream = await _first(addresses, target)
    if target.scheme == "http":
        return stream
    try:
        context = trust or await anyio.to_thread.run_sync(trust_of_system)
        # A peer may end without TLS's own goodbye; HTTP says itself where a body ends.
        return await TLSStream.wrap(stream, hostname=host, ssl_context=context, standard_compatible=False)
    except BaseException as error:
        await anyio.aclose_forcefully(stream)
        if isinstance(error, ssl.SSLCertVerificationError):
            raise OutboundError(f"The host {target.authority} has no certificate that is trusted.") from error
        if isinstance(error, ssl.SSLError | anyio.EndOfStream | anyio.BrokenResourceError):
            raise OutboundError(f"The host {target.authority} does not speak TLS.") from error
        raise


async def _first(addresses: Iterable[str], target: Target) -> ByteStream:
    """A connection to the first that answers."""
    last: OSError | None = None
    for address in addresses:
        try:
            return await anyio.connect_tcp(address, target.port)
        except OSError as error:
            last = error
    raise OutboundError(f"The host {target.authority} cannot be connected to.") from last


class Exchange:
    """A request that was sent; `status` and `headers`, with names in lower case, are the response's."""

    def __init__(self, target: Target, stream: ByteStream) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self._target = target
        self._stream = stream
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD_BYTES)

    async def ask(self, method: str, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """Send the request and receive the response's head."""
        fields = [("host", self._target.authority), ("connection", "close"), *headers]
        if body or method not in ("GET", "HEAD"):
            fields.append(("content-length", str(len(body))))
        try:
            request = h11.Request(
                method=method,
                target=self._target.path,
                headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in fields],
            )
        except h11.LocalProtocolError:
            raise OutboundError("The request has a header that HTTP cannot carry.") from None
        data = self._state.send(request) or b""
        data += self._state.send(h11.Data(data=body)) or b""
        data += self._state.send(h11.EndOfMessage()) or b""
        with suppress(*_BROKEN):  # A server that does not want the body may still have answered.
            await self._stream.send(data)
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise h11.RemoteProtocolError("the protocol was switched")
        self.status = event.status_code
        self.headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers]

    async def body(self, most: int) -> bytes:
        """The body without its encoding. Raises OutboundError where it has more than `most` bytes, with or without."""
        decoder = Decoder(self.header("content-encoding"), self._target.authority)
        size = 0
        body = bytearray()
        while isinstance(event := await self._next(), h11.Data):
            size += len(event.data)
            body += decoder.decode(event.data, most - len(body))
            if max(size, len(body)) > most:
                raise OutboundError(f"The response of {self._target.authority} is over the limit of {most} bytes.")
        decoder.finish()
        return bytes(body)

    def header(self, name: str) -> str | None:
        """The values of all headers of that name, None without one."""
        values = [value for each, value in self.headers if each == name]
        return ", ".join(values) if values else None

    async def _next(self) -> object:
        while (event := self._state.next_event()) is h11.NEED_DATA:
            try:
                data = await self._stream.receive(_READ_BYTES)
            except anyio.EndOfStream:
                data = b""
            self._state.receive_data(data)
        if isinstance(event, h11.ConnectionClosed):
            raise h11.RemoteProtocolError("the connection was closed")
        return event


@asynccontextmanager
async def exchange(target: Target, stream: ByteStream) -> AsyncIterator[Exchange]:
    """An exchange on `stream`, which is closed after it.

    Raises:
        OutboundError: the other side does not keep to HTTP; the message is for the program.
    """
    try:
        yield Exchange(target, stream)
    except (h11.ProtocolError, *_BROKEN) as error:
        raise OutboundError(f"The host {target.authority} broke off, or does not speak HTTP.") from error
    finally:
        await anyio.aclose_forcefully(stream)
