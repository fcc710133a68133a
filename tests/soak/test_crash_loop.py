"""A zygote that ends again and again, or stands still: the daemon backs off, and serves as soon as it can."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import anyio
import pytest

from serving import ServedDaemon, children_of, kill_hard, until, workers_of
from tooltoolexec import Executor, Limits, connect

from .conftest import StartDaemon

pytestmark = pytest.mark.anyio

WARM = 2
QUEUE_S = 4.0
FIRST_PAUSE_S = 0.1
PROMISED_PAUSE_S = 10.0
"""The longest pause between two attempts."""
SILENCE_S = 45.0
"""Far more than a daemon takes to find out that a zygote stands still."""


class Waiting:
    """Runs that were asked for while no worker was to be had, and how they ended."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.outcomes: Counter[str] = Counter()

    async def one(self, number: int) -> None:
        run = await self._executor.execute(f"async () => {number} * 2", limits=Limits(wall_s=5))
        assert run.failure is not None or run.result == number * 2
        self.outcomes["ok" if run.failure is None else run.failure.kind] += 1


def started_at(pid: int) -> float:
    """When a process began, in seconds of the machine's clock; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


async def killed(daemon: ServedDaemon, old: int, *, within_s: float = 2 * PROMISED_PAUSE_S) -> int:
    """Kill a zygote; gives the next one, as soon as its process exists.

    A worker of the old one may be the daemon's child for a moment, so what is older than the kill does not count.
    """
    since = time.clock_gettime(time.CLOCK_BOOTTIME)
    kill_hard(old)
    seen: list[int] = []

    def is_there() -> bool:
        seen[:] = [pid for pid in children_of(daemon.pid) if pid != old and started_at(pid) > since]
        return bool(seen)

    await until(is_there, "a new zygote", within_s=within_s)
    return seen[0]


async def full(daemon: ServedDaemon) -> int:
    """The zygote of a daemon that has its warm workers."""

    def is_full() -> bool:
        return len(children_of(daemon.pid)) == 1 and len(workers_of(daemon.pid)) >= WARM

    await until(is_full, "the warm workers", within_s=3 * PROMISED_PAUSE_S)
    (zygote,) = children_of(daemon.pid)
    return zygote


async def kill_again_and_again(daemon: ServedDaemon, executor: Executor, times: int) -> list[float]:
    """Kill each zygote as soon as it is there; gives the seconds from each kill to the next zygote."""
    # A daemon that has never had a worker gives up after a few attempts.
    assert (await executor.execute("() => 1")).result == 1
    zygote, pauses = await full(daemon), []
    for _ in range(times):
        killed_at = time.monotonic()
        zygote = await killed(daemon, zygote)
        pauses.append(time.monotonic() - killed_at)
    return pauses


async def test_a_zygote_that_ends_four_times_is_started_after_pauses_that_double_and_queued_runs_are_served(
    start_daemon: StartDaemon,
) -> None:
    daemon = start_daemon("--workers", "4", "--warm", str(WARM))
    async with connect(daemon.unix) as executor:
        waiting = Waiting(executor)
        pauses = await kill_again_and_again(daemon, executor, 4)
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(waiting.one, number)
        assert waiting.outcomes == {"ok": 8}
    # A busy machine lengthens them and never shortens one. They grow, too: that they are all long is not enough.
    for number, pause in enumerate(pauses):
        assert pause > 0.9 * FIRST_PAUSE_S * 2**number, pauses
    assert pauses[3] > 2 * min(pauses), pauses


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_zygote_that_ends_ten_times_is_started_ever_more_slowly_and_then_serves(
    start_daemon: StartDaemon,
) -> None:
    daemon = start_daemon("--workers", "4", "--warm", str(WARM), "--queue-s", str(QUEUE_S))
    async with connect(daemon.unix) as executor:
        await full(daemon)
        waiting = Waiting(executor)
        async with anyio.create_task_group() as group:
            pauses: list[float] = []

            async def hurt() -> None:
                pauses.extend(await kill_again_and_again(daemon, executor, 10))
                afterwards.set()

            afterwards = anyio.Event()
            group.start_soon(hurt)
            number = 0
            while not afterwards.is_set():
                group.start_soon(waiting.one, number)
                number += 1
                await anyio.sleep(1)
        await full(daemon)
        assert waiting.outcomes.total() == number
        assert set(waiting.outcomes) <= {"ok", "overloaded", "crashed"}
        assert waiting.outcomes["overloaded"] > 0
        print(f"\npauses {[round(pause, 2) for pause in pauses]}, {dict(waiting.outcomes)}")  # noqa: T201 - measured here alone.
        # Ten attempts in the half minute that doubling pauses make of them, and none later than promised.
        assert sum(pauses) > 15
        assert max(pauses) < PROMISED_PAUSE_S + 5
        recovered = Waiting(executor)
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(recovered.one, number)
        assert recovered.outcomes == {"ok": 8}


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_zygote_that_stands_still_is_replaced_and_queued_runs_are_served(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "4", "--warm", str(WARM))
    zygote = await full(daemon)
    async with connect(daemon.unix) as executor:
        waiting = Waiting(executor)
        os.kill(zygote, signal.SIGSTOP)
        begun = time.monotonic()
        with anyio.fail_after(SILENCE_S):
            async with anyio.create_task_group() as group:
                for number in range(12):
                    group.start_soon(waiting.one, number)
        print(f"\nserved in {time.monotonic() - begun:.1f} s")  # noqa: T201 - measured here alone.
        assert waiting.outcomes == {"ok": 12}
    assert await full(daemon) != zygote


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_zygote_that_stands_still_before_it_is_ready_is_replaced(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "4", "--warm", str(WARM))
    first = await full(daemon)
    second = await killed(daemon, first)
    os.kill(second, signal.SIGSTOP)
    async with connect(daemon.unix) as executor:
        waiting = Waiting(executor)
        begun = time.monotonic()
        with anyio.fail_after(SILENCE_S):
            async with anyio.create_task_group() as group:
                for number in range(6):
                    group.start_soon(waiting.one, number)
        print(f"\nserved in {time.monotonic() - begun:.1f} s")  # noqa: T201 - measured here alone.
        assert waiting.outcomes == {"ok": 6}
    assert await full(daemon) not in (first, second)
