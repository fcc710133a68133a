"""Linux capabilities: which this process has, and giving all of them up, in a user namespace of its own as well."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

from tooltoolexec_executor.lockdown.kernel import capset, prctl

KILL = 5
SETGID = 6
SETUID = 7
NAMES = {KILL: "CAP_KILL", SETGID: "CAP_SETGID", SETUID: "CAP_SETUID"}

_MOST = 64
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x20080522


def effective() -> int:
    """The effective set, a bit for each.

    Raises:
        OSError: /proc is not there.
    """
    for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return int(value, 16)
    return 0


def bound() -> None:
    """Let none ever be gained, as far as this process may decide that. A change of user takes the right to."""
    for capability in range(_MOST):
        with suppress(OSError):
            prctl(_PR_CAPBSET_DROP, capability)


def drop() -> None:
    """Give up all that this process has.

    Raises:
        OSError: the kernel refused it.
    """
    bound()
    with suppress(OSError):
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    # struct __user_cap_header_struct, and two of struct __user_cap_data_struct: nothing in any set.
    capset((ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)())
