"""The stock handler: requests to listed hosts, over connections that cannot lead anywhere else."""

from __future__ import annotations

import math
import ssl
from collections.abc import Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import anyio
from anyio.lowlevel import RunVar

from tooltoolexec.outbound.exchange import OutboundError, OutboundRequest, OutboundResponse
from tooltoolexec.outbound.hosts import HostList, Target
from tooltoolexec.version import __version__

if TYPE_CHECKING:
    from tooltoolexec.outbound.wire import Exchange, Resolve

_NEEDS_EXTRA = "HttpOutbound needs what is not installed. Run: pip install 'tooltoolexec[outbound]'"
_MIB = 1024 * 1024

_MOST_HEADERS = 100
_MOST_HEADER_BYTES = 32 * 1024

_OURS = frozenset(
    "host content-length transfer-encoding connection keep-alive te trailer upgrade expect accept-encoding "
    "http2-settings proxy-connection proxy-authorization proxy-authenticate".split()
)
"""What the connection is about: not the program's to set."""
_NOT_TOLD = _OURS - {"content-length"} | {"set-cookie", "set-cookie2"}
"""Of the response. A cookie may be worth as much as the credentials that it was given for."""
_ONLY_THERE = frozenset({"authorization", "cookie"})
"""The program's, for the origin that it wrote them for."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SHORT_SECRET = 8
_HTTPS_PORT = 443

_turns: RunVar[WeakKeyDictionary[HttpOutbound, anyio.Semaphore]] = RunVar("tooltoolexec.outbound.turns")
"""What a handler's requests take turns by. A handler may serve several event loops, a semaphore only one."""


