"""Standard input, output and error: always open, so that no other descriptor takes their places."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def open_missing() -> None:
    """Open /dev/null where a process was started without one of the three, as some services are."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # The lowest free number: this one.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # Python gave up on it when it started.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
