"""The warm workers. The pool keeps a few of them ready ahead of need and hands each out once.

    no zygote ──started──▶ filling ◀──▶ full ──zygote gone──▶ no zygote (after a pause that doubles while it fails)

A worker: asked for ─▶ warming ─▶ idle ─▶ handed out. One that fails to warm up is logged; while workers keep failing,
the pool pauses ever longer between them, so that a machine on which they cannot start is not worn out.
"""

from __future__ import annotations

import logging
from collections import deque
from functools import partial

import trio

from tooltoolexec_executor.errors import NoWorkersError
from tooltoolexec_executor.supervise import Zygote, ZygoteGoneError, open_zygote
from tooltoolexec_executor.workers import Worker, WorkerGoneError

log = logging.getLogger("tooltoolexec")

_WARM_UP_S = 20.0
_AT_ONCE = 3
"""How many workers warm up at the same time: it is work for the processor, not waiting."""
_BREATH_S = 0.01
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
_HOPELESS_PAUSE_S = 0.4
"""Once the pauses of a pool that never had a worker are so long, three attempts have failed and it gives up."""


class Pool:
    """Keeps `warm` idle workers. Run `keep` in a task; then `take` gives one."""

    def __init__(self, warm: int) -> None:
        self._warm = warm
        self._idle: deque[Worker] = deque()
        self._warming = 0
        self._wanted = 0
        self._waiting, self._changed = trio.lowlevel.ParkingLot(), trio.Event()
        self._pause_s = 0.0
        self._has_worked = False

    @property
    def idle(self) -> int:
        """How many workers are ready now."""
        return len(self._idle)

    async def take(self) -> Worker:
        """An idle worker; waits for one."""
        self._wanted += 1
        self._notice()
        try:
            while (worker := self.try_take()) is None:
                await self._waiting.park()
            return worker
        finally:
            self._wanted -= 1
            self._notice()

    def try_take(self) -> Worker | None:
        """An idle worker if one is ready now."""
        while self._idle:
            worker = self._idle.popleft()
            worker.on_idle_end = None
            self._notice()
            if worker.is_idle():
                return worker
            worker.close()  # It died a moment ago; nobody is handed a dead one.
        return None

    async def keep(self) -> None:
        """Run the zygote and fill the pool, for ever.

        Raises:
            NoWorkersError: not one worker has ever started, so none will.
        """
        while True:
            try:
                async with open_zygote() as zygote, trio.open_nursery() as nursery:
                    nursery.start_soon(self._listen, zygote, nursery.cancel_scope)
                    await self._fill(zygote, nursery)
            except* ZygoteGoneError:
                pass
            except* NoWorkersError as group:
                if not self._has_worked:
                    raise
                log.error("%s", group.exceptions[0])  # noqa: TRY400 - its traceback says nothing more
            finally:
                while self._idle:
                    self._idle.popleft().close()
            self._failed("The process that forks workers ended; a new one is started.")
            await trio.sleep(self._pause_s)

    async def _listen(self, zygote: Zygote, scope: trio.CancelScope) -> None:
        await zygote.listen()
        scope.cancel()

    async def _fill(self, zygote: Zygote, nursery: trio.Nursery) -> None:
        while True:
            self._changed = trio.Event()
            target = self._warm + self._wanted
            if self._pause_s and self._warming == 0:
                await trio.sleep(self._pause_s)
            else:
                await self._breathe()
            while len(self._idle) + self._warming < target and self._warming < _AT_ONCE:
                self._warming += 1
                nursery.start_soon(self._warm_up, zygote)
                if self._pause_s:
                    break
            await self._changed.wait()

    async def _breathe(self) -> None:
        """While nobody waits, the run that has just taken a worker gets the processor first."""
        with trio.move_on_after(_BREATH_S):
            while self._idle and not self._wanted:
                await self._changed.wait()
                self._changed = trio.Event()

    async def _warm_up(self, zygote: Zygote) -> None:
        worker: Worker | None = None
        try:
            worker = await zygote.spawn(hurried=not self._idle)
            with trio.fail_after(_WARM_UP_S):
                await worker.ready()
        except trio.TooSlowError:
            if worker is not None and not worker.was_born:
                zygote.replace()
            self._failed("A worker cannot start: it takes too long")
        except WorkerGoneError as error:
            if worker is not None and worker.was_born:  # Else the zygote ended, which is told by itself.
                self._failed(f"A worker cannot start: {error}")
        except ZygoteGoneError:
            pass
        else:
            self._pause_s, self._has_worked = 0.0, True
            worker.on_idle_end = partial(self._replace, worker)
            self._idle.append(worker)
            self._waiting.unpark()
            worker = None
        finally:
            self._warming -= 1
            if worker is not None:
                worker.kill()
                worker.close()
            self._notice()

    def _replace(self, worker: Worker) -> None:
        """A worker died while it was idle."""
        if worker in self._idle:
            self._idle.remove(worker)
            worker.close()
            if worker.status is not None:  # Otherwise the zygote ended, which is told by itself.
                log.warning("An idle worker ended (status %s); it is replaced.", worker.status)
            self._notice()

    def _failed(self, message: str) -> None:
        if not self._has_worked and self._pause_s >= _HOPELESS_PAUSE_S:
            raise NoWorkersError(f"Workers cannot start on this machine. {message}")
        if self._pause_s == 0.0:
            log.error(message)
        self._pause_s = min(max(self._pause_s * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)

    def _notice(self) -> None:
        self._changed.set()
