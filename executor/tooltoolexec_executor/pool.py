"""The warm workers. The pool keeps a few of them ready ahead of need and hands each out once.

    no zygote ──started──▶ filling ◀──▶ full
        ▲                     │ ended ──▶ no zygote (after a pause that doubles while it fails)
        └─────────────────────┘ due   ──▶ filling from its successor; the old one sees its last workers out

There is no successor from the files of another version than the daemon's own: then the old one stays, and with its
end the pool ends as well.

A worker: asked for ─▶ warming ─▶ idle ─▶ handed out. One that fails to warm up is logged; while workers keep failing,
the pool pauses ever longer between them, so that a machine on which they cannot start is not worn out.
"""

from __future__ import annotations

import errno
import logging
from collections import deque
from functools import partial

import trio

from tooltoolexec_executor.backoff import Backoff
from tooltoolexec_executor.errors import NoWorkersError, UpgradedError
from tooltoolexec_executor.supervise import Zygote, ZygoteGoneError, start_zygote
from tooltoolexec_executor.tally import Tally
from tooltoolexec_executor.workers import Worker, WorkerGoneError

log = logging.getLogger("tooltoolexec")

_WARM_UP_S = 10.0
_AT_ONCE = 3
"""How many workers warm up at the same time: it is work for the processor, not waiting."""
_BREATH_S = 0.01
_HOPELESS_PAUSE_S = 0.4
"""Once the pauses of a pool that never had a worker are so long, three attempts have failed and it gives up."""
_GENERATIONS = 4
"""How many zygotes may be alive, the current one included. Past it one that is due stays."""


