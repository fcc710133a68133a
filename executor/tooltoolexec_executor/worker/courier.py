"""From the mailbox's records to the protocol's frames, and the one outcome of the run.

    under way ──outcome──▶ settled: nothing follows
        └──outcome, retained──▶ retained: returns and log lines ──released──▶ settled

Both of the worker's threads deliver: the isolate's when it rests, the watchdog's while JavaScript is busy. One lock
keeps the order, and makes the first outcome the only one.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from tooltoolexec_executor.handover import Facts
from tooltoolexec_executor.worker.channel import Channel
from tooltoolexec_executor.worker.cputime import cpu_time
from tooltoolexec_executor.worker.mailbox import Mailbox
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.messages import Done, Failure, Refused, Started, Stats, encode

_KIND = itemgetter(0)
_LONGEST_REPORT = 128 * 1024
_SHORT_MESSAGE = 10_000

RETAINED = b"H"
"""To the daemon: the run worked, and its isolate lives on for its handles. Told again when they are used."""


class Courier:
    """What one run sends. `control` is the socket to the daemon, which hears of every failure."""

    def __init__(
        self, facts: Facts, mailbox: Mailbox, channel: Channel, gauge: MemoryGauge, control: socket.socket
    ) -> None:
        self._facts = facts
        self._mailbox = mailbox
        self._channel = channel
        self._gauge = gauge
        self._control = control
        # Re-entrant, because an outcome first delivers what was written before it.
        self._lock = threading.RLock()
        self._begun = time.monotonic()
        self._cpu_before = cpu_time()
        self._settled_at: float | None = None
        # When a retained run was used last: at its outcome, then at each end of an invocation. None for any other.
        self._used_at: float | None = None
        self._has_reported = False
        self._special: str | None = None
        channel.push(frame(encode(Started(id=facts.id, queued_s=facts.queued_s))))

    @property
    def settled_at(self) -> float | None:
        """The monotonic time from which nothing follows: the outcome's, or the release's of a retained run.

        Under the lock: whoever asks waits for an outcome that is being written, and does not take its half for none.
        """
        with self._lock:
            return self._settled_at

    @property
    def used_at(self) -> float | None:
        """When a retained run was used last, in monotonic time; None for a run that is not retained."""
        with self._lock:
            return self._used_at

    @property
    def wall_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._begun

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU time since the run began."""
        return cpu_time() - self._cpu_before

    def deliver(self, *, isolate_rests: bool) -> str | None:
        """Turn the records written so far into frames on the channel.

        Returns the first record that is no frame (kinds `w`, `x` and `r`), if any and if the isolate rests: only its
        thread can do something about it, whoever collects it.
        """
        with self._lock:
            records = self._mailbox.collect(isolate_rests=isolate_rests)
            for kind, same in groupby(records, _KIND):
                if kind == "c":
                    self._push('{"type":"calls","calls":[', same)
                elif kind == "q":
                    self._push('{"type":"requests","requests":[', same)
                elif kind == "l":
                    self._push('{"type":"logs","lines":[', same)
                elif kind == "v":
                    self._push('{"type":"returns","returns":[', same)
                    self._note_use()
                elif kind == "d":
                    self._settle(next(same)[1:])
                elif kind == "h":
                    self._retain(next(same)[1:])
                else:
                    self._special = next(same)
            if not isolate_rests:
                return None
            special, self._special = self._special, None
            return special

    def fail(self, kind: str, message: str, *, detail: Any = None, **position: Any) -> None:
        """The outcome when the runtime cannot give it; what was written before goes first. A second one is dropped.

        A retained run has its outcome: it is released, for the same reason.
        """
        with self._lock:
            self.deliver(isolate_rests=False)
            if self._used_at is not None:
                self.release(message)
                return
            failure = Failure(kind=kind, message=message, detail=detail, **position)
            self._settle('"failure":' + json.dumps(msgspec.to_builtins(failure)))

    def release(self, reason: str) -> None:
        """End a retained run: nothing follows but the reason."""
        with self._lock:
            if self._settled_at is None:
                self._channel.push(frame(encode(Refused(code="released", message=reason))))
                self._settled_at = time.monotonic()

    def refuse(self, code: str, message: str) -> None:
        """The client broke the protocol: tell it, and tell the daemon that the run is lost."""
        with self._lock:
            if self._used_at is not None:
                self.release(message)
            elif self._settled_at is None:
                self._channel.push(frame(encode(Refused(code=code, message=message))))
                self._has_reported = True
                failure = Failure(kind="crashed", message=texts.CRASHED, detail={"refused": message})
                self._report(encode(Done(id=self._facts.id, failure=failure)))
                self._settled_at = time.monotonic()

    def _push(self, opening: str, records: Iterable[str]) -> None:
        if self._settled_at is None:
            body = opening + ",".join([record[1:] for record in records]) + "]}"
            self._channel.push(frame(_bytes_of(body)))

    def _settle(self, fields: str) -> None:
        if self._settled_at is not None or self._used_at is not None:
            return
        body = self._push_outcome(fields)
        if fields.startswith('"failure"'):
            self._has_reported = True
            self._report(body if len(body) <= _LONGEST_REPORT else self._short(body))
        self._settled_at = time.monotonic()

    def _retain(self, fields: str) -> None:
        if self._settled_at is None and self._used_at is None:
            self._push_outcome(fields + ',"retained":true')
            self._has_reported = True  # What becomes of the isolate is no part of the outcome.
            self._used_at = time.monotonic()
            self.tell_retained()

    def _note_use(self) -> None:
        if self._used_at is not None:
            self._used_at = time.monotonic()

    def tell_retained(self) -> bool:
        """Tell the daemon that the run is retained, and in use; whether that was possible without waiting."""
        self._channel.announce()
        try:
            self._control.send(RETAINED, socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def _push_outcome(self, fields: str) -> bytes:
        dropped = self._mailbox.dropped_lines
        if dropped:
            line = texts.compose(texts.DROPPED_LINES, n=dropped, m=round(self._facts.log_bytes or 0))
            self._push('{"type":"logs","lines":[', ["l" + json.dumps(["warn", line])])
        body = _bytes_of(f'{{"type":"done","id":"{self._facts.id}",{fields},"stats":{self._stats()}}}')
        self._channel.push(frame(body))
        return body

    def _short(self, body: bytes) -> bytes:
        """A failure too long for the daemon to keep, without what makes it long."""
        failure = json.loads(body)["failure"]
        short = Failure(kind=failure["kind"], message=failure["message"][:_SHORT_MESSAGE])
        return encode(Done(id=self._facts.id, failure=short))

    def report_late(self) -> None:
        """Tell the daemon that there is an outcome which takes its time on the way. Once, and not of a failure."""
        if not self._has_reported:
            self._has_reported = True
            self._report(encode(Done(id=self._facts.id)))

    def _report(self, body: bytes) -> None:
        # The daemon first has to read that this worker has the run; anything else it takes for the worker's end.
        self._channel.announce()
        try:
            self._control.send(frame(body), socket.MSG_DONTWAIT)
        except OSError:
            return  # The daemon is gone or full; it then knows the run by its exit alone.

    def _stats(self) -> str:
        stats = Stats(
            queued_s=self._facts.queued_s,
            wall_s=self.wall_s,
            cpu_s=self.cpu_s,
            memory_peak_bytes=self._gauge.peak(),
            calls=self._mailbox.sent_calls,
            bytes_sent=self._channel.sent,
            bytes_received=self._channel.received,
        )
        return msgspec.json.encode(stats).decode("ascii")


def _bytes_of(json_text: str) -> bytes:
    """In UTF-8; a lone surrogate that the runtime let through becomes JSON's escape of it."""
    return json_text.encode("utf-8", "backslashreplace")
