"""A run as a worker gets it from the daemon. The other end is `handover.py`."""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

from tooltoolexec_executor import handover


class Assignment(NamedTuple):
    """One run: what the worker has to know, what V8 compiles, and the socket to the client."""

    facts: handover.Facts
    script: bytes
    connection: socket.socket


def receive(control: socket.socket) -> Assignment | None:
    """Wait for a run on the control socket; none where the daemon is gone or has no use for this worker.

    If the daemon goes in the midst of it, the process ends.
    """
    head, descriptors, _flags, _address = socket.recv_fds(control, handover.LENGTHS_BYTES, 1)
    if not head or not descriptors:
        return None
    connection = socket.socket(fileno=descriptors[0])
    head += _exactly(control, handover.LENGTHS_BYTES - len(head))
    facts_bytes, script_bytes = handover.unpack_lengths(head)
    rest = _exactly(control, facts_bytes + script_bytes)
    return Assignment(handover.unpack_facts(rest[:facts_bytes]), rest[facts_bytes:], connection)


def _exactly(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = control.recv(min(size - len(data), 1 << 20))
        if not part:
            os._exit(0)
        data += part
    return bytes(data)
