"""Daemons for long and for rough treatment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp

import pytest

from serving import ServedDaemon

StartDaemon = Callable[..., ServedDaemon]

# What loses its parent becomes the daemon's own child, so that a worker that outlives its zygote is seen.
ADOPT_ORPHANS = """
import ctypes
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def start_daemon(tmp_path: Path) -> Iterator[StartDaemon]:
    """Starts daemons, which end with the test and leave nothing."""
    with ExitStack() as stack:

        def start(*options: str, preparation: str = "") -> ServedDaemon:
            folder = Path(mkdtemp(dir=tmp_path))
            return stack.enter_context(ServedDaemon(folder, options, preparation=ADOPT_ORPHANS + preparation))

        yield start
