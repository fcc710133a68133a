"""The system calls a worker may make, some only with certain arguments; everything else fails with EPERM.

The list is what V8 (with its compiler, Intl, timers and new isolates), the C library and the worker's own loop were
seen to need. It has no way to open, to connect, to start a program or to reach another process.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import socket
import termios
from contextlib import suppress
from typing import Any, ClassVar

from tooltoolexec_executor.lockdown.kernel import prctl, syscall

_PR_SET_SECCOMP = 22
_SECCOMP = {"x86_64": 317, "aarch64": 277}.get(platform.machine(), 0)
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION_BYTES = 8
_TREE = 2

ALLOWED = (
    "brk close exit exit_group fstat futex getpid getppid getrandom getrusage getsockname gettid gettimeofday lseek "
    "madvise membarrier munmap nanosleep pkey_alloc pkey_free poll ppoll pread64 read restart_syscall rseq "
    "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigtimedwait sched_yield set_robust_list setitimer shutdown "
    "sigaltstack sysinfo write"
).split()
"""With any arguments."""

_CLONE_VM, _CLONE_SIGHAND, _CLONE_THREAD = 0x100, 0x800, 0x10000
_CLONE_PTRACE, _CLONE_VFORK, _CLONE_NAMESPACES = 0x2000, 0x4000, 0x7E020080
_THREAD = _CLONE_VM | _CLONE_SIGHAND | _CLONE_THREAD
_NO_THREAD = _CLONE_PTRACE | _CLONE_VFORK | _CLONE_NAMESPACES
_PR_SET_VMA = 0x53564D41
_CLOCKS = ("clock_getres", "clock_gettime", "clock_nanosleep")
_PRCTL = (2, 3, 15, 16, 21, 23, 39, _PR_SET_VMA)
"""Names of threads and memory; reading PDEATHSIG, DUMPABLE, SECCOMP, CAPBSET and NO_NEW_PRIVS."""
_FCNTL = (fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL, fcntl.F_DUPFD_CLOEXEC)
_IOCTL = (termios.FIONBIO, termios.FIOCLEX, termios.FIONREAD)
_OWN_CLOCKS = 16
"""The clocks of the machine and of this process are below it; those of other processes are not."""
_SOCKET_FACTS = (socket.SO_TYPE, socket.SO_ERROR, socket.SO_PROTOCOL, socket.SO_DOMAIN)
_MAP_GROWSDOWN, _MAP_HUGETLB = 0x100, 0x40000
_UNCOUNTED = mmap.MAP_SHARED | _MAP_GROWSDOWN | _MAP_HUGETLB
"""Kinds of memory that RLIMIT_DATA does not count; nor does it what mremap makes of a stack."""
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_LIMITS = (resource.RLIMIT_CPU, resource.RLIMIT_DATA)
"""What the watchdog sets for its run."""


class _Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_: ClassVar = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


class Filter:
    """The compiled filter. Compiling takes ten times as long as loading, so it is done once, in the zygote.

    Args:
        jitless: V8 compiles nothing, so no memory may ever become executable.

    Raises:
        RuntimeError: libseccomp is missing.
        OSError: it cannot build the filter.
    """

    def __init__(self, *, jitless: bool = False) -> None:
        self._program = _program(_compile(jitless=jitless))
        self._no_threads = _program(_compile_no_threads())

    def load(self) -> None:
        """Put this process, and every thread it will have, under the filter for good. Needs no_new_privs.

        Raises:
            OSError: the kernel refused it.
        """
        prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._program))

    def seal(self) -> None:
        """Once this process has all its threads: let it make no more, in any of them.

        Raises:
            OSError: the kernel refused it.
        """
        if syscall(_SECCOMP, _SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(self._no_threads)) != 0:
            raise OSError(errno.EBUSY, "a thread has another filter")


def _program(code: bytes) -> _Program:
    return _Program(len(code) // _INSTRUCTION_BYTES, code)


def _compile_no_threads() -> bytes:
    import pyseccomp  # noqa: PLC0415 - as below

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone")
    return _exported(rules)


def _compile(*, jitless: bool) -> bytes:
    import pyseccomp  # noqa: PLC0415 - raises RuntimeError at import where libseccomp is missing

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    with suppress(OSError):  # A tree instead of a list: each worker loads it a third faster. Since libseccomp 2.5.
        rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, _TREE)
    for name, comparisons in [*((name, ()) for name in ALLOWED), *_by_argument(pyseccomp, jitless=jitless)]:
        try:
            rules.add_rule(pyseccomp.ALLOW, name, *comparisons)
        except OSError as error:
            if error.errno != errno.EFAULT:  # This architecture has no such call, so nothing needs it.
                raise
    # The C library falls back to clone, whose flags a filter can see, only when clone3 does not exist.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    # The C library asks for each new thread by its number, and does without an answer only where there is no such call.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "sched_getaffinity", pyseccomp.Arg(0, pyseccomp.NE, 0))
    return _exported(rules)


def _exported(rules: Any) -> bytes:
    # Through a pipe, which holds far more than a filter may have: no limit on the size of files concerns it.
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source:
        with os.fdopen(writing, "wb") as sink:
            rules.export_bpf(sink)
        return source.read()


def _by_argument(library: Any, *, jitless: bool) -> list[tuple[str, tuple[Any, ...]]]:
    """The calls that are allowed only with certain arguments. Rules for the same call are alternatives."""

    def equals(place: int, value: int) -> Any:
        # The kernel reads these as 32 bits; what stands above them is no difference to it.
        return library.Arg(place, library.MASKED_EQ, 0xFFFFFFFF, value)

    def bits(place: int, mask: int, value: int) -> Any:
        return library.Arg(place, library.MASKED_EQ, mask, value)

    null = library.Arg(2, library.EQ, 0)
    # Without a compiler no memory that can be written to is ever executed; what is already mapped stays.
    protection = (bits(2, mmap.PROT_EXEC, 0),) if jitless else ()
    return [
        ("clone", (bits(0, _THREAD | _NO_THREAD, _THREAD),)),
        ("mmap", (bits(3, _UNCOUNTED, 0), *protection)),
        ("mprotect", protection),
        ("pkey_mprotect", protection),
        # To the peer, never to an address; nothing out of band, for which the kernel has code that nobody else uses.
        ("sendto", (library.Arg(4, library.EQ, 0), bits(3, socket.MSG_OOB, 0))),
        ("recvfrom", (bits(3, socket.MSG_OOB, 0),)),
        ("recvmsg", (bits(2, socket.MSG_OOB, 0),)),
        *(("getsockopt", (equals(1, socket.SOL_SOCKET), equals(2, fact))) for fact in _SOCKET_FACTS),
        *((name, (library.Arg(0, library.LT, _OWN_CLOCKS),)) for name in _CLOCKS),
        ("sched_getaffinity", (equals(0, 0),)),
        ("seccomp", (equals(0, _SET_MODE_FILTER),)),  # A further filter can only take more away.
        *(("prctl", (equals(0, option),)) for option in _PRCTL),
        *(("fcntl", (equals(1, command),)) for command in _FCNTL),
        *(("ioctl", (equals(1, request),)) for request in _IOCTL),
        # Its own limits only: reading any, setting those. A filter cannot read the limit itself.
        ("prlimit64", (equals(0, 0), null)),
        *(("prlimit64", (equals(0, 0), equals(1, limit))) for limit in _LIMITS),
    ]
