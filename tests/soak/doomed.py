"""A client in a process of its own, to be killed; and those that keep some of them alive.

Run as a program it executes jobs at an address, several at a time, until its end. It writes what was wrong.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

from soak.jobs import Jobs
from soak.rest import is_stopped
from tooltoolexec import Executor, connect

AT_ONCE = 3
TESTS = Path(__file__).parent.parent


class DoomedClients:
    """So many client processes that run; one that is killed or stopped is replaced."""

    def __init__(self, address: str, how_many: int, report: Path) -> None:
        self._address = address
        self._how_many = how_many
        self._report = report
        report.touch()
        self._all: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill all of them."""
        for process in self._all:
            process.kill()
            process.wait()

    def faults(self) -> str:
        """What they found wrong before they fell."""
        return self._report.read_text()

    @property
    def started(self) -> int:
        """How many there have been."""
        return len(self._all)

    def running(self) -> list[int]:
        """Those that live and do not stand still."""
        return [process.pid for process in self._all if process.poll() is None and not is_stopped(process.pid)]

    async def keep(self) -> None:
        """Replace those that fall, for ever."""
        while True:
            while len(self.running()) < self._how_many:
                self._start()
            await anyio.sleep(0.1)

    def _start(self) -> None:
        command = [sys.executable, "-m", "soak.doomed", self._address, f"doomed {len(self._all)}"]
        with self._report.open("ab") as report:
            self._all.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=report, stderr=report, cwd=TESTS)
            )


async def main(address: str, seed: str) -> None:
    jobs = Jobs(seed)
    async with connect(address) as executor, anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(work, executor, jobs)


async def work(executor: Executor, jobs: Jobs) -> None:
    while True:
        job = jobs.next()
        for fault in job.faults_of(await job.run(executor)):
            print(fault, flush=True)  # noqa: T201 - its report.


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
