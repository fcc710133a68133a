"""What programs find around them on every machine: no environment, UTC, American English."""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress
from pathlib import Path

_ENVIRONMENT_START, _ENVIRONMENT_END = 47, 48
"""Where in /proc/self/stat its place in memory stands, counted from the field after the name."""


def fix() -> None:
    """Set time zone and language for V8, which reads them when it starts, and wipe out the initial environment."""
    wipe_environment()
    os.environ.clear()
    os.environ.update(TZ="UTC", LC_ALL="en_US.UTF-8")
    time.tzset()


def wipe_environment() -> None:
    """Overwrite the block that the process was started with: /proc shows it for as long as the process lives."""
    with suppress(OSError):
        fields = Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        start, end = int(fields[_ENVIRONMENT_START]), int(fields[_ENVIRONMENT_END])
        if 0 < start < end:
            ctypes.memset(start, 0, end - start)
