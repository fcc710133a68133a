"""Every test of the contract runs in each arrangement, and there under asyncio and under trio.

Four of the eight run by themselves, each arrangement and each loop among them; the others with the slow suites.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from serving import ServedDaemon
from tooltoolexec import Executor, Limits, local

MAXIMA = Limits(memory_mb=256)
AT_ONCE = {("embedded", "asyncio"), ("unix", "trio"), ("tcp", "asyncio"), ("tls", "trio")}


@pytest.hookimpl(tryfirst=True)  # Before what is slow is left out.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the other four."""
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        both = (params.get("arrangement"), params.get("anyio_backend"))
        if None not in both and both not in AT_ONCE:
            item.add_marker(pytest.mark.slow)


# Not for the session: the loop that an executor is open in would still run in this thread under other tests.
@pytest.fixture(scope="package", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    with ServedDaemon(tmp_path_factory.mktemp("served"), ["--max-memory-mb", "256"]) as daemon:
        yield daemon


@pytest.fixture(scope="package", params=["embedded", "unix", "tcp", "tls"])
def arrangement(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="package")
async def executor(arrangement: str, request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Executor]:
    """An open executor. The daemon behind it, and the connection's kind, are the arrangement's."""
    if arrangement == "embedded":
        opened = local(maxima=MAXIMA)
    else:
        opened = request.getfixturevalue("served").connect(arrangement)
    async with opened as executor:
        yield executor
