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

    def reset(self) -> None:
        """The run begins now."""
        self._peak = 0
        self._base = self._resident()

    def growth(self) -> int:
        """Bytes of growth now."""
        growth = self._resident() - self._base
        self._peak = max(self._peak, growth)
        return growth

    def peak(self) -> int:
        """The largest growth seen, in bytes; this moment's included."""
        self.growth()
        return self._peak

    def _resident(self) -> int:
        # By position: both of the worker's threads read here, and would move each other's place.
        return int(os.pread(self._statm, 128, 0).split()[1]) * _PAGE