class HttpOutbound:
    """Makes a program's requests over HTTP/1.1, each on a connection of its own. Works under asyncio and under trio.

    A host is looked up here, every address it has must be public, and the connection goes to the very address that
    was checked; the same holds after each redirect. Proxy settings of the environment are not heeded.

    Args:
        allow: the hosts that programs may reach: `api.example.com`, `*.example.com` for all below a domain,
            `api.example.com:8443` for a port that is not HTTP's or HTTPS's own. An IPv6 address stands in brackets.
        headers: by host, written as in `allow`, what is added to each request there: credentials. They win over a
            header of that name which the program sets, and the program never sees them; a response that repeats one
            is withheld. Over plain HTTP they are sent only where the host is written with a port other than 443.
        timeout_s: seconds for a request, with all its redirects and its body, and with the wait for its turn.
        max_body_bytes: of a request and of a response, also after it is decompressed.
        max_redirects: how many are followed.
        max_concurrent: how many requests are made at once, in one event loop. Others wait for their turn, in order.
        allow_private: hosts, written as in `allow` and listed there too, that may have addresses which are not public.
        ssl_context: whom to trust, instead of the system's and certifi's authorities.
        resolve: `await resolve(host, port)` gives a host's addresses, instead of the system's resolver.

    Raises:
        ImportError: `tooltoolexec[outbound]` is not installed.
        TypeError, ValueError: an argument is none.
    """

    def __init__(
        self,
        allow: Iterable[str],
        headers: Mapping[str, Mapping[str, str]] | None = None,
        *,
        timeout_s: float = 30.0,
        max_body_bytes: int = 10 * _MIB,
        max_redirects: int = 5,
        max_concurrent: int = 16,
        allow_private: Iterable[str] = (),
        ssl_context: ssl.SSLContext | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        try:
            from tooltoolexec.outbound import wire  # noqa: PLC0415 - an extra has what it needs.
        except ImportError as error:
            raise ImportError(_NEEDS_EXTRA) from error
        if not (timeout_s > 0 and math.isfinite(timeout_s)):
            raise ValueError(f"timeout_s must be a positive number of seconds, not {timeout_s!r}")
        if max_body_bytes < 0 or max_redirects < 0:
            raise ValueError("max_body_bytes and max_redirects cannot be negative")
        if max_concurrent < 1:
            raise ValueError(f"max_concurrent must be 1 or more, not {max_concurrent!r}")
        self._wire = wire
        self._allow = HostList(allow, "allow")
        self._allow_private = HostList(allow_private, "allow_private")
        self._credentials = [_Credentials(host, fields) for host, fields in (headers or {}).items()]
        self._secrets = [secret for credentials in self._credentials for secret in credentials.secrets()]
        self._timeout_s = timeout_s
        self._max_body_bytes = max_body_bytes
        self._max_redirects = max_redirects
        self._max_concurrent = index(max_concurrent)
        self._trust = ssl_context
        self._resolve = resolve or wire.resolve_by_system

    async def __call__(self, request: OutboundRequest) -> OutboundResponse:
        """Make one request. Raises OutboundError: what the program reads instead of a response."""
        target = Target.of(request.url)
        self._check_size(request)
        try:
            with anyio.fail_after(self._timeout_s):
                async with self._turn():
                    return await self._follow(target, _Message.of(request))
        except TimeoutError:
            raise OutboundError(f"The host {target.authority} gave no response within {self._timeout_s:g} s.") from None

    def _turn(self) -> anyio.Semaphore:
        """The running loop's. It goes with the loop or with this handler, whichever ends first."""
        turns = _turns.get(None)
        if turns is None:
            turns = WeakKeyDictionary()
            _turns.set(turns)
        turn = turns.get(self)
        if turn is None:
            turn = turns[self] = anyio.Semaphore(self._max_concurrent)
        return turn

    def _check_size(self, request: OutboundRequest) -> None:
        if len(request.body) > self._max_body_bytes:
            raise OutboundError(
                f"The request body of {len(request.body)} bytes is over the limit of {self._max_body_bytes} bytes."
            )
        size = sum(len(name) + len(value) for name, value in request.headers) + len(request.url)
        if len(request.headers) > _MOST_HEADERS or size > _MOST_HEADER_BYTES:
            raise OutboundError("The URL and the headers of the request are too many, or too long.")

    async def _follow(self, target: Target, message: _Message) -> OutboundResponse:
        asked = target
        for _ in range(self._max_redirects + 1):
            if target not in self._allow:
                allowed = ", ".join(self._allow.texts) or "none"
                raise OutboundError(f"The host {target.authority} is not allowed. Allowed: {allowed}.")
            is_private_too = target in self._allow_private
            way = self._wire.way_to(target, self._resolve, allow_private=is_private_too)
            headers = self._with_credentials(message.headers, target)
            async with self._wire.exchange(way, self._trust, message.method, headers, message.body) as exchange:
                location = exchange.header("location")
                if exchange.status not in _REDIRECTS or location is None:
                    return await self._response(exchange, target, asked)
            onward = target.follow(location)
            message = message.redirected(exchange.status, same_origin=onward.origin == target.origin)
            target = onward
        raise OutboundError(f"The host {asked.authority} redirects more than {self._max_redirects} times.")

    def _with_credentials(self, headers: list[tuple[str, str]], target: Target) -> list[tuple[str, str]]:
        added = {
            name: value
            for credentials in self._credentials
            if credentials.are_for(target)
            for name, value in credentials.fields.items()
        }
        return [*(pair for pair in headers if pair[0] not in added), *added.items()]

    async def _response(self, exchange: Exchange, target: Target, asked: Target) -> OutboundResponse:
        body = await exchange.body(self._max_body_bytes)
        is_encoded = exchange.header("content-encoding") is not None
        dropped = _NOT_TOLD | {"content-encoding", "content-length"} if is_encoded else _NOT_TOLD
        headers = [pair for pair in exchange.headers if pair[0] not in dropped]
        shown = [target.url.encode(), body, *(value.encode("latin-1") for _, value in headers)]
        if any(secret in part for secret in self._secrets for part in shown):
            raise OutboundError(f"The response of {target.authority} repeats a credential, so it is withheld.")
        try:
            return OutboundResponse(exchange.status, headers, body, None if target == asked else target.url)
        except ValueError:
            raise OutboundError(f"The host {target.authority} answered with the status {exchange.status}.") from None


class _Message:
    """What goes to one target after the other."""

    def __init__(self, method: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.method = method
        self.headers = headers
        self.body = body

    @classmethod
    def of(cls, request: OutboundRequest) -> _Message:
        headers = [(name.lower(), value) for name, value in request.headers]
        names = {name for name, _ in headers}
        defaults = [("accept", "*/*"), ("user-agent", f"tooltoolexec/{__version__}")]
        kept = [pair for pair in headers if pair[0] not in _OURS]
        added = [pair for pair in defaults if pair[0] not in names]
        return cls(request.method, [*kept, *added, ("accept-encoding", "gzip")], request.body)

    def redirected(self, status: int, *, same_origin: bool) -> _Message:
        """What goes on after a redirect, by the Fetch standard."""
        method, headers, body = self.method, self.headers, self.body
        if (status in (301, 302) and method == "POST") or (status == 303 and method not in ("GET", "HEAD")):  # noqa: PLR2004
            method, body = "GET", b""
            headers = [pair for pair in headers if not pair[0].startswith("content-")]
        if not same_origin:
            headers = [pair for pair in headers if pair[0] not in _ONLY_THERE]
        return _Message(method, headers, body)


class _Credentials:
    """What is added for one host."""

    def __init__(self, host: str, fields: Mapping[str, str]) -> None:
        self._hosts = HostList([host], "headers")
        port = host.rpartition(":")[2]
        # Who writes HTTPS's own port has no plain HTTP in mind, which could be spoken there all the same.
        self._may_go_in_clear = port.isdigit() and int(port) != _HTTPS_PORT
        OutboundResponse(200, fields)  # Raises where HTTP cannot carry one.
        self.fields = {name.lower(): value for name, value in fields.items()}
        ours = ", ".join(self.fields.keys() & _OURS)
        if ours:
            raise ValueError(f"headers: {ours} cannot be set")

    def are_for(self, target: Target) -> bool:
        return target in self._hosts and (target.scheme == "https" or self._may_go_in_clear)

    def secrets(self) -> Iterable[bytes]:
        """What must not come back: the values, also without a first word such as Bearer."""
        for value in self.fields.values():
            for secret in {value, value.partition(" ")[2]}:
                if len(secret) >= _SHORT_SECRET:
                    yield secret.encode("latin-1")
