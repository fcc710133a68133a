"""The client and a hostile daemon: every run is a Run or an ExecutorError, in time, and nothing is left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from serving import descriptor_count, until
from tooltoolexec import ExecutorError, Run, patience
from tooltoolexec.executor import Executor

from .frames import Budget, Memory, frame_counts
from .hostile_daemon import HostileDaemon

pytestmark = pytest.mark.anyio

GROWTH_MB = 96
RUNS_EACH = 6
"""How many runs an executor makes before it is closed."""
AT_ONCE = 3
HANGS_S = 20.0
"""By far longer than any run here takes."""
CONNECT_S = 0.2


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def dispatch(provider: str, tool: str, args: str) -> str:
    return args


async def dispatch_later(provider: str, tool: str, args: str) -> str:
    await anyio.lowlevel.checkpoint()
    if tool == "then":
        await anyio.sleep_forever()
    if tool == "a":
        raise ValueError(provider)
    return args


async def one_run(executor: Executor, chance: random.Random, outcomes: list[Run | ExecutorError]) -> None:
    """A run is a Run or an ExecutorError, and never lasts."""
    lines: list[str] = []

    async def on_log(level: str, text: str) -> None:
        lines.append(text)

    how: dict[str, Any] = chance.choice([{}, {"dispatch": dispatch}, {"dispatch": dispatch_later}])
    with anyio.fail_after(HANGS_S):
        try:
            run = await executor.execute("1", [{"name": "s"}], on_log=chance.choice([None, on_log]), **how)
        except ExecutorError as error:
            outcomes.append(error)
            return
    assert isinstance(run, Run)
    assert (run.error is None) == (run.failure is None)
    outcomes.append(run)


async def hostile_conversation(chance: random.Random, budget: Budget, outcomes: list[Run | ExecutorError]) -> None:
    """One executor's life at a hostile daemon."""
    async with anyio.create_task_group() as group:
        daemon = HostileDaemon(group, budget, chance)
        executor = Executor(daemon, token="", threads=2, connect_timeout_s=CONNECT_S)
        try:
            async with executor:
                for _ in range(RUNS_EACH):
                    async with anyio.create_task_group() as runs:
                        for _ in range(chance.randint(1, AT_ONCE)):
                            runs.start_soon(one_run, executor, chance, outcomes)
                    if chance.random() < 0.2:
                        with contextlib.suppress(ExecutorError), anyio.fail_after(HANGS_S):
                            await executor.status()
        except ExecutorError as error:  # From opening it.
            outcomes.append(error)
        # Every connection was closed, so the daemon's tasks all end.


async def good_conversation(chance: random.Random, budget: Budget) -> None:
    async with anyio.create_task_group() as group:
        daemon = HostileDaemon(group, budget, chance, is_good=True)
        async with Executor(daemon, token="", threads=2, connect_timeout_s=HANGS_S) as executor:
            with anyio.fail_after(HANGS_S):
                run = await executor.execute("1", [{"name": "a"}], dispatch=dispatch)
        assert (run.result, run.error, run.logs) == ("[1]", None, ["line"])


@frame_counts
async def test_a_hostile_daemon_brings_forth_a_run_or_an_executor_error_and_leaves_nothing(
    frames: int, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PAUSES_S", (0.001, 0.002))
    budget = Budget(frames // 2, f"client/{anyio_backend}")
    await good_conversation(budget.chance(-1), budget)  # Whatever the first use makes is there now.
    descriptors, memory = descriptor_count(os.getpid()), Memory()
    outcomes: list[Run | ExecutorError] = []
    runs = errors = 0
    for number in budget:
        with budget.replayable(number):
            await hostile_conversation(budget.chance(number), budget, outcomes)
            runs += sum(isinstance(outcome, Run) for outcome in outcomes)
            errors += sum(isinstance(outcome, ExecutorError) for outcome in outcomes)
            outcomes.clear()
            if number % 10 == 0:
                await good_conversation(budget.chance(-1), budget)
    assert runs > 0
    assert errors > 0
    gc.collect()  # A socket that nobody closed is a ResourceWarning, which is an error.
    await until(lambda: descriptor_count(os.getpid()) <= descriptors, f"{descriptors} descriptors again")
    assert memory.growth_mb() < GROWTH_MB
