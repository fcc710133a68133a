"""One executor for the folder's probes: starting one takes longer than most of its tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tooltoolexec.sync import local

from . import both


@pytest.fixture(scope="package", autouse=True)
def shared_executor() -> Iterator[None]:
    with local() as executor:
        both.use(executor)
        yield
        both.use(None)
