"""How much memory the worker's process has grown by since its run began."""

from __future__ import annotations

import os

_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryGauge:
    """Reads the process's resident pages. Make it before the lock-down, which closes the file system."""

    def __init__(self) -> None:
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._base = 0
        self._peak = 0
        self.data_bytes = 0

    def reset(self) -> None:
        """The run begins now. `data_bytes` is then the process's writable memory, touched or not."""
        self._peak = 0
        self._base, self.data_bytes = self._read()

    def growth(self) -> int:
        """Bytes of growth now."""
        growth = self._read()[0] - self._base
        self._peak = max(self._peak, growth)
        return growth

    def peak(self) -> int:
        """The largest growth seen, in bytes; this moment's included."""
        self.growth()
        return self._peak

    def _read(self) -> tuple[int, int]:
        # By position: both of the worker's threads read here, and would move each other's place.
        fields = os.pread(self._statm, 128, 0).split()
        return int(fields[1]) * _PAGE, int(fields[5]) * _PAGE
