"""The worker's event loop. It runs on the isolate's own thread, inside V8's callback, and everything here does.

    script ─▶ rest ─▶ wait for the client ─▶ [feed …] settle ─▶ rest ─▶ … ─▶ outcome ─▶ hold

The script, and later each step (`settle`), is queued together with a `rest`, which the isolate reaches once the step's
microtasks are done; there the loop sends what the step wrote and waits: for answers, for the next timer, for the wall
limit. After the outcome the thread is held, so no JavaScript runs any more, and the process ends. A retained run
goes on as before, but for the wall limit, which each invocation has for itself, and the idle limit.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import time
from collections.abc import Callable
from typing import Any, Never

from tooltoolexec_executor.entry import body_script, check_script, program_in
from tooltoolexec_executor.handover import Facts
from tooltoolexec_executor.misleading import may_mislead
from tooltoolexec_executor.worker import forms
from tooltoolexec_executor.worker.channel import Channel, PeerGoneError
from tooltoolexec_executor.worker.courier import Courier
from tooltoolexec_executor.worker.mailbox import PART_BYTES, Command, Mailbox
from tooltoolexec_executor.worker.parts import Parts
from tooltoolexec_executor.worker.syntax import SyntaxFault, fault_of
from tooltoolexec_executor.worker.v8 import Completion, Isolate
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.errors import ProtocolError

_Decoder = codecs.getincrementaldecoder("utf-8")
_MOMENT_S = 0.003

STEP, REST, PART, SCRIPT, SOURCES, FORM, SEARCH = range(2, 9)
"""What a completion is of."""

_TOO_DEEP = SyntaxFault("Maximum call stack size exceeded", None, None)
"""V8's own words for text that is nested too deep to be compiled; it throws them as a RangeError."""


