"""Landlock: no file, no TCP port, no signal to another process, as far as the kernel knows how to deny them.

The calls have no functions in the C library; their numbers are the same on all architectures.
"""

from __future__ import annotations

import ctypes
import os

from tooltoolexec_executor.lockdown.kernel import syscall

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION_FLAG = 1
_FILE_BITS = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many kinds of access to files there are, from which version of the interface on."""
_NETWORK_SINCE, _NETWORK_BITS = 4, 2
_SCOPES_SINCE, _SCOPE_BITS = 6, 2


def attribute_of(abi: int) -> list[int]:
    """The words of struct landlock_ruleset_attr for a version of the interface: all that it can deny."""
    words = [(1 << max(bits for since, bits in _FILE_BITS.items() if since <= abi)) - 1]
    if abi >= _NETWORK_SINCE:
        words.append((1 << _NETWORK_BITS) - 1)
    if abi >= _SCOPES_SINCE:
        words.append((1 << _SCOPE_BITS) - 1)
    return words


class Ruleset:
    """Denies everything; made once, in the zygote. `abi` is the kernel's version of the interface.

    Raises:
        OSError: there is no landlock here.
    """

    def __init__(self) -> None:
        self.abi = syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
        words = attribute_of(self.abi)
        attribute = (ctypes.c_uint64 * len(words))(*words)
        self._descriptor = syscall(_CREATE_RULESET, attribute, ctypes.sizeof(attribute), 0)

    def apply(self) -> None:
        """Put this process under it for good. Needs no_new_privs.

        Raises:
            OSError: the kernel refused it.
        """
        syscall(_RESTRICT_SELF, self._descriptor, 0)
        os.close(self._descriptor)
