"""A worker's life. Everything that affects it lives in this file.

    forked ─▶ locked down ─▶ isolate made ─▶ rehearsed, unless somebody waits ─▶ ready ─▶ handed a run ─▶ exit
                                                                                  │ ▲
                                                       idle for a moment:         ▼ │
                                                                          the runtime completed, rehearsed again

The main thread locks down, makes the isolate, then waits for a run to watch. The isolate's thread waits for the run
itself, because what comes first must not change threads. Whatever ends the run ends the process.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import socket
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Never

from tooltoolexec_executor.lockdown import Lockdown
from tooltoolexec_executor.worker.assignment import receive
from tooltoolexec_executor.worker.bounds import bound
from tooltoolexec_executor.worker.channel import BUFFER_BYTES, Channel
from tooltoolexec_executor.worker.courier import Courier
from tooltoolexec_executor.worker.loop import REST, STEP, Loop
from tooltoolexec_executor.worker.mailbox import Mailbox
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_executor.worker.native import Trampoline
from tooltoolexec_executor.worker.parts import Parts
from tooltoolexec_executor.worker.rehearsal import rehearsal_sockets, rehearse
from tooltoolexec_executor.worker.runtime import Runtime
from tooltoolexec_executor.worker.v8 import Completion, Isolate
from tooltoolexec_executor.worker.watchdog import Watchdog
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.limits import DEFAULTS, MIB

_LARGEST_MB = 1 << 24
"""Past it, a heap is as good as not limited."""
_UNWATCHED_S = 0.005
_IDLE_MS = 500
"""How long a worker waits for a run before it uses its time. Under load none does, for others need the processor."""

READY = b"R"
"""The worker's first byte on the control socket: it can take a run."""
TAKEN = b"T"
"""Its next byte, with its first to the client: it has the run."""
FAULT = b"F"
"""The worker itself failed; a frame with the reason follows."""


def serve(
    control: socket.socket, runtime: Runtime, trampoline: Trampoline, lockdown: Lockdown, *, rehearsed: bool
) -> Never:
    """Be a worker: called in the forked child, with nothing else running. Never returns."""
    try:
        _Worker(control, runtime, trampoline, lockdown).live(rehearsed=rehearsed)
    except BaseException:
        _end_with_fault(control)


class _Worker:
    def __init__(self, control: socket.socket, runtime: Runtime, trampoline: Trampoline, lockdown: Lockdown) -> None:
        self._control = control
        # What needs calls that the lock-down takes away comes before it.
        self._gauge = MemoryGauge()
        self._rehearsal_sockets = rehearsal_sockets()
        # For every thread to come: the signal is the main thread's to wait for.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        lockdown.apply()
        self._isolate = Isolate(runtime.core, lambda: _end_with_fault(control), trampoline)
        lockdown.seal()
        self._mailbox = Mailbox(self._isolate.memory)
        self._parts = Parts(runtime.later, self._isolate)
        self._buffer = bytearray(BUFFER_BYTES)
        self._watchdogs: queue.SimpleQueue[Callable[[], Watchdog]] = queue.SimpleQueue()

    def live(self, *, rehearsed: bool) -> Never:
        if rehearsed:
            self._rehearse(self._rehearsal_sockets, then=self._be_ready)
        else:
            for unused in self._rehearsal_sockets:
                unused.close()
            self._isolate.on_complete = lambda _number, _completion: self._be_ready()
            self._isolate.call("rest", REST)
        signal.sigwait({signal.SIGALRM})
        self._watchdogs.get()().watch()

    def _rehearse(self, sockets: tuple[socket.socket, socket.socket] | None, *, then: Callable[[], None]) -> None:
        rehearse(
            self._isolate,
            mailbox=self._mailbox,
            parts=self._parts,
            gauge=self._gauge,
            sockets=sockets,
            buffer=self._buffer,
            then=then,
        )

    def _be_ready(self) -> None:
        """On the isolate's thread, as what follows: take a run, and while none comes make the most of the time."""
        self._limit_heap(DEFAULTS.memory_mb)
        self._forget_rehearsal()
        self._control.sendall(READY)
        if self._parts.are_complete or self._is_asked():
            self._take_run()
            return
        self._isolate.on_complete = self._on_parts
        self._parts.load_all(STEP)

    def _is_asked(self) -> bool:
        """Whether a run comes, or the end, before the worker has been idle."""
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        return bool(poller.poll(_IDLE_MS))

    def _on_parts(self, _number: int, completion: Completion) -> None:
        if completion.failed:
            raise RuntimeError(completion.text)
        # Once more, because compiling so much had the collector at work, and made much of what was warm cold.
        self._rehearse(None, then=self._be_idle)

    def _be_idle(self) -> None:
        self._forget_rehearsal()
        self._take_run()

    def _forget_rehearsal(self) -> None:
        """Before a run is taken: nothing happens until then that the gauge could miss."""
        self._mailbox.forget_counts()
        self._gauge.reset()

    def _take_run(self) -> None:
        """Wait for a run, begin it, and let the main thread watch it."""
        assignment = receive(self._control, self._buffer)
        if assignment is None:
            os._exit(0)  # The daemon is gone or has no use for this worker.
        facts, script, connection = assignment
        channel = Channel(connection, self._buffer, self._announce)
        courier = Courier(facts, self._mailbox, channel, self._gauge, self._control)
        loop = Loop(
            isolate=self._isolate,
            mailbox=self._mailbox,
            parts=self._parts,
            channel=channel,
            courier=courier,
            facts=facts,
            hold=_hold,
        )
        self._isolate.on_notify = loop.on_notify
        self._isolate.on_complete = loop.on_complete
        self._limit_heap(facts.memory_mb)
        bound(facts, self._gauge.data_bytes)
        loop.begin(script)
        # The isolate begins when this thread is done here, so the watchdog is made by the thread that becomes it.
        watchdog = partial(
            Watchdog,
            facts=facts,
            connection=connection,
            control=self._control,
            channel=channel,
            courier=courier,
            loop=loop,
            gauge=self._gauge,
        )
        self._watchdogs.put(watchdog)
        # The main thread would contend for the interpreter, so it wakes up only for a run that is not over in a moment.
        signal.setitimer(signal.ITIMER_REAL, _UNWATCHED_S)

    def _limit_heap(self, megabytes: float | None) -> None:
        self._isolate.limit_heap(0 if megabytes is None or megabytes > _LARGEST_MB else int(megabytes * MIB))

    def _announce(self) -> None:
        with suppress(OSError):  # The daemon is gone; the watchdog sees it too.
            self._control.send(TAKEN)


def _end_with_fault(control: socket.socket) -> Never:
    """A defect of the worker itself: tell the daemon, which logs it, and end."""
    reason = traceback.format_exc(limit=-4)[-2000:]
    with suppress(OSError):
        control.send(FAULT + frame(reason.encode("utf-8", "replace")), socket.MSG_DONTWAIT)
    os._exit(1)


def _hold() -> Never:
    while True:
        queue.SimpleQueue[None]().get()
