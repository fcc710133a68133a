"""What runs and calls cost here, beside what they could cost at least.

    python tests/bench/measure.py [--floor FLOOR.py] [--rounds N] [--backend trio|asyncio] [--connect ADDRESS]

`--floor` names a program that prints one JSON object with the same keys for a bare worker without limits, lock-down or
contract. Both are run in turn, A B A B, and the medians are set side by side: only the ratio of two figures of one run
says anything about a machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from statistics import median

import anyio

from tooltoolexec import Executor, Limits, Provider, connect, local

KEYS = ("execute_ms", "execute_one_call_ms", "executes_per_s", "awaited_call_us", "parallel_call_us")
NO_CALL = "async () => 1"
ONE_CALL = "async () => store.x(1)"
AWAITED = "async () => { for (let i = 0; i < 1000; i++) await store.x(i); return 1 }"
PARALLEL = "async () => { await Promise.all(Array.from({ length: 1000 }, (_, i) => store.x(i))); return 1 }"
PAUSE_S = 0.06


async def dispatch(_provider: str, _tool: str, _args: str) -> str:
    return '{"result":1}'


async def timed_ms(executor: Executor, code: str, times: int) -> float:
    """The median of `times` runs, each after a pause in which a worker gets warm."""
    taken = []
    for _ in range(times):
        await anyio.sleep(PAUSE_S)
        begun = time.perf_counter()
        run = await executor.execute(code, [Provider("store", ["x"])], dispatch=dispatch, limits=Limits(calls=2000))
        taken.append((time.perf_counter() - begun) * 1e3)
        if run.error is not None:
            raise SystemExit(f"a measured run failed: {run.failure}")
    return median(taken)


async def measure(open_executor: Callable[[], AbstractAsyncContextManager[Executor]]) -> dict[str, float]:
    """One set of figures."""
    async with open_executor() as executor:
        await timed_ms(executor, NO_CALL, 3)
        figures = {
            "execute_ms": await timed_ms(executor, NO_CALL, 30),
            "execute_one_call_ms": await timed_ms(executor, ONE_CALL, 30),
        }
        begun = time.perf_counter()
        for _ in range(100):
            await executor.execute(NO_CALL, [Provider("store", ["x"])], dispatch=dispatch)
        figures["executes_per_s"] = 100 / (time.perf_counter() - begun)
        # Milliseconds per thousand calls are microseconds per call.
        figures["awaited_call_us"] = await timed_ms(executor, AWAITED, 5)
        figures["parallel_call_us"] = await timed_ms(executor, PARALLEL, 5)
        return figures


def measure_floor(program: Path) -> dict[str, float]:
    """One set of figures of the floor. What it leaves running is ended: it would hold a pipe open, hence the file."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [sys.executable, program], stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
        )
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        figures: dict[str, float] = json.loads(output.read().splitlines()[-1])
        return figures


def worker_memory_mb() -> float:
    """Private memory of a warm, idle worker, in MB: the median over an embedded executor's workers."""

    async def read() -> list[float]:
        async with local() as executor:
            await executor.execute(NO_CALL)
            await anyio.sleep(1.5)  # Past the idle moment in which a worker gets the rest ready.
            return [private_mb(pid) for pid in idle_workers()]

    return median(anyio.run(read, backend="trio"))


def idle_workers() -> list[int]:
    """Processes two forks below a child of this one: child, zygote, workers."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    daemons = parents.get(os.getpid(), [])
    zygotes = [pid for daemon in daemons for pid in parents.get(daemon, [])]
    return [pid for zygote in zygotes for pid in parents.get(zygote, [])]


def private_mb(pid: int) -> float:
    """Memory that is this process's alone, in MB."""
    total = 0
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(("Private_Clean", "Private_Dirty")):
            total += int(line.split()[1])
    return total / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--floor", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backend", choices=("trio", "asyncio"), default="trio")
    parser.add_argument("--connect", metavar="ADDRESS")
    options = parser.parse_args()
    opener = (lambda: connect(options.connect)) if options.connect else local
    ours: list[dict[str, float]] = []
    floors: list[dict[str, float]] = []
    for _ in range(options.rounds):
        ours.append(anyio.run(measure, opener, backend=options.backend))
        if options.floor:
            floors.append(measure_floor(options.floor))
    print(f"{'':22}{'here':>10}{'floor':>10}{'ratio':>8}")
    for key in KEYS:
        value = median(figures[key] for figures in ours)
        line = f"{key:22}{value:10.2f}"
        if floors:
            floor = median(figures[key] for figures in floors)
            line += f"{floor:10.2f}{value / floor:8.2f}"
        print(line)
    print(f"{'warm_worker_mb':22}{worker_memory_mb():10.2f}")


if __name__ == "__main__":
    main()
