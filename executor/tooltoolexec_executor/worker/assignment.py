"""A run as a worker gets it from the daemon. The other end is `handover.py`."""

from __future__ import annotations

import os
import socket
import struct
from typing import NamedTuple

from tooltoolexec_executor import handover

_DESCRIPTOR = struct.Struct("@i")
_ANCILLARY_BYTES = socket.CMSG_LEN(_DESCRIPTOR.size)


class Assignment(NamedTuple):
    """One run: what the worker has to know, what V8 compiles, and the socket to the client."""

    facts: handover.Facts
    script: bytes
    connection: socket.socket


def receive(control: socket.socket, buffer: bytearray) -> Assignment | None:
    """Wait for a run on the control socket; none where the daemon is gone or has no use for this worker.

    If the daemon goes in the midst of it, the process ends. `buffer` is for the reading, made ahead: short runs come in
    one read. Nothing follows a run before the daemon knows that it is taken, so nothing else is read with it.
    """
    size, ancillary, _flags, _address = control.recvmsg_into([buffer], _ANCILLARY_BYTES)
    if not size or not ancillary:
        return None
    (descriptor,) = _DESCRIPTOR.unpack_from(ancillary[0][2])
    # With its type and protocol, so that the kernel is asked for its family alone.
    connection = socket.socket(type=socket.SOCK_STREAM, proto=0, fileno=descriptor)
    data = bytes(memoryview(buffer)[:size])
    if size < handover.LENGTHS_BYTES:
        data += _exactly(control, handover.LENGTHS_BYTES - size)
    facts_bytes, script_bytes = handover.unpack_lengths(data)
    facts_end = handover.LENGTHS_BYTES + facts_bytes
    end = facts_end + script_bytes
    if len(data) < end:
        data += _exactly(control, end - len(data))
    return Assignment(handover.unpack_facts(data[handover.LENGTHS_BYTES : facts_end]), data[facts_end:end], connection)


def _exactly(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = control.recv(min(size - len(data), 1 << 20))
        if not part:
            os._exit(0)
        data += part
    return bytes(data)
