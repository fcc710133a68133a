"""The kernel's own limits for one run. They stand behind the watchdog, for a run that outruns it or took it over."""

from __future__ import annotations

import math
import resource
import time

from tooltoolexec_executor.handover import Facts
from tooltoolexec_protocol.limits import MIB

_LARGEST = 2**62
_CPU_GRACE_S = 2
_MEMORY_SLACK_BYTES = 256 * MIB
"""How far past its limits a run may be before the kernel refuses it memory: there it crashes, while the watchdog, which
should come first, ends it with an outcome."""


def bound(facts: Facts, data_bytes: int) -> None:
    """Set them for this process, before anything of the run happens.

    Args:
        facts: the run's.
        data_bytes: how much writable memory the process has now, as the kernel counts it: V8's reservations included.
    """
    if facts.memory_mb is not None:
        # The heap's share, the process's, and as much again for what is counted although it was never touched.
        most = data_bytes + 3 * facts.memory_mb * MIB + _MEMORY_SLACK_BYTES
        if most < _LARGEST:
            resource.setrlimit(resource.RLIMIT_DATA, (int(most), int(most)))
    if facts.cpu_s is not None:
        most = time.process_time() + facts.cpu_s + _CPU_GRACE_S
        if most < _LARGEST:
            # The first ends the process by a signal that says why; the second also one that ignores it.
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most), math.ceil(most) + 1))
