"""The mailbox from Python's side: records out of the isolate's buffer, text into it. Its other half is mailbox.js.

A record is a kind letter, JSON text and a newline: `c` a call, `l` a log line, `v` the end of an invocation, `d` the
outcome's fields, `h` those of one after which the isolate lives on for its handles, `w` the calls the program waits
for, `x` a message of the client that the protocol does not allow, `r` how many random bytes the runtime needs at once.
"""

from __future__ import annotations

import codecs
import threading
from enum import IntEnum

from tooltoolexec_executor.worker.v8 import HEADER_BYTES, IN_BYTES, OUT_UNITS

PART_BYTES = IN_BYTES // 2
"""The most UTF-8 bytes that fit the in area whatever they encode."""

# Indices of the header's 32-bit words, as mailbox.js names them.
_HEAD, _PENDING_CALLS, _TIMER_DELAY, _IN_LENGTH, _IN_WIDTH, _DROPPED_LINES, _SENT_CALLS, _COMMAND = range(8)
_PENDING_INVOCATIONS = 8
# Python imports a codec at its first use, which the lock-down would refuse.
codecs.lookup("utf-16-le")

_IN_START = HEADER_BYTES + 2 * OUT_UNITS


class Command(IntEnum):
    """What a step of the runtime does, as mailbox.js numbers it."""

    SETTLE = 0
    FEED = 1
    WAITS = 2


class Mailbox:
    """The shared buffer. `collect` may be called from any thread, the rest from the isolate's while it stands still."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self._words = memory[:HEADER_BYTES].cast("i")
        self._lock = threading.Lock()
        # Units of the out area taken already; JavaScript does not know it.
        self._taken = 0
        # The beginning of a record whose end has not been written yet.
        self._partial: list[str] = []

    def collect(self, *, isolate_rests: bool) -> list[str]:
        """The records written since the last time, whole ones only.

        `isolate_rests`: no JavaScript is writing, so the area may be used from its start again.
        """
        with self._lock:
            head = self._words[_HEAD]
            if head == self._taken:
                lines: list[str] = []
            else:
                area = self._memory[HEADER_BYTES + 2 * self._taken : HEADER_BYTES + 2 * head]
                # surrogatepass: JSON.stringify escapes lone surrogates, but a part may end inside a pair. The codec is
                # called by its name in C, without the search that `decode` makes for it.
                lines = codecs.utf_16_le_decode(area, "surrogatepass", True)[0].split("\n")
                rest = lines.pop()
                if lines and self._partial:
                    lines[0] = _rejoin([*self._partial, lines[0]])
                    self._partial.clear()
                if rest:
                    self._partial.append(rest)
            self._taken = head
            if isolate_rests:
                self._words[_HEAD] = self._taken = 0
            return lines

    def command(self, command: Command) -> None:
        """What the next step is to do; set it before the step is queued."""
        self._words[_COMMAND] = command

    def put(self, text: bytes) -> None:
        """Leave ASCII for the runtime to take; at most the in area's bytes."""
        self._memory[_IN_START : _IN_START + len(text)] = text
        self._words[_IN_LENGTH] = len(text)
        self._words[_IN_WIDTH] = 1

    def fill(self, data: bytes) -> None:
        """Leave bytes where the runtime, inside `notify`, waits for them. They are no message: it alone takes them."""
        self._memory[_IN_START : _IN_START + len(data)] = data

    def put_units(self, text: str) -> None:
        """Leave any text, as UTF-16; at most half as many units as the in area has bytes."""
        units = text.encode("utf-16-le", "surrogatepass")
        self._memory[_IN_START : _IN_START + len(units)] = units
        self._words[_IN_LENGTH] = len(units) // 2
        self._words[_IN_WIDTH] = 2

    def forget_counts(self) -> None:
        """Count from zero: a script that does not compile never comes to where the runtime does so itself."""
        self._words[_PENDING_CALLS] = self._words[_SENT_CALLS] = self._words[_DROPPED_LINES] = 0

    @property
    def pending_calls(self) -> int:
        """Calls that wait for an answer."""
        return self._words[_PENDING_CALLS]

    @property
    def pending_invocations(self) -> int:
        """Invocations of handles that have not ended."""
        return self._words[_PENDING_INVOCATIONS]

    @property
    def sent_calls(self) -> int:
        """Calls made so far."""
        return self._words[_SENT_CALLS]

    @property
    def timer_delay_ms(self) -> int:
        """Milliseconds to the next timer as of the last rest; -1 without one."""
        return self._words[_TIMER_DELAY]

    @property
    def dropped_lines(self) -> int:
        """Log lines past the run's bound."""
        return self._words[_DROPPED_LINES]


def _rejoin(parts: list[str]) -> str:
    """The parts as one text; a pair of surrogates that was cut in two is a character again."""
    return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
