"""One HTTP/1.1 exchange by httpx, on a connection of its own. `http.py` loads it late: all below it needs the extra."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import cache

import anyio
import anyio.to_thread
import certifi
import httpcore
import httpx

from tooltoolexec.outbound.decoder import Decoder
from tooltoolexec.outbound.exchange import OutboundError
from tooltoolexec.outbound.hosts import Target
from tooltoolexec.outbound.network import CheckedNetwork, Resolve, resolve_by_system
from tooltoolexec.outbound.transport import ALL_HEADERS, Transport, request_to

__all__ = ["Exchange", "Resolve", "exchange", "resolve_by_system", "way_to"]

_MOST_HEAD_BYTES = 64 * 1024
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, OSError)


def way_to(target: Target, resolve: Resolve, *, allow_private: bool) -> CheckedNetwork:
    """What an exchange with `target` goes through."""
    return CheckedNetwork(target, resolve, allow_private=allow_private, room=_MOST_HEAD_BYTES)


@cache
def trust_of_system() -> ssl.SSLContext:
    """The authorities of the system and of certifi. Reading them takes a while, so it is done once."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@asynccontextmanager
async def exchange(
    network: CheckedNetwork,
    trust: ssl.SSLContext | None,
    method: str,
    headers: Iterable[tuple[str, str]],
    body: bytes,
) -> AsyncIterator[Exchange]:
    """Send a request and receive the response's head. The connection is closed at the end.

    Raises:
        OutboundError: the other side is not there or does not keep to HTTP; the message is for the program.
    """
    target = network.target
    if trust is None and target.scheme == "https":
        trust = await anyio.to_thread.run_sync(trust_of_system)
    request = request_to(target, method, headers, body)
    # It has an end in time around it. The environment's proxies are not heeded.
    client = httpx.AsyncClient(transport=Transport(network, trust), trust_env=False, timeout=None)  # noqa: S113
    try:
        async with client:
            response = await client.send(request, stream=True)
            try:
                yield Exchange(network, response)
            finally:
                await response.aclose()
    except httpcore.LocalProtocolError:
        raise OutboundError("The request has a header that HTTP cannot carry.") from None
    except _BROKEN as error:
        raise OutboundError(f"The host {target.authority} broke off, or does not speak HTTP.") from error
    finally:
        await network.aclose()


class Exchange:
    """A request that was answered; `status` and `headers`, with names in lower case, are the response's."""

    def __init__(self, network: CheckedNetwork, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers = [
            (name.decode("ascii").lower(), value.decode("latin-1")) for name, value in response.extensions[ALL_HEADERS]
        ]
        self._network = network
        self._response = response

    def header(self, name: str) -> str | None:
        """The values of all headers of that name, None without one."""
        values = [value for each, value in self.headers if each == name]
        return ", ".join(values) if values else None

    async def body(self, most: int) -> bytes:
        """The body without its encoding. Raises OutboundError where it has more than `most` bytes, with or without."""
        chunks = self._response.aiter_raw()
        try:
            return await self._read(chunks, most)
        except OutboundError:
            await self._exhaust(chunks)
            raise

    async def _read(self, chunks: AsyncIterator[bytes], most: int) -> bytes:
        host = self._network.target.authority
        decoder = Decoder(self.header("content-encoding"), host)
        size = 0
        body = bytearray()
        async for chunk in chunks:
            size += len(chunk)
            body += decoder.decode(chunk, most - len(body))
            if max(size, len(body)) > most:
                raise OutboundError(f"The response of {host} is over the limit of {most} bytes.")
        decoder.finish()
        return bytes(body)

    async def _exhaust(self, chunks: AsyncIterator[bytes]) -> None:
        """End what is iterated: trio warns of each generator, also within httpx, that is left before its end."""
        self._network.cut()
        with suppress(*_BROKEN):
            async for _ in chunks:
                pass
