"""Calls of the C library that the layers share; a refusal is an OSError."""

from __future__ import annotations

import ctypes
import os
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def prctl(option: int, value: Any = 0, more: Any = 0) -> int:
    """Operate on this process.

    Raises:
        OSError: the kernel refused it.
    """
    # As long as a register each: the kernel looks at all of it.
    words = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in (value, more, 0, 0)]
    return _checked(_libc.prctl(option, *words))


def syscall(number: int, *arguments: Any) -> int:
    """The result of a system call that the C library has no function for.

    Raises:
        OSError: the kernel refused it.
    """
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words))


def unshare(flags: int) -> None:
    """Leave namespaces for new ones.

    Raises:
        OSError: the kernel refused it.
    """
    _checked(_libc.unshare(flags))


def capset(header: Any, data: Any) -> None:
    """Set this process's capabilities.

    Raises:
        OSError: the kernel refused it.
    """
    _checked(_libc.capset(header, data))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
