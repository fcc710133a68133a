"""Calls that nobody awaited: which of them a failure is due to, and where in the program they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from tooltoolexec.describe.case import Case
from tooltoolexec.describe.context import Context
from tooltoolexec_protocol import texts

_SAID = texts.UNAWAITED.removeprefix("{call}").partition("{")[0]
_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")
_MOST_CODE = 100_000
_MOST_PLACES = 200
_MOST_LINES = 3
_LONGEST_CALL = 200
_LONGEST_ARGUMENTS = 2000
_AROUND = 200
# Brackets, and texts and comments as a whole: what is in them is no bracket.
_BRACKETS = re.compile(
    r"""[()\[\]{}]|(["'])(?:(?!\1)[^\\\n]|\\.)*+\1?|`(?:[^`\\]|\\.)*+`?|//[^\n]*|/\*(?:(?!\*/).)*+""", re.DOTALL
)
_AWAIT = re.compile(r"(?<![\w$.])await[\s(]*$")
_USED = re.compile(r"\s{0,50}\??\.\s{0,50}(?:then|catch|finally)\b")
_READ = re.compile(r"\s{0,50}(?:\??\.|\[)")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_TARGET = re.compile(r"(?<![\w$.])(?:[A-Za-z_$][\w$]*|\{[^{};=]*\}|\[[^\[\];=]*\])(?=\s*(?::[^=;,\n]*)?=\s*$)")


class _Place(NamedTuple):
    """A call whose promise is let go: its lines to the end of what reads of it, and the names it is assigned to."""

    first: int
    last: int
    is_read: bool
    targets: frozenset[str]


def to_blame(case: Case) -> str:
    """A hint about the call without await that the failure is due to, empty where none can be.

    It is due to a call on the failing line, or to one that is assigned to what the failure is about. Where that is some
    other variable, the line alone does not count.
    """
    line, root = case.failure.line, case.root
    names = {root} if root else set(_NAME.findall(case.line_text))
    for call in dict.fromkeys(_calls(case.warnings)):
        is_about = root in ("", re.split(r"[.\[]", _forms(call, case.context)[0])[0])
        for place in _places(call, case.context):
            is_there = line is not None and place.first <= line <= place.last
            if (is_about and is_there) or place.targets & names:
                return _blamed(call, place, case.context)
    return ""


def _blamed(call: str, place: _Place, context: Context | None) -> str:
    written = _forms(call, context)[0]
    if place.is_read:
        return f"{call} gives a promise, which line {place.first} reads before it is awaited: {_mended(written)}."
    where = f"at line {place.first}"
    return f"{call} was called without await {where}, so its value is a promise: write await {written}(…)."


def _mended(written: str) -> str:
    return f"write (await {written}(…)) and only then read of it"


def explained(warnings: Sequence[str], context: Context | None) -> list[str]:
    """The warnings, each once, with how often it was given and the lines where such a call stands without await."""
    items = []
    for warning, count in Counter(warnings).items():
        facts = [f"{count} times"] if count > 1 else []
        for call in _calls([warning]):
            places = _places(call, context)
            lines = sorted({place.first for place in places})
            if 0 < len(lines) <= _MOST_LINES:
                told = f"line{'s' * (len(lines) > 1)} " + ", ".join(map(str, lines))
                is_read = all(place.is_read for place in places)
                facts.append(f"{told}: {_mended(_forms(call, context)[0])}" if is_read else told)
        items.append(f"{warning} ({', '.join(facts)})" if facts else warning)
    return items


def _calls(warnings: Sequence[str]) -> list[str]:
    return [warning.partition(_SAID)[0] for warning in warnings if _SAID in warning]


def _places(call: str, context: Context | None) -> list[_Place]:
    """Where `call` is written in the program and nothing shows that its promise is awaited."""
    if context is None or len(call) > _LONGEST_CALL:
        return []
    code = context.request.code[:_MOST_CODE]
    written = "|".join(re.escape(form).replace(r"\.", r"\s{0,50}\.\s{0,50}") for form in _forms(call, context))
    pattern = re.compile(rf"(?<![\w$])(?:(?<!\.)|(?<=\.\.\.))(?:{written})\s?(?:<[^<>()]{{1,100}}>)?\(")
    places = []
    line, counted = 1, 0
    for match in islice(pattern.finditer(code), _MOST_PLACES):
        end = _closing(code, match.end() - 1)
        before = code[max(match.start() - _AROUND, 0) : match.start()]
        read = _READ.match(code, end)
        if _USED.match(code, end) or (_AWAIT.search(before) and not read):
            continue
        line += len(_LINE_END.findall(code, counted, match.start()))
        counted = match.start()
        last = line + len(_LINE_END.findall(code, counted, read.end() if read else end))
        places.append(_Place(line, last, bool(read), _targets(before)))
    return places


def _closing(code: str, opening: int) -> int:
    """Where the bracket at `opening` is closed, the place after it; the one after `opening` where that is too far."""
    depth = 0
    for found in _BRACKETS.finditer(code, opening, opening + _LONGEST_ARGUMENTS):
        depth += (found[0] in "([{") - (found[0] in ")]}")
        if depth == 0:
            return found.end()
    return opening + 1


def _targets(before: str) -> frozenset[str]:
    """The names that what follows `before` is assigned to."""
    target = _TARGET.search(before)
    return frozenset(_NAME.findall(target[0])) if target else frozenset()


def _forms(call: str, context: Context | None) -> list[str]:
    """How a program may write a call that a warning names `provider.tool`."""
    for provider, tool, form in context.tools() if context else ():
        if f"{provider}.{tool}" == call:
            return [form, f'{provider}["{tool}"]', f"{provider}['{tool}']"]
    return [call]
