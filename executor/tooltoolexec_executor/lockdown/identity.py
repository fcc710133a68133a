"""A user of its own for each zygote and its workers: nothing in the file system and no other process is theirs."""

from __future__ import annotations

import os

from tooltoolexec_executor.lockdown import capabilities
from tooltoolexec_executor.lockdown.layers import ImpossibleError

FIRST_UID = 61184
"""Where the range begins that systemd keeps for users made for one service; no account is in it."""
UIDS = 4000
_NEEDED = (capabilities.SETUID, capabilities.SETGID, capabilities.KILL)


def own_uid(pid: int) -> int:
    """The user of the zygote with this process id."""
    return FIRST_UID + pid % UIDS


def take() -> str:
    """Become that user, for good; gives its number as text. Call it while the process has one thread.

    Raises:
        ImpossibleError: this process may not, or the daemon could not signal its workers afterwards.
        OSError: the kernel refused it.
    """
    if os.geteuid() != 0:
        raise ImpossibleError("not root")
    have = capabilities.effective()
    missing = [capabilities.NAMES[one] for one in _NEEDED if not have >> one & 1]
    if missing:
        raise ImpossibleError(f"root without {' and '.join(missing)}")
    uid = own_uid(os.getpid())
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    return f"uid {uid}"
