"""Programs of several kinds, each with the one value, lines and calls that are right for it and for no other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from tooltoolexec import Executor, Limits, Run

PROVIDERS: list[dict[str, Any]] = [{"name": "store", "tools": ["double"]}]
WALL_S = 5.0


@dataclass
class Job:
    """One program, told from all others by its number; `calls` are those its dispatch was asked for."""

    name: str
    code: str
    value: Any
    lines: list[str] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)

    async def dispatch(self, _provider: str, _tool: str, args_json: str) -> str:
        (number,) = json.loads(args_json)
        self.calls.append(number)
        return json.dumps({"result": number * 2})

    async def run(self, executor: Executor) -> Run:
        limits = Limits(wall_s=WALL_S)
        return await executor.execute(self.code, PROVIDERS, dispatch=self.dispatch, limits=limits)

    def faults_of(self, run: Run) -> list[str]:
        """What no end of a worker excuses: a wrong value, foreign or repeated lines or calls."""
        faults = []
        if run.ok and run.result != self.value:
            faults.append(f"gave {run.result!r} and not {self.value!r}")
        if run.logs != (self.lines if run.ok else self.lines[: len(run.logs)]):
            faults.append(f"wrote {run.logs}")
        # A call that came twice would mean that the program ran twice.
        made, due = Counter(self.calls), Counter(self.arguments)
        if not made <= due or (run.ok and made != due):
            faults.append(f"called with {self.calls}")
        return [f"{self.name}: {fault}" for fault in faults]


Kind = Callable[[int, Random], Job]


def no_call(number: int, _random: Random) -> Job:
    return Job("no call", f"async () => {number} * 3", number * 3)


def awaited(number: int, _random: Random) -> Job:
    code = "async () => { let s = 0; for (let i = 0; i < 4; i++) s += await store.double(%d + i); return s }"
    arguments = [number + i for i in range(4)]
    return Job("awaited calls", code % number, 2 * sum(arguments), arguments=arguments)


def parallel(number: int, _random: Random) -> Job:
    code = "async () => await Promise.all(Array.from({ length: 10 }, (_, i) => store.double(%d + i)))"
    arguments = [number + i for i in range(10)]
    return Job("parallel calls", code % number, [2 * each for each in arguments], arguments=arguments)


def timer(number: int, random: Random) -> Job:
    pause_ms = random.randint(1, 60)
    return Job("timer", f"() => new Promise(done => setTimeout(() => done({number}), {pause_ms}))", number)


def waiting(number: int, random: Random) -> Job:
    """Long enough to be parked in between."""
    code = "async () => { await store.double(%d); await new Promise(done => setTimeout(done, %d)); return await store.double(%d) }"  # noqa: E501
    arguments = [number, number + 1]
    return Job("waiting", code % (number, random.randint(200, 3000), number + 1), 2 * number + 2, arguments=arguments)


def computing(number: int, random: Random) -> Job:
    code = "() => { const end = Date.now() + %d; let x = %d; do x = (x * 31 + 7) %% 1000003; while (Date.now() < end); return [%d, typeof x] }"  # noqa: E501
    return Job("computing", code % (random.randint(20, 200), number, number), [number, "number"])


def logging(number: int, _random: Random) -> Job:
    code = "async () => { for (let i = 0; i < 20; i++) { console.log(%d, i); if (i % 5 == 0) await 0 } return %d }"
    lines = [f"{number} {i}" for i in range(20)]
    return Job("logging", code.replace("%d", str(number)), number, lines=lines)


KINDS: list[Kind] = [no_call, awaited, parallel, timer, waiting, computing, logging]


class Jobs:
    """Jobs without end; no number comes twice, and no two jobs share the argument of a call."""

    def __init__(self, seed: str, kinds: Sequence[Kind] = KINDS) -> None:
        self._random = Random(seed)
        self._kinds = kinds
        self._numbers = count(1000, 100)

    def next(self) -> Job:
        return self._random.choice(self._kinds)(next(self._numbers), self._random)
