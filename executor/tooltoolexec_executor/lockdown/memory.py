"""No memory that can be written to and executed, for workers whose V8 compiles nothing.

The filter keeps such memory from being made; this takes the right to write from what is there already: ctypes keeps the
functions that it makes for callbacks in such a page. Make all callbacks before, and let none of them go after.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from pathlib import Path

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) .wx")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def writable_and_executable() -> list[tuple[int, int]]:
    """Where in this process code could be changed: first and last address of each such mapping.

    Raises:
        OSError: /proc is not there.
    """
    lines = Path("/proc/self/maps").read_text("utf-8", "replace").splitlines()
    return [(int(found[1], 16), int(found[2], 16)) for line in lines if (found := _MAPPING.match(line))]


def seal() -> None:
    """Let nothing be both.

    Raises:
        OSError: the kernel refused it, or /proc is not there.
    """
    for start, end in writable_and_executable():
        if _libc.mprotect(start, end - start, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
