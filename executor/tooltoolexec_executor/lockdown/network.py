"""A network namespace in which no interface is up. Sockets that were made outside and are handed in keep working."""

from __future__ import annotations

from tooltoolexec_executor.lockdown.kernel import unshare

_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


def leave() -> str:
    """Leave the network and System V IPC, by privilege; says how. Call it while the process has one thread.

    Raises:
        OSError: not permitted, or no such namespaces here.
    """
    unshare(_CLONE_NEWNET | _CLONE_NEWIPC)
    return "a namespace without interfaces"


def leave_as_user() -> str:
    """The same without privilege, by a user namespace that maps nobody.

    The process then has all capabilities in that namespace: give them up.

    Raises:
        OSError: not permitted, or no such namespaces here.
    """
    unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC)
    return "a namespace without interfaces, in a user namespace"
