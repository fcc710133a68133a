"""One daemon for all pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import ServedDaemon


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    with ServedDaemon(Path(tmp_path_factory.mktemp("docs"))) as daemon:
        yield daemon
