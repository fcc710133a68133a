"""Where a program stops being JavaScript. Only V8's compiler knows, and it tells in the text of a failed evaluation."""

from __future__ import annotations

import re

# The program is compiled again, as it stood in the runtime's `eval`, but behind a condition that never holds.
_PREFIX = '"use strict";if(0)('
_PLACE = re.compile(r"<anonymous>:(\d+): [^\n]*\n([^\n]*)\n([^\n^]*\^)")


def check_source(source: str) -> str:
    """A script that compiles where `source` does and runs nothing of it."""
    return f"{_PREFIX}{source}\n)"


def position_of(text: str) -> dict[str, int]:
    """`line` and `column`, from 1 in the program's own text; empty when V8's text has no place."""
    match = _PLACE.search(text)
    if match is None:
        return {}
    line = int(match[1])
    column = len(match[3])
    return {"line": line, "column": max(1, column - (len(_PREFIX) if line == 1 else 0))}
