"""One daemon for every attack: what one of them breaks, the next one meets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from serving import ServedDaemon
from tooltoolexec import Executor, connect


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    with ServedDaemon(tmp_path_factory.mktemp("hostile"), ["--workers", "2", "--warm", "2"]) as daemon:
        yield daemon


@pytest.fixture(scope="session")
async def executor(daemon: ServedDaemon, anyio_backend: str) -> AsyncIterator[Executor]:
    async with connect(daemon.unix) as executor:
        yield executor
