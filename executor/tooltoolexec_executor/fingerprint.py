"""Which code this is: what tells a daemon that the package was exchanged under it.

A daemon starts processes from its package's files for as long as it lives. After an upgrade in place these would be
another version's, with other messages on their sockets.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import tooltoolexec_protocol

_ROOTS = (Path(__file__).parent, Path(tooltoolexec_protocol.__file__).parent)
_SOURCES = frozenset({".py", ".js"})


def fingerprint() -> str:
    """Of the files as they are now; 8 characters.

    Of their text, not of their sizes and times: a reinstallation of the same version is none of another, and code that
    changed under the same number is another. That costs 4 ms for each process that forks workers, which take 200. A
    checksum will do, since nobody gains by a match: whoever may write these files has the daemon already.
    """
    total = 0
    for root in _ROOTS:
        for file in sorted(root.rglob("*")):
            if file.suffix in _SOURCES:
                total = zlib.crc32(f"{file.relative_to(root)}\0".encode(), total)
                total = zlib.crc32(file.read_bytes(), total)
    return f"{total:08x}"
