"""What a lock-down is made of, by name: which layers there are, which are required, and how each stands."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a layer stands here."""

    ON = "on"
    OFF = "off"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: whether workers should not run without it, how it stands, and why or by what means."""

    name: str
    required: bool
    state: State
    why: str = ""


class ImpossibleError(Exception):
    """A layer cannot be had on this machine, or not by this user. The message says why, in a few words."""


WITHOUT: Mapping[str, str] = {
    "rlimits": "could write files that are already open and leave core files",
    "no_new_privs": "could gain privileges by starting a set-uid program",
    "not_dumpable": "could be read by other processes of its user, as could its core",
    "seccomp": "could make any system call: open files, connect, start programs",
}
"""The required layers, each with what code that has broken out of V8 could do without it."""

ZYGOTE_LAYERS = ("cgroup", "network", "user", "capabilities")
"""Taken once, by the process that forks workers, in this order."""
WORKER_LAYERS = ("rlimits", "no_new_privs", "not_dumpable", "landlock", "seccomp")
"""Taken by each worker, in this order."""

_MEANINGS = {
    errno.ENOSYS: "this kernel has no such call, or a filter around this process hides it",
    errno.EOPNOTSUPP: "the kernel has it, but it is switched off",
    errno.EPERM: "not permitted",
    errno.EACCES: "not permitted",
    errno.ENOSPC: "the kernel's bound on how many there may be is reached",
    errno.EUSERS: "the kernel's bound on how many there may be is reached",
    errno.EINVAL: "this kernel does not know it",
}


def meaning(error: Exception) -> str:
    """Why a layer could not be taken, in a few words."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"{_MEANINGS.get(error.errno, os.strerror(error.errno))} ({errno.errorcode.get(error.errno, '?')})"
    if isinstance(error, ImpossibleError):
        return str(error)
    return f"{type(error).__name__}: {error}"
