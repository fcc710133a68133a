"""The worker's main thread while a run is under way: limits that hold while JavaScript is busy, the client's going.

It needs nothing from V8: it writes the outcome itself and ends the process. Behind it stand the kernel's CPU limit and
the daemon's SIGKILL.
"""

from __future__ import annotations

import math
import os
import select
import socket
import time
from typing import Never

from tooltoolexec_executor.handover import Facts
from tooltoolexec_executor.worker.channel import Channel, PeerGoneError
from tooltoolexec_executor.worker.courier import Courier
from tooltoolexec_executor.worker.loop import Loop
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.limits import MIB

PARKED = b"P"
"""To the daemon: the program has been waiting for its tools or timers for a while, so it does not compute."""
COMPUTING = b"C"
"""To the daemon: it goes on. Every run begins so."""
CANCELLED = 4
"""The exit status of a worker whose client hung up before the outcome."""

_TICK_MS = 10.0
_LONGEST_TICK_MS = 40.0
"""While the program waits it cannot grow or compute, so hundreds of parked workers need not wake each tick."""
_LINGER_S = 1.0
"""How long the client may take to hang up once all is sent."""
_STALL_S = 10.0
"""How long the client may leave the outcome unread without taking a byte."""
_NOTICE_S = 0.5
"""How long after an outcome the daemon is told of it, so that it does not end a worker that is only sending."""
_RETELL_S = 1.0
"""How often the daemon is told that a retained run was used; see `runs.py` for what it makes of that."""
_REPORT_LATE_S = 0.5
"""How long past the wall limit a resting program's loop has to tell what it waits for; then the watchdog ends it."""


class Watchdog:
    """Watches one run until the process ends."""

    def __init__(
        self,
        *,
        facts: Facts,
        connection: socket.socket,
        control: socket.socket,
        channel: Channel,
        courier: Courier,
        loop: Loop,
        gauge: MemoryGauge,
    ) -> None:
        self._channel = channel
        self._courier = courier
        self._loop = loop
        self._gauge = gauge
        self._wall_s = math.inf if facts.wall_s is None else facts.wall_s
        self._cpu_s = math.inf if facts.cpu_s is None else facts.cpu_s
        self._memory_mb = math.inf if facts.memory_mb is None else facts.memory_mb
        self._poller = select.poll()
        # A half-close is a hang-up: a client that cannot answer any more has left.
        self._poller.register(connection, select.POLLRDHUP)
        # The daemon says only one thing to a busy worker, by a byte or by its end: the run is over.
        self._poller.register(control, select.POLLIN)
        self._control = control
        self._connection = connection
        self._tick_ms = _TICK_MS
        self._told_parked = False
        self._told_used = 0.0  # When the daemon was told that the retained run was in use, in monotonic time.
        self._received = -1  # Bytes, at the last tick.
        self._progress = (0, 0.0)  # Bytes left of the outcome, and when that last changed.

    def watch(self) -> Never:
        """Run until the process ends."""
        while True:
            ready = self._poller.poll(self._pause_ms())
            if any(descriptor == self._connection.fileno() for descriptor, _events in ready):
                if not self._loop.is_leaving:
                    self._exit()
                self._poller.unregister(self._connection)
                continue
            try:
                if ready:
                    self._poller.unregister(self._control)
                    self._end("shutdown", texts.SHUTDOWN)
                self._check()
            except PeerGoneError:
                self._exit()

    def _exit(self) -> Never:
        """The client hung up."""
        has_outcome = self._courier.settled_at is not None or self._courier.used_at is not None
        os._exit(0 if has_outcome else CANCELLED)

    def _pause_ms(self) -> float:
        self._tick_ms = min(self._tick_ms * 2, _LONGEST_TICK_MS) if self._loop.is_parked else _TICK_MS
        left_ms = (self._wall_s - self._courier.wall_s) * 1000
        return self._tick_ms if left_ms <= 0 else min(self._tick_ms, left_ms + 1)

    def _check(self) -> None:
        if self._courier.settled_at is not None:
            self._linger(time.monotonic(), self._courier.settled_at)
            return
        growth = self._gauge.growth()
        if growth > self._memory_mb * MIB:
            self._end("memory", texts.memory(self._memory_mb))
        elif self._courier.cpu_s > self._cpu_s:
            self._end("cpu", texts.cpu(self._cpu_s))
        elif self._is_out_of_time():
            # Which calls a resting program waits for, only its loop could have told.
            state = "waiting" if self._loop.is_parked else "computing"
            self._end("timeout", texts.timeout(self._wall_s), detail={"state": state})
        else:
            self._courier.deliver(isolate_rests=False)
            self._channel.flush()
            self._tell_state()

    def _is_out_of_time(self) -> bool:
        """Past the wall limit. A retained run has that each time it computes; it sees itself to what waits."""
        if self._courier.used_at is None:
            return self._courier.wall_s > self._wall_s + (_REPORT_LATE_S if self._loop.is_parked else 0)
        return not self._loop.is_parked and time.monotonic() > self._loop.resumed_at + self._wall_s

    def _tell_state(self) -> None:
        """Tell the daemon when the program begins to wait for long, when it goes on, and that its handles are used."""
        used_at = self._courier.used_at
        if used_at is not None and used_at > self._told_used and time.monotonic() > self._told_used + _RETELL_S:
            now = time.monotonic()
            if self._courier.tell_retained():
                self._told_used = now
        received, self._received = self._received, self._channel.received
        is_parked = self._loop.is_parked and received == self._channel.received
        if is_parked != self._told_parked:
            try:
                self._control.send(PARKED if is_parked else COMPUTING, socket.MSG_DONTWAIT)
            except OSError:
                return  # The daemon is gone, which its own end tells, or slow: then the next tick tells.
            self._told_parked = is_parked

    def _end(self, kind: str, message: str, *, detail: dict[str, str] | None = None) -> None:
        self._courier.fail(kind, message, detail=detail)
        self._tick_ms = _TICK_MS

    def _linger(self, now: float, settled_at: float) -> None:
        """See the outcome off without waiting; the isolate's thread may be busy in JavaScript for good."""
        if self._channel.flush():
            self._channel.finish()
        left = self._channel.unsent
        if left != self._progress[0] or self._progress[1] < settled_at:
            self._progress = (left, now)
        if now > self._progress[1] + (_STALL_S if left else _LINGER_S):
            os._exit(0)
        if now > settled_at + _NOTICE_S:
            self._courier.report_late()
