"""Daemons to be hurt: each test has one of its own unless it only looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp

import pytest

from serving import ServedDaemon

StartDaemon = Callable[..., ServedDaemon]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def start_daemon(tmp_path: Path) -> Iterator[StartDaemon]:
    """Starts daemons, which end with the test and leave nothing."""
    with ExitStack() as stack:

        def start(*options: str, preparation: str = "") -> ServedDaemon:
            folder = Path(mkdtemp(dir=tmp_path))
            return stack.enter_context(ServedDaemon(folder, options, preparation=preparation))

        yield start


@pytest.fixture
def daemon(start_daemon: StartDaemon) -> ServedDaemon:
    """Two workers at a time, a queue of two."""
    return start_daemon("--workers", "2", "--parked", "0", "--warm", "2", "--queue", "2")


@pytest.fixture(scope="session")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    """For tests that must not harm it."""
    with ServedDaemon(tmp_path_factory.mktemp("shared"), ["--workers", "4", "--warm", "3"]) as daemon:
        yield daemon


@pytest.fixture(params=["unix", "tcp"])
def address(request: pytest.FixtureRequest, shared_daemon: ServedDaemon) -> str:
    return str(getattr(shared_daemon, request.param))
