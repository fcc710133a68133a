"""What the zygotes and their workers hold in memory, from the outside and cheaply."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROCESSES = 1000
"""More are not read at once; what those have stands for the others."""
_FRESH_S = 1.0

Families = Callable[[], Sequence[Sequence[int]]]
"""For each zygote its process, then those of its workers."""


class Memory:
    """Measures when asked, at most once a second: it takes some 20 µs for each process, of the daemon's only thread."""

    def __init__(self, families: Families) -> None:
        self._families = families
        self._measured_at = float("-inf")
        self._bytes = 0

    def bytes(self) -> int:
        """Pages of no file: those of each zygote, and by how many each worker has more than that.

        A worker begins with all of its zygote's pages. The kernel counts them as the worker's, too, and says only at
        great cost which it shares still; the few MiB that it has rewritten since are therefore left out here.
        """
        if time.monotonic() - self._measured_at >= _FRESH_S:
            self._bytes = sum(_of_family(family) for family in self._families()) * _PAGE_BYTES
            self._measured_at = time.monotonic()
        return self._bytes


def _of_family(pids: Sequence[int]) -> int:
    zygote, *workers = pids
    shared = _pages(zygote)
    read = workers[:_PROCESSES]
    own = sum(max(0, _pages(pid) - shared) for pid in read)
    return shared + (own * len(workers) // len(read) if read else 0)


def _pages(pid: int) -> int:
    """A process's pages of no file; one that is gone has none."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - half the time
            _size, resident, shared, *_rest = file.read().split()
    except (OSError, ValueError):
        return 0
    return int(resident) - int(shared)