class Pool:
    """Keeps `warm` idle workers. Run `keep` in a task; then `take` gives one."""

    def __init__(self, warm: int, tally: Tally | None = None) -> None:
        self._warm = warm
        self._tally = tally or Tally()
        self.first_worker = trio.Event()
        """Set once there has been a worker that could take a run."""
        self._idle: deque[Worker] = deque()
        self._warming = 0
        self._wanted = 0
        self._zygote: Zygote | None = None
        self._zygotes: set[Zygote] = set()
        self._waiting = trio.lowlevel.ParkingLot()
        self._changed, self._renew = trio.Event(), trio.Event()
        self._warming_trouble, self._starting_trouble = Backoff(), Backoff()
        self._is_proven = False  # Whether the current zygote has had a worker.
        self._is_able = False
        self._is_outdated = False

    @property
    def idle(self) -> int:
        """How many workers are ready now."""
        return len(self._idle)

    @property
    def warming(self) -> int:
        """How many will be."""
        return self._warming

    @property
    def is_able(self) -> bool:
        """Whether workers are to be had: there is one, or there was one and nothing has gone wrong since."""
        return bool(self._idle) or self._is_able

    def families(self) -> list[list[int]]:
        """For each zygote its process, then those of its workers."""
        return [zygote.pids() for zygote in self._zygotes]

    async def take(self) -> Worker:
        """An idle worker; waits for one."""
        self._wanted += 1
        self._changed.set()
        try:
            while (worker := self.try_take()) is None:
                await self._waiting.park()
            return worker
        finally:
            self._wanted -= 1
            self._changed.set()

    def try_take(self) -> Worker | None:
        """An idle worker if one is ready now."""
        while self._idle:
            worker = self._idle.popleft()
            worker.on_idle_end = None
            self._changed.set()
            if worker.is_idle():
                return worker
            worker.close()  # It died a moment ago; nobody is handed a dead one.
            self._tally.deaths["unused"] += 1
        return None

    async def keep(self) -> None:
        """Run a zygote, its successors, and fill the pool from it, for ever.

        Raises:
            NoWorkersError: not one worker has ever started, so none will.
            UpgradedError: the package's files are not this daemon's any more, and there is no zygote left.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._fill, nursery)
            while True:
                try:
                    successor = await start_zygote()
                except UpgradedError as error:
                    self._note_upgrade(error)
                    self._renew = trio.Event()
                    await self._renew.wait()  # For the end of the one there is.
                    continue
                except (ZygoteGoneError, NoWorkersError, OSError) as error:
                    self._failed(error, self._starting_trouble)
                    await trio.sleep(self._starting_trouble.pause_s)
                    continue
                self._succeed(successor, nursery)
                self._renew = trio.Event()
                nursery.start_soon(self._see_out, successor)
                await self._renew.wait()
                if self._zygote is None:
                    await trio.sleep(self._starting_trouble.pause_s)

    def _note_upgrade(self, error: UpgradedError) -> None:
        """The current zygote can have no successor. Where there is none at all, the daemon ends; a restart helps."""
        if self._zygote is None:
            raise error
        self._is_outdated = True
        log.error("%s", error)

    def _succeed(self, successor: Zygote, nursery: trio.Nursery) -> None:
        """Take workers from `successor` from here on."""
        old, self._zygote, self._is_proven = self._zygote, successor, False
        self._zygotes.add(successor)
        self._tally.zygotes += 1
        self._is_outdated = False
        if old is not None:
            for worker in [worker for worker in self._idle if worker.zygote is old]:
                self._idle.remove(worker)
                worker.on_idle_end = None
                worker.close()
                nursery.start_soon(worker.see_out)
            old.retire()
        self._changed.set()

    async def _see_out(self, zygote: Zygote) -> None:
        """Take its reports until it ends: by itself once it is retired and has no worker left, or by a fault."""
        try:
            await zygote.listen()
        finally:
            self._zygotes.discard(zygote)
            zygote.close()
        if zygote is self._zygote:
            self._zygote, self._is_able = None, False
            gone = ZygoteGoneError("The process that forks workers ended; a new one is started.")
            self._failed(gone, self._starting_trouble)
            self._renew.set()

    async def _fill(self, nursery: trio.Nursery) -> None:
        while True:
            self._changed = trio.Event()
            target = self._warm + self._wanted
            pause_s = self._warming_trouble.pause_s
            if pause_s and self._warming == 0:
                await trio.sleep(pause_s)
            else:
                await self._breathe()
            while self._zygote and len(self._idle) + self._warming < target and self._warming < _AT_ONCE:
                self._warming += 1
                nursery.start_soon(self._warm_up, self._zygote)
                if pause_s:
                    break
            await self._changed.wait()

    async def _breathe(self) -> None:
        """While nobody waits, the run that has just taken a worker gets the processor first."""
        with trio.move_on_after(_BREATH_S):
            while self._idle and not self._wanted:
                await self._changed.wait()
                self._changed = trio.Event()

    async def _warm_up(self, zygote: Zygote) -> None:
        """One more idle worker, or one more failure."""
        worker: Worker | None = None
        try:
            worker = await zygote.spawn(hurried=not self._idle)
            with trio.fail_after(_WARM_UP_S):
                await worker.ready()
            self._note_success(zygote)
            if zygote is self._zygote:
                self._offer(worker)
                worker = None
        except (WorkerGoneError, ZygoteGoneError, trio.TooSlowError, OSError) as error:
            self._note_failure(error, zygote, worker)
        finally:
            self._warming -= 1
            self._changed.set()
            if worker is not None:
                worker.kill()
                worker.close()
        if worker is not None:
            await worker.see_out()
        is_renewable = len(self._zygotes) < _GENERATIONS and not self._is_outdated
        if zygote.is_due and zygote is self._zygote and is_renewable:
            self._renew.set()

    def _note_success(self, zygote: Zygote) -> None:
        self.first_worker.set()
        self._is_able = True
        self._warming_trouble.over()
        if zygote is self._zygote and not self._is_proven:
            self._is_proven = True
            self._starting_trouble.over()

    def _note_failure(self, error: Exception, zygote: Zygote, worker: Worker | None) -> None:
        was_born = worker is not None and worker.was_born
        self._tally.deaths["unready"] += was_born
        if isinstance(error, trio.TooSlowError):
            if not was_born:
                zygote.replace()
            error = WorkerGoneError("it takes too long")
        elif not was_born and isinstance(error, WorkerGoneError | ZygoteGoneError):
            return  # The zygote ended, which is told by itself.
        reason = getattr(error, "strerror", None) or error
        gone = WorkerGoneError(f"A worker cannot start: {reason}.")
        gone.__cause__ = error
        self._failed(gone, self._warming_trouble)

    def _offer(self, worker: Worker) -> None:
        worker.on_idle_end = partial(self._replace, worker)
        self._idle.append(worker)
        self._waiting.unpark()

    def _replace(self, worker: Worker) -> None:
        """A worker died while it was idle."""
        if worker in self._idle:
            self._idle.remove(worker)
            worker.close()
            self._tally.deaths["unused"] += 1
            if worker.status is not None:  # Otherwise the zygote ended, which is told by itself.
                log.warning("An idle worker ended (status %s); it is replaced.", worker.status)
            self._changed.set()

    def _failed(self, error: Exception, trouble: Backoff) -> None:
        """Tell of the first failure in a row, and have the next attempt wait.

        Raises:
            NoWorkersError: there is no hope.
        """
        if not self.first_worker.is_set() and isinstance(error, NoWorkersError):
            raise error
        cause = error.__cause__ or error
        # Descriptors come free again: clients may hold them for a moment.
        passes = isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE)
        if not passes and not self.first_worker.is_set() and trouble.pause_s >= _HOPELESS_PAUSE_S:
            raise NoWorkersError(f"Workers cannot start on this machine. {error}")
        if trouble.pause_s == 0.0:
            log.error("%s", error)
        trouble.again()
        self._is_able &= trouble.pause_s < _HOPELESS_PAUSE_S
