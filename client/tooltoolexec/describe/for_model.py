"""The text a model reads about its run: what was cut, the result or the failure, warnings, logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tooltoolexec.describe.awaits import explained
from tooltoolexec.describe.context import Context
from tooltoolexec.describe.hints import hint_for
from tooltoolexec.describe.nothing import no_value
from tooltoolexec.describe.sections import Failed, Logs, Result, Section, Warnings
from tooltoolexec.describe.source import excerpt, line_of
from tooltoolexec_protocol.messages import Failure

if TYPE_CHECKING:
    from tooltoolexec.run import Run

LEAST_CHARACTERS = 200
_BETWEEN = "\n\n"


def for_model(run: Run, context: Context | None, max_chars: int) -> str:
    """As `Run.for_model`."""
    if isinstance(max_chars, bool) or not isinstance(max_chars, int):
        raise TypeError(f"max_chars is a number, not {type(max_chars).__name__}")
    if max_chars < LEAST_CHARACTERS:
        raise ValueError(f"max_chars must be at least {LEAST_CHARACTERS}, not {max_chars}")
    sections = _sections(run, context)
    total = sum(section.size for section in sections) + len(_BETWEEN) * (len(sections) - 1)
    if total <= max_chars:
        fitted = [section.fit(section.size) for section in sections]
        if not any(part.cut for part in fitted):
            return _BETWEEN.join(part.text for part in fitted)
    return _cut(sections, max_chars)


def _sections(run: Run, context: Context | None) -> list[Section]:
    told = run.warnings[: len(run.warnings) - (context.host_warnings if context else 0)]
    warnings = explained(told, context)
    sections: list[Section] = []
    if run.failure is not None:
        sections.append(_failed(run.failure, told, context))
    else:
        sections.append(Result(run.result))
        if run.result is None and not run.logs and not warnings:
            warnings = [no_value(context.request.code if context else "")]
    if warnings:
        sections.append(Warnings(warnings))
    if run.logs:
        sections.append(Logs(run.logs))
    return sections


def _failed(failure: Failure, warnings: Sequence[str], context: Context | None) -> Failed:
    place = _place(failure.line, failure.column, context.request.code) if context and failure.line else ""
    name = "" if failure.name in (None, "Error") or failure.kind != "program" else str(failure.name)
    hint = hint_for(failure, warnings, context)
    return Failed(failure.kind, name, failure.message, place, hint)


def _place(line: int, column: int | None, code: str) -> str:
    """Where the run failed and how that line reads, empty where the program has no such line."""
    text = line_of(code, line)
    if text is None:
        return ""
    place = f"At line {line}" + (f", column {column}" if column else "")
    return f"{place}:\n{excerpt(text, column)}" if text.strip() else f"{place}."


def _cut(sections: Sequence[Section], max_chars: int) -> str:
    # Room for the longest first line there can be, and for what stands between.
    left = max_chars - len(_first_line([section.longest_cut for section in sections])) - len(_BETWEEN) * len(sections)
    fitted = []
    for place, section in enumerate(sections):
        part = section.fit(_share(sections[place:], left))
        left -= len(part.text)
        fitted.append(part)
    first = _first_line([part.cut for part in fitted if part.cut])
    return _BETWEEN.join([first, *(part.text for part in fitted if part.text)])


def _first_line(cuts: Sequence[str]) -> str:
    return "Cut: " + ", ".join(cuts)


def _share(sections: Sequence[Section], left: int) -> int:
    """How much room the first gets of what is left: what it needs, or else as much as any other that needs more."""
    waiting = sorted(range(len(sections)), key=lambda index: sections[index].size)
    for place, index in enumerate(waiting):
        share = min(sections[index].size, left // (len(sections) - place))
        if index == 0:
            return share
        left -= share
    return left
