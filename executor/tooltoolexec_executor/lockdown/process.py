"""What prctl(2) sets: no new privileges, no access to the process's memory from outside, death with the zygote."""

from __future__ import annotations

import os
import signal

from tooltoolexec_executor.lockdown.kernel import prctl

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38


def forgo_privileges() -> None:
    """No program that this process could start has more rights than it has.

    Raises:
        OSError: the kernel refused it.
    """
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def close_memory() -> None:
    """No core file, and no way into this process's memory for others of its user.

    Raises:
        OSError: the kernel refused it.
    """
    prctl(_PR_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """Tie this process to the one that forked it. A change of user undoes it, so it comes after that.

    Raises:
        OSError: the kernel refused it.
    """
    parent = os.getppid()
    # Follows the thread that forked: the zygote has only one.
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)  # The zygote died before the signal was set.
