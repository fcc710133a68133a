"""A worker has the kernel end it first where memory runs out: its end costs one run, the zygote's all of them."""

from __future__ import annotations

import os
from contextlib import suppress

from tooltoolexec_executor.lockdown import kernel

_FILE = "/proc/self/oom_score_adj"
_FIRST = b"1000"
_PR_SET_DUMPABLE = 4


def go_first() -> None:
    """Call it before the lock-down, which closes files. Where the kernel does not let it, this process is like any."""
    with suppress(OSError):
        try:
            _write()
        except PermissionError:
            # After a change of user these files are root's until the process may be looked into; the lock-down, which
            # comes next, forbids that again.
            kernel.prctl(_PR_SET_DUMPABLE, 1)
            _write()


def _write() -> None:
    descriptor = os.open(_FILE, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, _FIRST)
    finally:
        os.close(descriptor)
