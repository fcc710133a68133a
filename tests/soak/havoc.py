"""Kills and stops processes at random. What is stopped goes on, is killed a little later, or stands still for good."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import anyio
import anyio.abc

Victims = Callable[[], list[int]]


def children(pid: int) -> list[int]:
    """As `children_of`, but from the kernel's own list: a look at all of /proc before each blow would be the load."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def grandchildren(pid: int) -> list[int]:
    """The children of its children."""
    return [each for child in children(pid) for each in children(child)]


@dataclass(frozen=True)
class Plan:
    """How one sort of process is treated.

    Attributes:
        pause_s: the least and the longest time between two blows.
        stops: how many of the blows are SIGSTOP, from 0 to 1.
        for_good: how many of the stopped ones are left standing, from 0 to 1; half of the others go on.
        kills: the signals of the other blows.
    """

    pause_s: tuple[float, float]
    stops: float = 0.4
    for_good: float = 0.2
    kills: Sequence[signal.Signals] = (signal.SIGKILL,)


@dataclass(frozen=True)
class Fate:
    """One blow, and what follows it after a while."""

    first: signal.Signals
    then: signal.Signals | None = None
    after_s: float = 0.0

    @classmethod
    def draw(cls, plan: Plan, random: Random) -> Fate:
        """A fate by `plan`. It draws as much each time, so that one seed gives one sequence."""
        stops, stays = random.random() < plan.stops, random.random() < plan.for_good
        then, after_s = random.choice([signal.SIGCONT, signal.SIGKILL]), random.uniform(0.1, 3)
        kill = random.choice(plan.kills)
        if not stops:
            return cls(kill)
        return cls(signal.SIGSTOP) if stays else cls(signal.SIGSTOP, then, after_s)


class Havoc:
    """Wreaks it until told to stop; `blows` counts what was done."""

    def __init__(self, seed: str, group: anyio.abc.TaskGroup) -> None:
        self._seed = seed
        self._group = group
        self.blows: Counter[str] = Counter()

    async def wreak(self, name: str, find: Victims, plan: Plan, *, for_s: float) -> None:
        """Treat the processes that `find` gives by `plan`."""
        fates, choices = Random(f"{self._seed} {name}"), Random(f"{self._seed} {name} choices")
        end = time.monotonic() + for_s
        while time.monotonic() < end:
            await anyio.sleep(fates.uniform(*plan.pause_s))
            fate = Fate.draw(plan, fates)
            found = find()
            if found:
                self._strike(name, find, choices.choice(found), fate)

    def _strike(self, name: str, find: Victims, pid: int, fate: Fate) -> None:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        # The number may be another process's by now; the pidfd of one of ours stays ours.
        if pid in find():
            self._send(pidfd, name, fate.first)
            if fate.then is not None:
                self._group.start_soon(self._send_later, pidfd, name, fate)
                return
            if fate.first == signal.SIGSTOP:
                self.blows[f"{name} for good"] += 1
        os.close(pidfd)

    async def _send_later(self, pidfd: int, name: str, fate: Fate) -> None:
        try:
            await anyio.sleep(fate.after_s)
            if fate.then is not None:
                self._send(pidfd, name, fate.then)
        finally:
            os.close(pidfd)

    def _send(self, pidfd: int, name: str, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, number)
            self.blows[f"{name} {number.name}"] += 1
