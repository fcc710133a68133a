"""The image, for all tests that run containers of it."""

from __future__ import annotations

import os

import pytest

from .image import MUST_RUN, build, why_not


@pytest.fixture(scope="session")
def image() -> None:
    """It is built, or there is no container here and the test is skipped."""
    reason = why_not()
    if reason is not None and MUST_RUN not in os.environ:
        pytest.skip(f"no container here: {reason}")
    assert reason is None, reason
    build()
