"""Where memory runs out the kernel ends a worker, which costs one run, before the processes that serve all runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from serving import children_of, until, workers_of

from .conftest import StartDaemon

pytestmark = pytest.mark.anyio


def score_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


async def test_every_worker_goes_before_the_daemon_and_its_zygote(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--warm", "2")
    await until(lambda: len(workers_of(daemon.pid)) >= 2, "two warm workers")
    await until(lambda: all(score_of(pid) == 1000 for pid in workers_of(daemon.pid)), "workers that go first")
    (zygote,) = children_of(daemon.pid)
    assert score_of(daemon.pid) == score_of(zygote) == score_of(os.getpid()) < 1000
