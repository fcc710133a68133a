"""Frames: four bytes of big-endian length, then that many bytes of body."""

from __future__ import annotations

from tooltoolexec_protocol.errors import ProtocolError

HEADER_BYTES = 4


def frame(body: bytes) -> bytes:
    """`body` with its length before it."""
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def body_length(header: bytes | bytearray | memoryview, bound: int) -> int:
    """Read a header.

    Raises:
        ProtocolError: `too_large`, before any of the body is read.
    """
    length = int.from_bytes(header, "big")
    if length > bound:
        raise ProtocolError("too_large", f"A frame of {length} bytes is over the limit of {bound} bytes.")
    return length


class FrameReader:
    """Cuts a stream of bytes into frames. Holds at most one frame's bytes and what arrived with it."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        # How much of the buffer's front has been handed out already; the next feed cuts it off.
        self._start = 0

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes as they arrived. Then call `next_body` until it gives None."""
        del self._buffer[: self._start]
        self._start = 0
        self._buffer += data

    def next_body(self, bound: int) -> bytes | None:
        """The next whole body, or None while it is not complete.

        Raises:
            ProtocolError: the next frame is larger than `bound` bytes.
        """
        missing = self.wanted(bound)
        if missing:
            return None
        start = self._start + HEADER_BYTES
        end = start + int.from_bytes(self._buffer[self._start : start], "big")
        with memoryview(self._buffer) as view:
            body = bytes(view[start:end])
        self._start = end
        return body

    def wanted(self, bound: int) -> int:
        """How many bytes are missing to the end of the header, or else of the body; 0 when a frame is whole.

        A reader that must not take bytes beyond a frame receives exactly so many.
        """
        held = len(self._buffer) - self._start
        if held < HEADER_BYTES:
            return HEADER_BYTES - held
        header = self._buffer[self._start : self._start + HEADER_BYTES]
        return max(0, HEADER_BYTES + body_length(header, bound) - held)

    @property
    def is_empty(self) -> bool:
        """Whether the stream stands at a frame's border."""
        return self._start == len(self._buffer)
