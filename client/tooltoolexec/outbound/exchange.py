"""One request and its response, as a handler sees them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tooltoolexec_protocol.errors import ToolError

# What HTTP allows. Nothing else is handed on in either direction.
_URL = re.compile(r"https?://[!-~]+")
_STATUSES = range(200, 600)
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NEVER = frozenset({"CONNECT", "TRACE", "TRACK"})
"""Methods for proxies: one opens a tunnel, the others send back what was sent, credentials with it."""
_VALUE = re.compile(r"[^\0\r\n\u0100-\U0010ffff]*")


class OutboundError(ToolError):
    """The request was not made, or has no response. The program's `fetch` rejects with a TypeError of this message."""


@dataclass(frozen=True, slots=True)
class OutboundRequest:
    """What a program asks for.

    Raises ValueError for what HTTP cannot carry, and for methods that no program may use.

    Attributes:
        method: as it is to be sent; never CONNECT, TRACE or TRACK.
        url: absolute, http or https, without a fragment. The program chose it: check where it leads.
        headers: name and value of each, names in lower case. A name may come twice.
        body: empty for none.
    """

    method: str
    url: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(self.method) or not _URL.fullmatch(self.url) or "#" in self.url:
            raise ValueError("the method or the URL of a request is none")
        if self.method.upper() in _NEVER:
            raise ValueError(f"the method of a request is none that a program may use: {self.method}")
        _check(self.headers)


@dataclass(frozen=True, slots=True, init=False)
class OutboundResponse:
    """What the program's `fetch` gives.

    Args:
        status: 200 to 599.
        headers: as a mapping, or as pairs where a name comes twice.
        body: as it is to be read, without any content encoding; a text is sent as UTF-8.
        url: where it came from in the end, if redirects led away from the request's URL.

    Raises:
        TypeError: a part has the wrong type.
        ValueError: the status, or a header, is none.
    """

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    url: str | None

    def __init__(
        self,
        status: int,
        headers: Iterable[tuple[str, str]] | Mapping[str, str] = (),
        body: bytes | str = b"",
        url: str | None = None,
    ) -> None:
        if isinstance(status, bool) or not isinstance(status, int):
            raise TypeError(f"the status of a response is a number, not {type(status).__name__}")
        if status not in _STATUSES:
            raise ValueError(f"the status of a response is from 200 to 599, not {status}")
        if url is not None and not isinstance(url, str):
            raise TypeError(f"the url of a response is a text, not {type(url).__name__}")
        pairs = [(name, value) for name, value in (headers.items() if isinstance(headers, Mapping) else headers)]
        _check(pairs)
        content = body.encode("utf-8") if isinstance(body, str) else bytes(memoryview(body))
        # The only way to set what is frozen.
        for name, value in (("status", status), ("headers", pairs), ("body", content), ("url", url)):
            object.__setattr__(self, name, value)


def _check(headers: Iterable[tuple[str, str]]) -> None:
    for name, value in headers:
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} is none that HTTP can carry")


Outbound = Callable[[OutboundRequest], Awaitable[OutboundResponse]] | Callable[[OutboundRequest], OutboundResponse]
"""`outbound(request) -> response`, async or plain. What it raises the program does not read, but for OutboundError."""
