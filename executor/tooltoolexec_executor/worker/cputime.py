"""This process's CPU time, exact at any moment."""

from __future__ import annotations

import resource


def cpu_time() -> float:
    """Seconds of CPU time of all threads.

    Not the process's clock: where a CPU limit is set, Linux brings that up to date at ticks, some milliseconds apart.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
