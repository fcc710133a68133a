"""Taking a body's content encoding away, a bounded amount at a time."""

from __future__ import annotations

import zlib

from tooltoolexec.outbound.exchange import OutboundError

_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""By content encoding, what zlib calls `wbits`."""


class Decoder:
    """One body's.

    Args:
        encoding: the header's value, None without one.
        host: whose response it is, for messages.

    Raises:
        OutboundError: nobody asked for this encoding.
    """

    def __init__(self, encoding: str | None, host: str) -> None:
        self._host = host
        name = "identity" if encoding is None else encoding.strip().lower()
        if name != "identity" and name not in _WINDOWS:
            raise self._unreadable()
        self._window = _WINDOWS.get(name, 0)
        self._inflater = zlib.decompressobj(self._window) if self._window else None
        self._is_empty = True

    def decode(self, chunk: bytes, room: int) -> bytes:
        """What `chunk` stands for: at most `room` bytes, and one more that tells of others."""
        self._is_empty = False
        inflater = self._inflater
        if inflater is None:
            return chunk
        out = bytearray()
        try:
            while chunk and len(out) <= room:
                if inflater.eof:  # A gzip body may have several members.
                    self._inflater = inflater = zlib.decompressobj(self._window)
                out += inflater.decompress(chunk, room + 1 - len(out))
                chunk = inflater.unconsumed_tail or inflater.unused_data
        except zlib.error:
            raise self._unreadable() from None
        return bytes(out)

    def finish(self) -> None:
        """Raises OutboundError where the end is missing. No body at all has none."""
        if self._inflater is not None and not self._inflater.eof and not self._is_empty:
            raise self._unreadable()

    def _unreadable(self) -> OutboundError:
        return OutboundError(f"The response of {self._host} has an encoding that cannot be read.")
