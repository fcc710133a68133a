"""The system calls a worker may make; everything else fails with EPERM.

The list is what V8 (with its compiler, Intl, timers and new isolates) and the worker's own loop were seen to need. It has no
way to open, to connect, to start a program or to reach another process.
"""

from __future__ import annotations

import errno

import pyseccomp

_CLONE_THREAD = 0x00010000

_ALLOWED = (
    "read write readv writev sendto recvfrom sendmsg recvmsg close fstat newfstatat lseek mmap munmap mprotect mremap "
    "madvise brk futex rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack clock_gettime clock_nanosleep nanosleep "
    "gettimeofday getpid getppid gettid tgkill getrandom epoll_wait epoll_pwait epoll_pwait2 epoll_ctl epoll_create1 poll ppoll "
    "select pselect6 eventfd2 pipe2 sched_yield sched_getaffinity exit exit_group restart_syscall set_robust_list rseq "
    "membarrier prctl getrusage sysinfo prlimit64 ioctl fcntl dup getsockopt setsockopt getsockname getpeername shutdown "
    "pkey_alloc pkey_free pkey_mprotect"
).split()


def build_filter() -> pyseccomp.SyscallFilter:
    """The filter, ready to `load` in a child.

    Raises:
        RuntimeError: libseccomp is missing.
        OSError: it cannot build the filter.
    """
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
    return rules
