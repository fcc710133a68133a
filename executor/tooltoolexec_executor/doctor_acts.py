"""What a locked-down process must not be able to do, each as a function that does it or raises OSError.

They run in a process of their own, after its lock-down; whatever one needs from before it stands in its `Scene`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tooltoolexec_executor.lockdown.capabilities import drop as drop_capabilities
from tooltoolexec_executor.lockdown.kernel import prctl, unshare

_CLONE_NEWUSER = 0x10000000
_PTRACE_SEIZE = 0x4206
_PR_SET_DUMPABLE, _PR_GET_NO_NEW_PRIVS = 4, 39
_PAST_ANY_LIMIT = 4096

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Scene:
    """What an act is tried on.

    Attributes:
        path: a file that only the doctor's user may read.
        descriptor: a file, open for writing.
        port: a TCP port on loopback on which the doctor listens.
        unconnected: a socket made before the lock-down.
        target: the doctor's process id.
        address: where in the doctor's memory eight bytes lie that may be read.
    """

    path: str
    descriptor: int
    port: int
    unconnected: socket.socket
    target: int
    address: int


def _open(scene: Scene) -> None:
    os.close(os.open(scene.path, os.O_RDONLY))


def _make_socket(_scene: Scene) -> None:
    socket.socket().close()


def _connect(scene: Scene) -> None:
    with socket.socket() as fresh:
        fresh.connect(("127.0.0.1", scene.port))


def _connect_old_socket(scene: Scene) -> None:
    scene.unconnected.connect(("127.0.0.1", scene.port))


def _fork(_scene: Scene) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _exec(_scene: Scene) -> None:
    os.execv("/bin/true", ["true"])  # noqa: S606 - it must not come to that


def _signal(scene: Scene) -> None:
    os.kill(scene.target, 0)


def _trace(scene: Scene) -> None:
    _checked(_libc.ptrace(_PTRACE_SEIZE, scene.target, None, None))


def _read_memory(scene: Scene) -> None:
    local = ctypes.create_string_buffer(8)
    ours = (ctypes.c_size_t * 2)(ctypes.addressof(local), 8)
    theirs = (ctypes.c_size_t * 2)(scene.address, 8)
    read = _libc.process_vm_readv(scene.target, ours, ctypes.c_ulong(1), theirs, ctypes.c_ulong(1), ctypes.c_ulong(0))
    _checked(read)


def _read_memory_file(scene: Scene) -> None:
    descriptor = os.open(f"/proc/{scene.target}/mem", os.O_RDONLY)
    os.pread(descriptor, 8, scene.address)


def _grow_file(scene: Scene) -> None:
    os.write(scene.descriptor, b"x" * _PAST_ANY_LIMIT)


def _change_limits(_scene: Scene) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))


def _allow_core(_scene: Scene) -> None:
    prctl(_PR_SET_DUMPABLE, 1)


def _be_read(_scene: Scene) -> None:
    """Another process of the same user, without privilege, opens this one's memory."""
    drop_capabilities()
    victim = os.getpid()
    attacker = os.fork()
    if attacker == 0:
        try:
            os.open(f"/proc/{victim}/mem", os.O_RDONLY)
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(attacker, 0)[1] != 0:
        raise PermissionError


def _gain_capabilities(_scene: Scene) -> None:
    unshare(_CLONE_NEWUSER)


def _become_root(_scene: Scene) -> None:
    os.setresuid(0, 0, 0)


def _use_capability(_scene: Scene) -> None:
    os.chroot("/")


def _gain_by_exec(_scene: Scene) -> None:
    """What the kernel has noted, instead of a set-uid program, which not every machine lets one make."""
    if prctl(_PR_GET_NO_NEW_PRIVS) == 1:
        raise PermissionError


def _execute_data(_scene: Scene) -> None:
    mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_EXEC).close()


ACTS: Mapping[str, Callable[[Scene], None]] = {
    "open a file": _open,
    "make a socket": _make_socket,
    "connect": _connect,
    "connect a socket made before": _connect_old_socket,
    "fork": _fork,
    "start a program": _exec,
    "signal its parent": _signal,
    "trace its parent": _trace,
    "read its parent's memory": _read_memory,
    "open its parent's memory": _read_memory_file,
    "write to an open file": _grow_file,
    "change its limits": _change_limits,
    "dump core": _allow_core,
    "be read by another process": _be_read,
    "gain capabilities": _gain_capabilities,
    "become root": _become_root,
    "use a capability": _use_capability,
    "gain privileges by a program": _gain_by_exec,
    "make memory executable": _execute_data,
}


def _checked(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
