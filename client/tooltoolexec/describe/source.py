"""The line of a program at which it failed, with a mark under the column."""

from __future__ import annotations

import re

from tooltoolexec.describe.characters import ELLIPSIS, boundary

_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")
_WIDTH = 100
_INDENT = "    "


def line_of(code: str, line: int | None) -> str | None:
    """Line `line` of `code`, from 1, as ECMAScript counts lines (ECMA-262, 12.3)."""
    if line is None or line < 1:
        return None
    start = 0
    for _ in range(line - 1):
        end = _LINE_END.search(code, start)
        if end is None:
            return None
        start = end.end()
    end = _LINE_END.search(code, start)
    return code[start : end.start() if end else len(code)]


def excerpt(text: str, column: int | None) -> str:
    """A line, or what is around its column of a long one, and below it a caret; `column` counts UTF-16 units from 1."""
    at = -1 if column is None else index_of(text, column - 1)
    text = text.expandtabs(1)
    start = min(max(at - _WIDTH * 2 // 3, 0), max(len(text) - _WIDTH, 0))
    start = boundary(text, start)
    end = boundary(text, start + _WIDTH)
    stripped = text[start:end].lstrip() if start == 0 else text[start:end]
    shift = end - start - len(stripped)
    head, tail = ELLIPSIS if start else "", ELLIPSIS if end < len(text) else ""
    shown = _INDENT + head + stripped + tail
    place = at - start - shift
    if at < 0 or not 0 <= place <= len(stripped):
        return shown
    return f"{shown}\n{_INDENT}{' ' * (len(head) + place)}^"


def index_of(text: str, units: int) -> int:
    """Which character of `text` begins after so many UTF-16 units; -1 where it has not so many."""
    if units < 0 or units > 2 * len(text):
        return -1
    for index, character in enumerate(text):
        width = 1 if character < "\U00010000" else 2
        if units < width:
            return index
        units -= width
    return len(text) if units == 0 else -1
