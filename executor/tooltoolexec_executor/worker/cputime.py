"""This process's CPU time, exact for the thread that asks."""

from __future__ import annotations

import resource


def cpu_time() -> float:
    """Seconds of CPU time of all threads; of one that runs at this moment, but for this one, to some milliseconds.

    Not the process's clock: where a CPU limit is set, Linux brings that up to date at ticks, also for this thread.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