class Loop:
    """Serves one run. `hold` keeps the isolate's thread once the outcome is on its way; it never returns."""

    def __init__(
        self,
        *,
        isolate: Isolate,
        mailbox: Mailbox,
        parts: Parts,
        channel: Channel,
        courier: Courier,
        facts: Facts,
        hold: Callable[[], Never],
    ) -> None:
        self._isolate = isolate
        self._mailbox = mailbox
        self._parts = parts
        self._channel = channel
        self._courier = courier
        self._facts = facts
        self._hold = hold
        self._wall_s = math.inf if facts.wall_s is None else facts.wall_s
        self._decoder = _Decoder()
        # Set while no script of the program has compiled yet, though one was tried.
        self._search: forms.Search | None = None
        self._attempt = forms.Attempt(b"")
        # Set while the host's sources are checked, because no script with them and the program compiles.
        self._fault: SyntaxFault | None = None
        # Set while the thread waits for the client: the program computes nothing.
        self.is_parked = False
        # When it last went on, in monotonic time.
        self.resumed_at = 0.0
        # Set when the thread is about to end the process itself.
        self.is_leaving = False

    def begin(self, script: bytes) -> None:
        """Have the run's script evaluated, and rest after it."""
        self._script = script
        self._parts.load(self._facts.last_part, STEP)
        self.resumed_at = time.monotonic()
        if self._facts.may_mislead and may_mislead(program_in(script, self._facts.label)):
            self._isolate.call("rest", SEARCH)  # Not here: nobody watches yet.
            return
        self._isolate.evaluate(script, SCRIPT)
        self._isolate.call("rest", REST)

    def _finish(self) -> Never:
        """The outcome is pushed: see it off, then end the process or hold the thread."""
        try:
            self._channel.flush_all()
            self._channel.finish()
            if self._channel.keeps_what_is_sent:
                self._leave()
        except (PeerGoneError, OSError):
            pass  # Nobody waits for it; the watchdog sees the hang-up.
        self._hold()

    def _leave(self) -> Never:
        """End the process in a moment, of itself: at the hang-up it would take the processor from the client."""
        self.is_leaving = True
        time.sleep(_MOMENT_S)
        os._exit(0)

    def _step(self, command: Command) -> None:
        self._mailbox.command(command)
        self._isolate.call("step", STEP)
        self._isolate.call("rest", REST)

    def _feed(self) -> None:
        self._mailbox.command(Command.FEED)
        self._isolate.call("step", PART)

    def on_notify(self) -> None:
        """JavaScript asks to be relieved of what it wrote; it stands still meanwhile."""
        self._deliver()

    def on_complete(self, number: int, completion: Completion) -> None:
        """Something queued has ended."""
        try:
            if self._courier.settled_at is not None:
                self._hold()
            if completion.failed:
                self._fail(number, completion)
            elif number == SOURCES and self._fault is not None:
                self._fail_syntax(self._fault)  # The host's sources are well, so it is the program.
            elif number == SEARCH:
                self._search_on(None)
            elif number in (SCRIPT, FORM):
                self._search = None
            elif number == REST:
                self._rest()
            elif number == PART:
                self._wait()
        except PeerGoneError:
            self._hold()
        except ProtocolError as error:
            self._courier.refuse(error.code, str(error))
            self._finish()

    def _deliver(self) -> None:
        """Send what was written; JavaScript stands still, at rest or inside `notify`."""
        special = self._courier.deliver(isolate_rests=True)
        if special is not None:
            self._special(special[0], json.loads(special[1:]))
        if self._courier.settled_at is not None:
            self._finish()
        try:
            self._channel.flush_all()
        except PeerGoneError:
            self._hold()

    def _special(self, kind: str, value: list[Any]) -> None:
        if kind == "w":
            calls = [{"provider": provider, "tool": tool} for provider, tool in value]
            detail = {"state": "waiting", "calls": calls}
            self._courier.fail("timeout", texts.timeout(self._wall_s), detail=detail)
        elif kind == "r":
            self._mailbox.fill(os.urandom(value[0]))
        elif kind == "x":
            code, message = value
            self._courier.refuse(code, message)

    def _rest(self) -> None:
        self._deliver()
        if self._search is not None or self._fault is not None:
            return
        is_retained = self._courier.used_at is not None
        if is_retained or (self._mailbox.pending_calls == 0 and self._mailbox.timer_delay_ms < 0):
            if self._isolate.outgrew_heap:
                # Running out of memory in a microtask raises nothing: the program just never goes on.
                self._courier.fail("memory", texts.memory(self._facts.memory_mb or 0))
                self._finish()
            if not is_retained:
                self._courier.fail("stalled", texts.STALLED)
                self._finish()
        self._wait()

    def _wait(self) -> None:
        """Wait for the next part of a message, a timer or the end of time, and queue what it asks for."""
        left_ms = self._left_s() * 1000
        timer_ms = self._mailbox.timer_delay_ms
        wait_ms = left_ms if timer_ms < 0 else min(left_ms, timer_ms)
        self.is_parked = True
        part = self._channel.next_part(PART_BYTES, None if wait_ms == math.inf else max(0, math.ceil(wait_ms)))
        out_of_time = part is None and self._left_s() <= 0
        if out_of_time and self._courier.used_at is not None:
            self._courier.release(texts.handles_idle(self._facts.retained_idle_s))
            self._finish()
        self.resumed_at = time.monotonic()
        self.is_parked = out_of_time  # It was waiting to its end, whatever the watchdog sees before that is told.
        if part is None:
            self._step(Command.WAITS if out_of_time else Command.SETTLE)
            return
        data, last = part
        self._put(data, last=last)
        if last:
            self._step(Command.SETTLE)
        else:
            self._feed()

    def _left_s(self) -> float:
        """How long the run may go on waiting; a retained one may while its functions are at work."""
        used_at = self._courier.used_at
        if used_at is None:
            return self._wall_s - self._courier.wall_s
        if self._mailbox.pending_invocations:
            return math.inf
        return used_at + self._facts.retained_idle_s - time.monotonic()

    def _put(self, data: bytes, *, last: bool) -> None:
        if data.isascii() and not self._decoder.getstate()[0]:
            self._mailbox.put(data)
            return
        try:
            self._mailbox.put_units(self._decoder.decode(data, last))
        except UnicodeDecodeError:
            raise ProtocolError("malformed", "The frame is no UTF-8.") from None

    def _fail(self, number: int, completion: Completion) -> None:
        script = self._script.decode("utf-8", "replace")
        fault = fault_of(completion.text, script, lines_before=self._facts.lines_before)
        if completion.out_of_memory or self._isolate.outgrew_heap:
            self._courier.fail("memory", texts.memory(self._facts.memory_mb or 0))
        elif completion.did_not_compile and fault is not None:
            if number in (SCRIPT, FORM):
                self._search_on(fault)
                return
            self._fail_syntax(fault)
        elif number in (SCRIPT, FORM) and f": RangeError: {_TOO_DEEP.message}" in completion.text.partition("\n")[0]:
            self._conclude(_TOO_DEEP)
            return
        elif number in (SCRIPT, FORM):
            # A host's source closed what stands around it, and what came then threw.
            self._courier.fail("program", completion.text.partition(": ")[2].partition("\n")[0] or texts.UNSHOWABLE)
        else:
            self._courier.fail("crashed", texts.CRASHED, detail={"runtime": completion.text[:2000]})
        self._finish()

    def _search_on(self, fault: SyntaxFault | None) -> None:
        """Try the next form that the program may have; `fault` is of the one tried last."""
        if self._search is None:
            self._search = forms.search(program_in(self._script, self._facts.label), is_tried=fault is not None)
            found = next(self._search)
        else:
            assert fault is not None
            width = len(forms.RETURN)
            found = self._search.send(fault.without(self._attempt.line, self._attempt.column, width))
        if found is forms.AS_IS:
            self._isolate.evaluate(self._script, SCRIPT)
            self._isolate.call("rest", REST)
        elif isinstance(found, forms.Attempt):
            self._attempt = found
            place = (found.lines, found.line, found.column)
            body = body_script(self._script, self._facts.label, found.text, found.tail, place)
            self._isolate.evaluate(body, FORM)
            self._isolate.call("rest", REST)
        else:
            self._conclude(found)

    def _conclude(self, fault: SyntaxFault) -> None:
        """No script with the program compiles: it is the program's fault, unless it is that of a host's source."""
        if self._facts.job_end:
            self._fault = fault
            self._isolate.evaluate(check_script(self._script, self._facts.job_end), SOURCES)
        else:
            self._fail_syntax(fault)

    def _fail_syntax(self, fault: SyntaxFault) -> Never:
        name = "RangeError" if fault is _TOO_DEEP else "SyntaxError"
        self._courier.fail("syntax", fault.message, name=name, line=fault.line, column=fault.column)
        self._finish()
