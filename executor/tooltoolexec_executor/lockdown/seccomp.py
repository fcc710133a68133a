"""The system calls a worker may make; everything else fails with EPERM.

The list is what V8 (with its compiler, Intl, timers and new isolates) and the worker's own loop were seen to need. It
has no way to open, to connect, to start a program or to reach another process.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import ClassVar

_CLONE_THREAD = 0x00010000
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION_BYTES = 8

_libc = ctypes.CDLL(None, use_errno=True)

_ALLOWED = (
    "read pread64 setitimer rt_sigtimedwait write readv writev sendto recvfrom sendmsg recvmsg close fstat newfstatat "
    "lseek mmap munmap mprotect mremap madvise brk futex rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack "
    "clock_gettime clock_nanosleep nanosleep gettimeofday getpid getppid gettid tgkill getrandom epoll_wait "
    "epoll_pwait epoll_pwait2 epoll_ctl epoll_create1 poll ppoll select pselect6 eventfd2 pipe2 sched_yield "
    "sched_getaffinity exit exit_group restart_syscall set_robust_list rseq membarrier prctl getrusage sysinfo "
    "prlimit64 ioctl fcntl dup getsockopt setsockopt getsockname getpeername shutdown pkey_alloc pkey_free "
    "pkey_mprotect "
).split()


class _Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_: ClassVar = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


class Filter:
    """The compiled filter. Compiling takes ten times as long as loading, so it is done once, in the zygote.

    Raises:
        RuntimeError: libseccomp is missing.
        OSError: it cannot build the filter.
    """

    def __init__(self) -> None:
        code = _compile()
        self._program = _Program(len(code) // _INSTRUCTION_BYTES, code)

    def load(self) -> None:
        """Put this process, and every thread it will have, under the filter for good. Needs no_new_privs.

        Raises:
            OSError: the kernel refused it.
        """
        if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._program), 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"the system call filter cannot be loaded: {os.strerror(number)}")


def _compile() -> bytes:
    import pyseccomp  # noqa: PLC0415 - raises RuntimeError at import where libseccomp is missing

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in _ALLOWED:
        try:
            rules.add_rule(pyseccomp.ALLOW, name)
        except OSError as error:
            if error.errno != errno.EFAULT:  # This architecture has no such call, so nothing needs it.
                raise
    thread_only = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _CLONE_THREAD, _CLONE_THREAD)
    rules.add_rule(pyseccomp.ALLOW, "clone", thread_only)
    # The C library falls back to clone only when clone3 does not exist.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    with os.fdopen(os.memfd_create("filter"), "w+b") as exported:
        rules.export_bpf(exported)
        exported.seek(0)
        return exported.read()
