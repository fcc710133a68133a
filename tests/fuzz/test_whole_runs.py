"""Client and daemon facing hostile workers: every run ends as a Run or an ExecutorError, and the daemon serves on."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest

from serving import ServedDaemon, children_of, descriptor_count, until, workers_of
from tooltoolexec import Executor, ExecutorError, Limits, Run, connect

from .frames import Budget, Memory, frame_counts, threads_of

GROWTH_MB = 64
RUNS_AT_ONCE = 6
WALL_S = 0.2
WARM = 3
HANGS_S = 40.0
"""By far longer than any run here takes."""
DEADLINES = (
    "import tooltoolexec_executor.conversation as s, tooltoolexec_executor.runs as r; "
    "s._SEND_S = 0.3; r._GRACE_S = 0.3; r._SENDING_S = 0.3"
)


class Tally:
    """What became of the runs."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.runs = 0
        self.errors = 0
        self.went_well = 0

    async def dispatch(self, provider: str, tool: str, args: str) -> str:
        self.budget.sent += 1
        return "{}"

    def on_log(self, level: str, text: str) -> None:
        self.budget.sent += 1

    async def one_run(self, executor: Executor) -> bool:
        """Whether a good worker had it."""
        with anyio.fail_after(HANGS_S):
            try:
                run = await executor.execute(
                    "1", [{"name": "s"}], dispatch=self.dispatch, on_log=self.on_log, limits=Limits(wall_s=WALL_S)
                )
            except ExecutorError:
                self.errors += 1
                return False
        assert isinstance(run, Run)
        self.runs += 1
        went_well = bool(run.result == "well")
        self.went_well += went_well
        return went_well


async def many_runs(daemon: ServedDaemon, tally: Tally) -> None:
    async def runs_of_one_task(executor: Executor) -> None:
        for number in tally.budget:
            with tally.budget.replayable(number):
                tally.budget.sent += 1
                await tally.one_run(executor)

    async with connect(daemon.unix) as first, connect(daemon.tcp) as second, anyio.create_task_group() as group:
        for executor in (first, second) * (RUNS_AT_ONCE // 2):
            group.start_soon(runs_of_one_task, executor)


async def one_goes_well(executor: Executor, tally: Tally) -> None:
    """Every fourth worker is a good one."""
    for _ in range(100):
        if await tally.one_run(executor):
            return
    raise AssertionError("the daemon serves no more")


def hostile_daemon(folder: Path) -> ServedDaemon:
    """A daemon that starts another program in the place of its zygote."""
    counter, program = folder / "workers", Path(__file__).with_name("hostile_zygote.py")
    counter.touch()
    preparation = f"""
{DEADLINES}
import subprocess, sys
start = subprocess.Popen
def start_hostile(command, *, pass_fds, **more):
    return start([sys.executable, {str(program)!r}, str(pass_fds[0]), {str(counter)!r}], pass_fds=pass_fds, **more)
subprocess.Popen = start_hostile
"""
    return ServedDaemon(folder, ["--workers", "4", "--warm", str(WARM)], preparation=preparation)


@frame_counts
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_hostile_workers_end_their_runs_and_nothing_else(frames: int, tmp_path: Path) -> None:
    with hostile_daemon(tmp_path) as daemon:
        tally = Tally(Budget(frames, "runs"))
        async with connect(daemon.unix) as executor:
            await one_goes_well(executor, tally)
        # The run's worker has a successor in a moment, whose descriptors count too.
        await until(lambda: len(workers_of(daemon.pid)) == WARM, "as many idle workers as there shall be")
        before = descriptor_count(daemon.pid), threads_of(daemon.pid)
        memory = Memory(daemon.pid)
        await many_runs(daemon, tally)
        async with connect(daemon.unix) as executor:
            await one_goes_well(executor, tally)
            await executor.status()
        await until(lambda: (descriptor_count(daemon.pid), threads_of(daemon.pid)) <= before, f"{before} again")
        await until(lambda: len(workers_of(daemon.pid)) <= WARM, "no workers but the idle ones")
        await until(lambda: len(children_of(daemon.pid)) == 1, "one zygote: after crashes it has a successor")
        assert memory.growth_mb() < GROWTH_MB
    assert tally.went_well * 10 > tally.runs
    log = "".join(daemon.log)
    bad = re.search("A session failed|Traceback|does not answer", log)
    assert bad is None, log[bad.start() :][:3000]
