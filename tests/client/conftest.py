"""Every async test here runs under asyncio and under trio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .daemon import FakeDaemon


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(tmp_path)
    yield fake
    fake.close()


@pytest.fixture
def tcp_daemon() -> Iterator[FakeDaemon]:
    fake = FakeDaemon(None)
    yield fake
    fake.close()
