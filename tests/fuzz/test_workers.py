"""The daemon and the client facing hostile workers: each run ends once, whatever its worker says, and how it ends."""

from __future__ import annotations

import random
import signal
import socket
from contextlib import suppress

import trio
import trio.testing

from protocol.wire_examples import ID
from tooltoolexec_executor.runs import Runs
from tooltoolexec_executor.worker.courier import RETAINED
from tooltoolexec_executor.worker.main import FAULT, READY, TAKEN
from tooltoolexec_executor.worker.watchdog import CANCELLED, COMPUTING, PARKED
from tooltoolexec_executor.workers import Worker, WorkerGoneError
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import Done, Failure, decode, encode

from .frames import Budget, Memory, frame_counts, hostile_frame

GROWTH_MB = 64
HANDOVER = b"handover" * 100
TIME_RATE = 1000.0
"""How much faster the tests' clock is where a worker talks without end; where all wait, it jumps."""
STATUSES = (0, 0, 1 << 8, CANCELLED << 8, 255 << 8, signal.SIGKILL, signal.SIGXCPU, signal.SIGSEGV | 128)
LONGER_THAN_ANY_DEADLINE_S = 20_000.0


class WatchedWorker(Worker):
    """Its process is a task: `life` ends when it is killed."""

    def __init__(self, control: socket.socket, zygote: SilentZygote) -> None:
        super().__init__(control, zygote)
        self.life = trio.CancelScope()

    def kill(self) -> None:
        super().kill()
        self.life.cancel()


class SilentZygote:
    """Does not report an end until it is replaced."""

    def __init__(self) -> None:
        self.is_replaced = trio.Event()

    def replace(self) -> None:
        self.is_replaced.set()


class HostileProcess:
    """The other end of a worker's control socket, and the zygote's report of its end."""

    def __init__(self, end: socket.socket, worker: WatchedWorker, zygote: SilentZygote, chance: random.Random) -> None:
        end.setblocking(False)
        self._socket = trio.socket.from_stdlib_socket(end)
        self._worker = worker
        self.zygote = zygote
        self._chance = chance
        self.run_id = chance.randbytes(16).hex()
        self.retained_idle_s = chance.choice([None, 0.1, 60.0])

    async def live(self, budget: Budget) -> None:
        with self._socket, self._worker.life, suppress(OSError):
            await self._speak(budget)
            if self._chance.random() < 0.3:
                await trio.sleep_forever()
        if self._chance.random() < 0.05:
            await self.zygote.is_replaced.wait()
            self._worker.ended(None)
        else:
            await trio.sleep(self._chance.choice([0, 0, 0.1, 4]))
            self._worker.ended(self._chance.choice(STATUSES))

    async def _speak(self, budget: Budget) -> None:
        if self._chance.random() < 0.05:
            await self._socket.send(self._chance.choice([b"x", FAULT, FAULT + hostile_frame(self._chance), b"\0" * 9]))
            return
        await self._say(READY, budget)
        if self._chance.random() < 0.9:
            await self._socket.recv(self._chance.choice([1, 10, 65536, 65536, 65536]))
        if self._chance.random() < 0.8:
            await self._say(TAKEN, budget)
        for _ in range(self._chance.randint(0, 20)):
            await self._say(self._word(), budget)
            if self._chance.random() < 0.1:
                await trio.sleep(self._chance.choice([0, 0.01, 2, 30]))
        if self._chance.random() < 0.004:
            while True:
                await self._socket.send(self._chance.choice([PARKED, RETAINED, b"\0"]) * 65536)

    async def _say(self, word: bytes, budget: Budget) -> None:
        budget.sent += 1
        await self._socket.send(word)

    def _word(self) -> bytes:
        """Something that a worker may say, or never would."""
        failure = Failure(kind=self._chance.choice(["program", "memory"]), message="m", detail={"a": [None]})
        run_id = self._chance.choice([self.run_id, ID])
        words = (
            frame(encode(Done(id=run_id))),
            frame(encode(Done(id=run_id, failure=failure))),
            FAULT + hostile_frame(self._chance, self.run_id),
            (2**32 - 1).to_bytes(4, "big") + b"x" * 60_000,
            self._chance.randbytes(self._chance.choice([1, 10, 60_000])),
            hostile_frame(self._chance, self.run_id),
            self._chance.choice([PARKED, COMPUTING, RETAINED]) * self._chance.choice([1, 2, 1000]),
        )
        return self._chance.choices(words, weights=[1, 1, 1, 1, 1, 2, 13])[0]


async def see_through(process: HostileProcess, worker: WatchedWorker, runs: Runs) -> bool:
    """A worker's way through the daemon, as pool and session go it. Whether it got as far as a run."""
    states: list[bytes] = []
    connection, peer = socket.socketpair()
    with connection, peer:
        try:
            with trio.fail_after(20):
                await worker.ready()
            worker.give(connection, HANDOVER)
            with trio.fail_after(10):
                await worker.taken()
        except (WorkerGoneError, trio.TooSlowError):
            worker.kill()
            worker.close()
            process.zygote.replace()  # Nobody waits for the end of one that had no run.
            return False
    run = runs.add(process.run_id, "me", {}, EffectiveLimits(wall_s=0.5))
    assert run is not None
    run.retained_idle_s = process.retained_idle_s
    await runs.attend(run, worker, states.append)
    assert set(states) <= {PARKED, COMPUTING}
    return True


async def check_outcome(runs: Runs, run_id: str) -> None:
    """There is one at once, it is the run's own, and a client can be told of it."""
    with trio.fail_after(0.0):
        assert await runs.outcome(run_id, "somebody else") is None
    done = await runs.outcome(run_id, "me")
    if done is not None:
        assert done.id == run_id
        assert done.failure is not None
        assert decode(encode(done)) == done


async def one_worker(number: int, budget: Budget, runs: Runs) -> bool:
    control, end = socket.socketpair()
    zygote = SilentZygote()
    worker = WatchedWorker(control, zygote)
    process = HostileProcess(end, worker, zygote, budget.chance(number))
    before = runs.tally.runs.total()
    with trio.fail_after(LONGER_THAN_ANY_DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(process.live, budget)
            had_a_run = await see_through(process, worker, runs)
    assert runs.tally.runs.total() - before == had_a_run
    assert runs.under_way == 0
    if had_a_run:
        await check_outcome(runs, process.run_id)
    return had_a_run


@frame_counts
def test_whatever_a_worker_says_to_the_daemon_its_run_ends_once(frames: int) -> None:
    budget, memory = Budget(frames, "worker"), Memory()
    counts: list[bool] = []

    async def all_workers() -> None:
        runs = Runs()
        for number in budget:
            with budget.replayable(number):
                counts.append(await one_worker(number, budget, runs))
                if number % 1000 == 0:
                    runs = Runs()  # What it keeps of the last ones is not what is measured.

    trio.run(all_workers, clock=trio.testing.MockClock(rate=TIME_RATE, autojump_threshold=0))
    assert 0 < sum(counts) < len(counts)
    assert memory.growth_mb() < GROWTH_MB
