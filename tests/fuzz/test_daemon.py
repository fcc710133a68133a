"""A real daemon and hostile clients: it refuses them, serves everybody else meanwhile, and is as before afterwards."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

from serving import PATIENCE_S, ServedDaemon, children_of, descriptor_count, wait_until, workers_of
from tooltoolexec import sync

from .attacker import Attacker
from .frames import Budget, Memory, frame_counts, threads_of

ATTACKERS = 3
WORKERS = 3
GROWTH_MB = 96
GOOD_CLIENTS_EACH = 2.0
"""A good client comes as often as this, in seconds, and once at the end."""


class Siege:
    """Some attackers at once; what goes wrong for one of them is raised by `end`."""

    def __init__(self, daemon: ServedDaemon, budget: Budget) -> None:
        self._daemon = daemon
        self._budget = budget
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._attack, daemon=True) for _ in range(ATTACKERS)]
        for thread in self._threads:
            thread.start()

    @property
    def is_over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def wait(self, seconds: float) -> None:
        """Until one attacker has ended, or so long."""
        self._threads[0].join(seconds)

    def end(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE_S)
        assert self.is_over, "an attacker hangs"
        if self._errors:
            raise self._errors[0]

    def _attack(self) -> None:
        while not self._errors:
            with self._lock:
                number = next(self._budget, None)
            if number is None:
                return
            try:
                with self._budget.replayable(number):
                    chance = self._budget.chance(number)
                    place = self._daemon.unix if chance.random() < 0.8 else self._daemon.tcp
                    Attacker(place, chance, self._budget).attack()
            except BaseException as error:
                self._errors.append(error)


def serves_well(address: str) -> None:
    """A good client is served, and soon."""
    begun = time.monotonic()
    with sync.connect(address) as executor:
        run = executor.execute("async () => 6 * 7")
        assert (run.failure, run.result) == (None, 42)
        executor.status()
    assert time.monotonic() - begun < PATIENCE_S


def figures(daemon: ServedDaemon) -> tuple[int, int, int, int]:
    """What must be as before: descriptors, threads, children, idle workers."""
    pid = daemon.pid
    return descriptor_count(pid), threads_of(pid), len(children_of(pid)), len(workers_of(pid))


@frame_counts
def test_a_daemon_among_hostile_clients_serves_the_good_ones_and_is_as_before_afterwards(
    frames: int, tmp_path: Path
) -> None:
    with ServedDaemon(tmp_path, ["--workers", str(WORKERS), "--warm", "2"]) as daemon:
        serves_well(daemon.unix)
        wait_until(lambda: len(workers_of(daemon.pid)) == 2, "two warm workers")
        before, memory = figures(daemon), Memory(daemon.pid)
        budget = Budget(frames, "daemon")
        siege = Siege(daemon, budget)
        while not siege.is_over:
            siege.wait(GOOD_CLIENTS_EACH)
            serves_well(daemon.unix)
        siege.end()
        serves_well(daemon.tcp)
        wait_until(lambda: figures(daemon) == before, f"{before} again")
        assert memory.growth_mb() < GROWTH_MB
        with sync.connect(daemon.unix) as executor:
            report = executor.status()
        assert (report.running_now, report.queued_now) == (0, 0)
        assert report.runs["ok"] > 1
    bad = [line for line in daemon.log if re.search(r" (WARNING|ERROR|CRITICAL) |Traceback|defect", line)]
    assert not bad, bad[:20]
