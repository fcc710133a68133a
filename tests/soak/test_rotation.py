"""A zygote whose workers crash gets a successor. The old one goes, also when it or a worker of it stands still."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

import anyio
import pytest

from serving import ServedDaemon, children_of, until, workers_of
from tooltoolexec import connect

from .conftest import StartDaemon

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WARM = 3
GONE_S = 30.0


class Zygotes:
    """All that a daemon has had, as far as somebody looked."""

    def __init__(self, daemon: ServedDaemon) -> None:
        self._pid = daemon.pid
        self.seen: set[int] = set()

    def look(self) -> list[int]:
        """Those alive."""
        alive = children_of(self._pid)
        self.seen.update(alive)
        return alive


async def crash_workers(daemon: ServedDaemon, zygotes: Zygotes, spared: int = 0) -> None:
    """Crash workers, as many as it takes, until there is a second zygote."""
    (zygote,) = zygotes.look()
    with anyio.fail_after(GONE_S):
        while len(zygotes.seen) == 1:
            victims = [pid for pid in children_of(zygote) if pid != spared]
            if victims:
                with suppress(ProcessLookupError):
                    os.kill(victims[-1], signal.SIGSEGV)
            await anyio.sleep(0.05)
            zygotes.look()


async def begin(start_daemon: StartDaemon) -> tuple[ServedDaemon, Zygotes, int]:
    """A daemon with its warm workers, and its first zygote."""
    daemon = start_daemon("--workers", "4", "--warm", str(WARM))
    await until(lambda: len(workers_of(daemon.pid)) >= WARM, "the warm workers")
    zygotes = Zygotes(daemon)
    (first,) = zygotes.look()
    return daemon, zygotes, first


def only_successor(daemon: ServedDaemon, zygotes: Zygotes, first: int) -> Callable[[], bool]:
    return lambda: first not in zygotes.look() and len(children_of(daemon.pid)) == 1


async def test_crashes_bring_one_successor_and_no_run_notices(start_daemon: StartDaemon) -> None:
    daemon, zygotes, first = await begin(start_daemon)
    over = anyio.Event()
    async with connect(daemon.unix) as executor, anyio.create_task_group() as group:

        async def keep_running() -> None:
            while not over.is_set():
                run = await executor.execute("async () => 1")
                # A run on a worker that was crashed while it was idle goes to another one, or is crashed.
                assert run.result == 1 or (run.failure is not None and run.failure.kind == "crashed")

        group.start_soon(keep_running)
        group.start_soon(keep_running)
        await crash_workers(daemon, zygotes)
        await until(only_successor(daemon, zygotes, first), "the end of the first zygote", within_s=GONE_S)
        # A second successor would be started at once; the runs are what would ask for it.
        for _ in range(40):
            assert (await executor.execute("async () => 2")).result == 2
            zygotes.look()
        over.set()
    assert len(zygotes.seen) == 2


async def test_a_stopped_idle_worker_does_not_keep_an_old_zygote(start_daemon: StartDaemon) -> None:
    daemon, zygotes, first = await begin(start_daemon)
    stopped = workers_of(daemon.pid)[0]
    os.kill(stopped, signal.SIGSTOP)
    await crash_workers(daemon, zygotes, spared=stopped)
    await until(only_successor(daemon, zygotes, first), "the end of the first zygote", within_s=GONE_S)


async def test_an_old_zygote_that_stands_still_is_ended(start_daemon: StartDaemon) -> None:
    daemon, zygotes, first = await begin(start_daemon)
    await crash_workers(daemon, zygotes)
    os.kill(first, signal.SIGSTOP)
    await until(only_successor(daemon, zygotes, first), "the end of the first zygote", within_s=GONE_S)
