"""Resource limits that hold from the first moment. The CPU limit depends on the run and is the watchdog's to set.

The address space cannot be limited: V8 reserves more than a terabyte of it.
"""

from __future__ import annotations

import resource

_DESCRIPTORS = 64


def apply() -> None:
    """No core files, no file growth, few descriptors."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
