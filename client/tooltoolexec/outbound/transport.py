"""httpx's requests on one checked way: what is sent is what was said, and nothing that httpx would add."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable

import httpcore
import httpx

from tooltoolexec.outbound.exchange import OutboundError
from tooltoolexec.outbound.hosts import NO_URL, Target
from tooltoolexec.outbound.network import CheckedNetwork

ALL_HEADERS = "all headers"
"""The extension of a response that has the headers as they came."""
_HIDDEN = frozenset({b"location", b"set-cookie", b"set-cookie2"})
"""From httpx's client, which would keep cookies, and judge a location by rules of its own."""


def request_to(target: Target, method: str, headers: Iterable[tuple[str, str]], body: bytes) -> httpx.Request:
    """Raises OutboundError for a URL that httpx does not take."""
    fields = [("host", target.authority), ("connection", "close"), *headers]
    if body or method not in ("GET", "HEAD"):
        fields.append(("content-length", str(len(body))))
    raw = [(name.encode("ascii"), value.encode("latin-1")) for name, value in fields]
    try:
        request = httpx.Request(method, target.url, headers=raw, stream=_Body(body))  # A stream adds no header.
    except httpx.InvalidURL:
        raise OutboundError(NO_URL) from None
    request.method = method  # As it is written: httpx would have it in upper case.
    return request


class Transport(httpx.AsyncBaseTransport):
    """Sends one request through `network`: where to, and for which path, says its target and not httpx's URL."""

    def __init__(self, network: CheckedNetwork, trust: ssl.SSLContext | None) -> None:
        self._network = network
        self._pool = httpcore.AsyncConnectionPool(
            trust, max_connections=1, max_keepalive_connections=0, network_backend=network
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Up to the response's head."""
        target = self._network.target
        host = target.host.strip("[]")
        url = httpcore.URL(scheme=target.scheme, host=host, port=target.port, target=target.path)
        response = await self._pool.handle_async_request(
            httpcore.Request(request.method, url, headers=request.headers.raw, content=request.stream)
        )
        self._network.lift()
        shown = [pair for pair in response.headers if pair[0].lower() not in _HIDDEN]
        extensions = {ALL_HEADERS: response.headers}
        return httpx.Response(response.status, headers=shown, stream=_Answer(response), extensions=extensions)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """A request's body, in one piece. No generator: a server that breaks off would leave it before its end."""

    def __init__(self, content: bytes) -> None:
        self._parts = iter((content,))

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for part in self._parts:
            return part
        raise StopAsyncIteration


class _Answer(httpx.AsyncByteStream):
    """A response's body, from httpcore to httpx."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._response.aiter_stream()

    async def aclose(self) -> None:
        await self._response.aclose()
