"""Where a URL leads, and lists of hosts that say whether that is all right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urljoin

from tooltoolexec.outbound.exchange import OutboundError

_PORTS = {"http": 80, "https": 443}
_HOST = r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\]"
_URL = re.compile(rf"(https?)://({_HOST})(?::([0-9]{{1,5}}))?(/[!-~]*)?(\?[!-~]*)?", re.IGNORECASE)
_ENTRY = re.compile(rf"(\*\.)?({_HOST})(?::([0-9]{{1,5}}))?", re.IGNORECASE)
NO_URL = "The URL is none that can be requested."
_VISIBLE = "".join(map(chr, range(0x21, 0x7F))).replace("\\", "")


@dataclass(frozen=True, slots=True)
class Target:
    """What a URL says: where to connect, and what to ask for there."""

    scheme: str
    host: str
    """In lower case; an IPv6 address in brackets."""
    port: int
    path: str
    """With the query."""

    @classmethod
    def of(cls, url: str) -> Self:
        """Raises OutboundError for what is no http or https URL, or has a user name in it."""
        found = _URL.fullmatch(url.partition("#")[0])
        if found is None or int(found[3] or 0) > 0xFFFF:  # noqa: PLR2004
            raise OutboundError(NO_URL)
        scheme = found[1].lower()
        path = (found[4] or "/") + (found[5] or "")
        return cls(scheme, found[2].lower(), int(found[3] or _PORTS[scheme]), path)

    def follow(self, location: str) -> Self:
        """Where a redirect leads. Raises as `of`."""
        try:
            url = urljoin(self.url, quote(location.strip(" \t"), safe=_VISIBLE, encoding="latin-1"))
        except ValueError:  # Of brackets that hold no address.
            raise OutboundError(NO_URL) from None
        return self.of(url)

    @property
    def url(self) -> str:
        """As text."""
        return self.origin + self.path

    @property
    def origin(self) -> str:
        """Scheme, host, and the port unless it is the scheme's own."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host, and the port unless it is the scheme's own."""
        return self.host if self.has_default_port else f"{self.host}:{self.port}"

    @property
    def has_default_port(self) -> bool:
        """Whether the port is the scheme's own."""
        return self.port == _PORTS[self.scheme]


class HostList:
    """Entries `host`, `host:port`, `*.domain`, `*.domain:port`. One without a port stands for the default ports.

    Raises:
        TypeError: no list of texts.
        ValueError: an entry is none of these.
    """

    def __init__(self, entries: Iterable[str], name: str) -> None:
        if isinstance(entries, str):
            raise TypeError(f"{name} is a list of hosts, not one text")
        self._exact: set[tuple[str, int | None]] = set()
        self._domains: set[tuple[str, int | None]] = set()
        self.texts: list[str] = []
        for entry in entries:
            if not isinstance(entry, str):
                raise TypeError(f"{name} is a list of texts, not of {type(entry).__name__}")
            found = _ENTRY.fullmatch(entry)
            if found is None or int(found[3] or 1) not in range(1, 0x10000):
                raise ValueError(
                    f"{name}: {entry!r} is no host. Write one as api.example.com, *.example.com or localhost:8080."
                )
            port = int(found[3]) if found[3] else None
            (self._domains if found[1] else self._exact).add((found[2].lower(), port))
            self.texts.append(entry.lower())

    def __contains__(self, target: Target) -> bool:
        ports = (target.port, None) if target.has_default_port else (target.port,)
        labels = target.host.split(".")
        domains = [".".join(labels[start:]) for start in range(1, len(labels))]
        return any(
            (target.host, port) in self._exact or any((domain, port) in self._domains for domain in domains)
            for port in ports
        )
