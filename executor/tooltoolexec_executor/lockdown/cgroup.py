"""A control group of its own for a daemon's zygotes and workers, where the daemon's group is delegated to it.

    the daemon's group, delegated          no process may stay here once it has controllers
    ├── daemon                             the daemon itself
    └── workers    pids.max                each zygote, and what it forks

Version 2 of control groups only. Nothing is touched in a group that holds a process of anybody else, a shell for one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tooltoolexec_executor.lockdown.layers import ImpossibleError

ROOT = Path("/sys/fs/cgroup")
MOST_PROCESSES = 16384
"""Threads count as well; a worker has two, so this is far above what a daemon needs."""
_DAEMON, _WORKERS = "daemon", "workers"


def enter(*, daemon: int, root: Path = ROOT, own: Path = Path("/proc/self/cgroup")) -> str:
    """Move the calling process, a zygote that `daemon` started, to the group for workers; says which one it is.

    Args:
        daemon: the daemon's process id.
        root: where control groups are mounted.
        own: the file that names the groups of the calling process.

    Raises:
        ImpossibleError: there is no group that this daemon may divide.
        OSError: the kernel refused a step.
    """
    group = _home(root, own)
    if not _is_delegated(group):
        raise ImpossibleError("the daemon's control group is not delegated to it")
    workers = group / _WORKERS
    strangers = _members(group) - {daemon, os.getpid()}
    if strangers:
        raise ImpossibleError("the daemon's control group holds other processes as well")
    if "pids" not in (group / "cgroup.controllers").read_text().split():
        raise ImpossibleError("the controller pids is not delegated")
    (group / _DAEMON).mkdir(exist_ok=True)
    workers.mkdir(exist_ok=True)
    if daemon in _members(group):
        (group / _DAEMON / "cgroup.procs").write_text(str(daemon))
    (workers / "cgroup.procs").write_text(str(os.getpid()))
    (group / "cgroup.subtree_control").write_text("+pids")
    (workers / "pids.max").write_text(str(MOST_PROCESSES))
    return f"at most {MOST_PROCESSES} processes and threads, in {workers.relative_to(root)}"


def _home(root: Path, own: Path) -> Path:
    """The group that would be divided: this process's, or the one above if it has been divided already."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        raise ImpossibleError("the kernel has no control groups") from None
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    if path is None or not (root / "cgroup.controllers").exists():
        raise ImpossibleError("no control groups of version 2 at " + str(root))
    group = root / path.lstrip("/")
    divided = group.name in (_DAEMON, _WORKERS) and (group.parent / _WORKERS).is_dir()
    return group.parent if divided else group


def _is_delegated(group: Path) -> bool:
    """Whether its manager says so, or it is the root of a namespace that we may write; a true root has no type."""
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(group, name) == b"1":
                return True
    is_root = not (group.parent / "cgroup.controllers").exists()
    return is_root and (group / "cgroup.type").exists() and os.access(group / "cgroup.procs", os.W_OK)


def _members(group: Path) -> set[int]:
    return {int(line) for line in (group / "cgroup.procs").read_text().split()}
