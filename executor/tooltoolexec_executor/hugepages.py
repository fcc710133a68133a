"""Large blocks of memory put on huge pages, before a process forks many times.

With each fork and each exit the kernel goes through a block's pages one by one, or through a five-hundredth of as many
huge ones. What the zygote has in large blocks (the data for `Intl`, ten megabytes) no worker writes to, so nothing is
split up again. Linux collapses pages on request since 6.1; elsewhere this does nothing.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

_HUGE_BYTES = 2 << 20
_SMALLEST, _LARGEST = 4 << 20, 64 << 20
"""Smaller blocks are not worth it; larger ones are V8's reservations, for the most part without memory."""
_COLLAPSE = 25
_ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0\s*")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def collapse_large_blocks() -> None:
    """Put this process's large private blocks on huge pages, where the kernel does that."""
    for start, end in _large_blocks():
        aligned = -(-start // _HUGE_BYTES) * _HUGE_BYTES
        size = (end - aligned) // _HUGE_BYTES * _HUGE_BYTES
        if size > 0:
            _libc.madvise(aligned, size, _COLLAPSE)  # A refusal changes nothing.


def _large_blocks() -> Iterator[tuple[int, int]]:
    try:
        lines = Path("/proc/self/maps").read_text("ascii", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        if block := _ANONYMOUS.fullmatch(line):
            start, end = int(block[1], 16), int(block[2], 16)
            if _SMALLEST <= end - start <= _LARGEST:
                yield start, end
