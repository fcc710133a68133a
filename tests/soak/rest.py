"""What processes hold, read from /proc, and the state in which a daemon rests."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import anyio

from serving import ServedDaemon, children_of, descendants_of, descriptor_count, until, workers_of

PER_WORKER = 2
"""Descriptors a daemon holds for each worker. A pool may keep a worker or two more at one time than at another."""


@dataclass(frozen=True)
class Holdings:
    """What one process holds; `memory_mb` counts what is no file's, shared with a fork or not."""

    descriptors: int
    threads: int
    memory_mb: float


def holdings_of(pid: int) -> Holdings:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return Holdings(descriptor_count(pid), int(status["Threads"]), int(status["RssAnon"].split()[0]) / 1000)


def is_stopped(pid: int) -> bool:
    """Whether the process stands still by a signal; False for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def stopped_of(daemon: int) -> list[int]:
    """Which of the daemon's zygotes and workers stand still."""
    return [pid for pid in descendants_of(daemon) if is_stopped(pid)]


class Rest:
    """A daemon at rest: one zygote, the warm workers, and so many descriptors and threads."""

    def __init__(self, daemon: ServedDaemon, warm: int) -> None:
        self._pid = daemon.pid
        self._warm = warm
        self._figures = (0, 0)

    async def reached(self) -> Rest:
        await until(self._is_full, "the warm workers")
        # What closes after the last worker was ready has no event here: two equal looks are the sign.
        while (figures := self._own()) != self._figures:
            self._figures = figures
            await anyio.sleep(0.1)
        return self

    async def again(self, *, within_s: float) -> None:
        await until(self._is_full, "one zygote and the warm workers again", within_s=within_s)
        await until(lambda: self._own() == self._figures, f"descriptors and threads {self._figures}", within_s=within_s)
        assert len(descendants_of(self._pid)) <= 1 + 2 * self._warm + 1

    def _is_full(self) -> bool:
        return len(children_of(self._pid)) == 1 and len(workers_of(self._pid)) >= self._warm

    def _own(self) -> tuple[int, int]:
        holds = holdings_of(self._pid)
        return holds.descriptors - PER_WORKER * len(workers_of(self._pid)), holds.threads


def client_holdings() -> Holdings:
    """What this process holds, which is the client."""
    return holdings_of(os.getpid())
