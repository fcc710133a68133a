"""Why and where a program is no JavaScript, from the text in which V8 tells that a script does not compile."""

from __future__ import annotations

import re
from typing import NamedTuple

from tooltoolexec_executor.entry import LINES_AFTER

# "<anonymous>:LINE: SyntaxError: MESSAGE", the source line, and a line with carets under the place.
_PLACE = re.compile(r"[^\n]*?:(\d+): SyntaxError: ([^\n]*)(?:\n[^\n]*\n([^\n^]*\^))?")


END_OF_INPUT = "Unexpected end of input"


class SyntaxFault(NamedTuple):
    """The engine's message; line and column from 1 in the program's own text."""

    message: str
    line: int | None
    column: int | None

    def without(self, line: int, column: int, width: int) -> SyntaxFault:
        """The same fault in the text without what was inserted on `line` before `column`; `width` UTF-16 units."""
        if self.line != line or self.column is None or self.column <= column:
            return self
        return self._replace(column=max(column, self.column - width))


def fault_of(text: str, script: str, *, lines_before: int) -> SyntaxFault | None:
    """Read V8's text; None when it tells of no syntax error.

    The program's lines are those of the script but for the first `lines_before` and the last `LINES_AFTER`. What goes
    wrong behind them does so because the program ends too early.
    """
    match = _PLACE.match(text)
    if match is None:
        return None
    line = int(match[1]) - lines_before
    program = script.split("\n")[lines_before:-LINES_AFTER]
    if line > len(program):
        return SyntaxFault(END_OF_INPUT, len(program), len(program[-1]) + 1)
    return SyntaxFault(match[2], line if line >= 1 else None, len(match[3]) if match[3] and line >= 1 else None)
