"""Calls that nobody awaited: the warnings about them, and where in the program they may be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tooltoolexec.describe.context import Context
from tooltoolexec_protocol import texts

_SAID = texts.UNAWAITED.removeprefix("{call}").partition("{")[0]
_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")
_MOST_CODE = 100_000
_MOST_LINES = 3
_LONGEST_CALL = 200


def unawaited(warnings: Sequence[str], context: Context | None) -> str:
    """A hint about the first call that nobody awaited, empty where there is none."""
    for warning in warnings:
        call, said, _ = warning.partition(_SAID)
        if said:
            lines = _told(_lines(call, context))
            written = _forms(call, context)[0]
            return f"{call} was called without await{lines}, so its value is a promise: write await {written}(…)."
    return ""


def explained(warnings: Sequence[str], context: Context | None) -> list[str]:
    """The warnings, each once, with how often it was given and the lines where such a call stands without await."""
    items = []
    for warning, count in Counter(warnings).items():
        call, said, _ = warning.partition(_SAID)
        facts = [f"{count} times"] if count > 1 else []
        lines = _lines(call, context) if said else []
        if lines:
            facts.append(_told(lines).removeprefix(" at "))
        items.append(f"{warning} ({', '.join(facts)})" if facts else warning)
    return items


def _told(lines: list[int]) -> str:
    if not lines:
        return ""
    return f" at line{'s' * (len(lines) > 1)} " + ", ".join(map(str, lines))


def _lines(call: str, context: Context | None) -> list[int]:
    """Where `call` is written in the program without await; nothing where that is at more than three lines."""
    if context is None or len(call) > _LONGEST_CALL:
        return []
    code = context.request.code[:_MOST_CODE]
    written = "|".join(re.escape(form).replace(r"\.", r"\s?\.\s?") for form in _forms(call, context))
    found = [match.start() for match in re.finditer(rf"(?<![\w$.])(?<!await )(?:{written})\s?\(", code)]
    if not 0 < len(found) <= _MOST_LINES:
        return []
    return sorted({1 + len(_LINE_END.findall(code, 0, at)) for at in found})


def _forms(call: str, context: Context | None) -> list[str]:
    """How a program may write a call that a warning names `provider.tool`."""
    for provider, tool, form in context.tools() if context else ():
        if f"{provider}.{tool}" == call:
            return [form, f'{provider}["{tool}"]', f"{provider}['{tool}']"]
    return [call.removeprefix("globalThis.")]
