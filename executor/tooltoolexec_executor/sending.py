"""Sending whole on a socket that takes what it has room for."""

from __future__ import annotations

import trio


async def send_all(to: trio.socket.SocketType, data: bytes) -> None:
    """Send all of `data`. Raises OSError when the peer is gone."""
    rest = memoryview(data)
    while rest:
        rest = rest[await to.send(rest) :]
