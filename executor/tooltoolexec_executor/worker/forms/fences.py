"""Markdown around a program: its one fence is found, and the text in it takes the place of the whole.

A fence is CommonMark's: a line of three or more backticks or tildes, indented by up to three blanks, closed by a line
of at least as many. A fence line inside a comment, a string or a template of a program is that program's own text.
"""

from __future__ import annotations

import re

from tooltoolexec_executor.worker.forms.source import lines_in, refuse

MORE_THAN_ONE = "The text holds more than one fenced block: send one program, in one block."
NOT_ON_ITS_OWN = (
    "A fence needs lines of its own, indented by three blanks at most: put ```js and ``` alone on a line each."
)

_FENCE = rb"^(?:\xef\xbb\xbf)? {0,3}(?:(?P<ticks>`{3,})[^`\n]*|(?P<tildes>~{3,})[^\n]*)$"
_OPENING = re.compile(_FENCE, re.MULTILINE)
# What may hold a fence line is skipped. Prose has apostrophes, so a string that does not end, ends with its line.
_TOKEN = re.compile(
    _FENCE
    + rb"|(?P<misplaced>^[ \t]*+`{3})"
    + rb"""|//[^\n]*|(?P<comment>/\*)|'(?:\\.|[^'\\\n])*+'?|"(?:\\.|[^"\\\n])*+"?|(?P<template>`)""",
    re.MULTILINE | re.DOTALL,
)
_TEMPLATE = re.compile(rb"(?:\\.|[^`\\])*+`", re.DOTALL)


def cut(program: bytes) -> bytes:
    """The text in the fence, with as many line ends before it as stand before it in `program`.

    `program` itself, if there is no fence. Raises RefusedError for more than one, and for one that shares its line.
    """
    opening = _opening_in(program)
    if opening is None:
        return program
    start, closing = _body_of(opening, program)
    first = _OPENING.search(program)
    if first is not None and first.start() < opening.start():
        hidden_start, end = _body_of(first, program)
        if end is not None and end.start() == opening.start():
            # An odd backtick or a `/*` in the prose looked like the begin of a quote and hid the opening.
            opening, start, closing = first, hidden_start, end
    if closing is None:
        return _of_unclosed(opening, start, program)
    second = _OPENING.search(program, closing.end())
    if second is not None:
        raise refuse(MORE_THAN_ONE, program, second.start())
    return _from(start, program, closing.start())


def _body_of(opening: re.Match[bytes], program: bytes) -> tuple[int, re.Match[bytes] | None]:
    """Where the text in a fence starts, and the line that closes it."""
    mark = opening["ticks"] or opening["tildes"]
    start = min(opening.end() + 1, len(program))
    closing = re.compile(rb"^ {0,3}%c{%d,}[ \t\r]*$" % (mark[0], len(mark)), re.MULTILINE)
    return start, closing.search(program, start)


def _of_unclosed(opening: re.Match[bytes], start: int, program: bytes) -> bytes:
    before = program[: opening.start()]
    is_operand = opening["tildes"] and opening[0].strip() != opening["tildes"]
    if before.strip() and not program[start:].strip() and not is_operand:
        return before  # It closes a fence whose opening did not come along.
    # A model that stopped early leaves its fence open. Tildes alone are operators.
    return program if opening["tildes"] else _from(start, program, len(program))


def _from(start: int, program: bytes, end: int) -> bytes:
    return b"\n" * lines_in(program[:start]) + program[start:end]


def _opening_in(program: bytes) -> re.Match[bytes] | None:
    """The first line that may open a fence, as far as a program's quotes and comments tell."""
    if b"```" not in program and b"~~~" not in program:
        return None
    at = 0
    # Where no end follows, none follows later either: looking again each time would be quadratic.
    ends_comments = ends_templates = True
    misplaced: re.Match[bytes] | None = None
    while (token := _TOKEN.search(program, at)) is not None:
        at = token.end()
        if token["ticks"] or token["tildes"]:
            return token
        if token["misplaced"]:
            misplaced = misplaced or token
            at -= 1  # Two of the three are an empty template, the last may begin one.
        elif token["comment"] and ends_comments:
            end = program.find(b"*/", at)
            ends_comments = end != -1
            at = end + 2 if ends_comments else at
        elif token["template"] and ends_templates:
            template = _TEMPLATE.match(program, at)
            ends_templates = template is not None
            at = template.end() if template else at
    if misplaced is not None:
        raise refuse(NOT_ON_ITS_OWN, program, misplaced.end() - 3)
    return None
