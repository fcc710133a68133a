"""What to do about a failure, in one sentence or two: from its kind, its message and what the run was given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tooltoolexec.describe import errors, names
from tooltoolexec.describe.case import Case
from tooltoolexec.describe.context import Context
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import Failure

_AGAIN = "Nothing was run: the same program may be sent again later."
_NOT_THE_PROGRAM = "The program is not at fault and was not run: whoever runs it must correct this."
_BY_KIND = {
    "declaration": _NOT_THE_PROGRAM,
    "provider_source": _NOT_THE_PROGRAM,
    "limit": _NOT_THE_PROGRAM,
    "overloaded": _AGAIN,
    "shutdown": "Send the program again; tools it called may have done their work already.",
    "crashed": "Tools may have done their work already: check before you send the program again.",
    "payload": "Return less: pick the fields you need, count or summarise in the program, or return a slice.",
    "cpu": "Do less work: look for a loop that never ends or an algorithm that repeats itself.",
    "memory": "Hold less at a time: take data in parts, keep only what you need, look for a list that grows forever.",
    "stalled": "Look for a promise that nothing resolves: a missing call of resolve, or an await on it.",
}


def hint_for(failure: Failure, warnings: Sequence[str], context: Context | None) -> str:
    """A hint for the model, empty where there is none to give.

    Args:
        failure: why the run failed.
        warnings: the run's, for calls that nobody awaited.
        context: what the run was given, if that is known.
    """
    special = _SPECIAL.get(failure.kind)
    if special is not None:
        return special(Case(failure, warnings, context))
    return _BY_KIND.get(failure.kind, "")


def _syntax(case: Case) -> str:
    if case.failure.message == texts.NO_MODULES and re.match(r"\s*export\b", case.line_text):
        return "Leave out the word export, or use export default."
    for pattern, hint in _SYNTAX:
        found = re.search(pattern, case.message)
        if found:
            return found.expand(hint)
    return "Nothing was run: correct the line and send the whole program again."


_SYNTAX = (
    (r"^await is only valid", "Make the function around it async."),
    (r"^Unexpected end of input", "A bracket, brace or quote is not closed: send the whole program."),
    (r"^Invalid or unexpected token", "Look for a quote that is not closed, or a character that is not JavaScript's."),
    (r"^missing \) after argument list", "Close the call's bracket, or escape a quote inside its text."),
    (r"^Identifier '([^']{1,100})' has already been declared", r"Declare \1 once, or rename the second one."),
    (r"modules", "Use the language's own library and the tools of this run instead."),
    (r"^Unexpected (?:identifier|string|number|token)", "Nothing was run: the line is not JavaScript; correct it."),
)  # fmt: skip


def _unserializable(case: Case) -> str:
    if "circular" in case.message:
        return "Return the fields you need instead of an object that holds itself."
    if "BigInt" in case.message:
        return "Return the number as text: String(value)."
    return errors.hint_for_error(case)


def _timeout(case: Case) -> str:
    detail = case.failure.detail if isinstance(case.failure.detail, dict) else {}
    if detail.get("state") == "computing":
        return "The program was computing: look for a loop that never ends, or do less."
    calls = detail.get("calls")
    pending = _pending(calls)
    if pending:
        told = [name if count == 1 else f"{name} {count} times" for name, count in Counter(pending).items()]
        # Several that are pending were made at once already.
        instead = ", or make calls at once with Promise.all." if len(pending) == 1 else "."
        return f"It was waiting for {names.listed(told)}: ask for less{instead}"
    if calls == []:
        return "No tool was pending, it was waiting for a timer or a request: wait for less."
    return "The program was waiting: ask for less, or wait for less."


def _pending(calls: Any) -> list[str]:
    if not isinstance(calls, list):
        return []
    return [_written(str(call.get("provider")), str(call.get("tool"))) for call in calls if isinstance(call, dict)]


def _written(provider: str, tool: str) -> str:
    # A request is told like a call of the provider `fetch`, with the origin as its tool.
    return f"fetch of {tool}" if provider == "fetch" and "://" in tool else f"{provider}.{tool}"


_SPECIAL: dict[str, Callable[[Case], str]] = {
    "program": errors.hint_for_error,
    "syntax": _syntax,
    "unserializable": _unserializable,
    "timeout": _timeout,
}
