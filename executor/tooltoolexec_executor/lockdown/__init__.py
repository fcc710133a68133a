"""What a worker gives up before it makes its isolate: the required set, in the one order that works.

    resource limits ─▶ no new privileges, no core dumps of its memory, death with its parent ─▶ system call filter

Build a `Lockdown` once, in the zygote; `apply` it in each child, first of all.
"""

from __future__ import annotations

from tooltoolexec_executor.lockdown import process, rlimits, seccomp


class Lockdown:
    """The required set. Raises OSError or RuntimeError, from `apply` as well, where the machine cannot give it."""

    def __init__(self) -> None:
        self._filter = seccomp.Filter()

    def apply(self) -> None:
        """Lock this process down for good. Call it while the process has one thread and no isolate."""
        rlimits.apply()
        process.apply()
        self._filter.load()
