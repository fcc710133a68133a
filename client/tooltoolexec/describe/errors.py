"""Hints for what a program threw, by the error's message: each pattern with the sentence it leads to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tooltoolexec.describe import names
from tooltoolexec.describe.awaits import unawaited
from tooltoolexec.describe.context import Context
from tooltoolexec_protocol import texts

LONGEST = 2000
"""How much of a message is looked at."""


def hint_for_error(message: str, warnings: Sequence[str], context: Context | None) -> str:
    """The hint for an error's message, empty where there is none to give."""
    for pattern, hint in _HINTS:
        found = pattern.search(message)
        if found is not None:
            return hint if isinstance(hint, str) else hint(found, warnings, context)
    return ""


Hint = str | Callable[[re.Match[str], Sequence[str], Context | None], str]


def _unknown_tool(found: re.Match[str], _warnings: Sequence[str], context: Context | None) -> str:
    if context is None:
        return ""
    if not context.has_tools:
        return "No tools are connected in this run: do the work without calling any."
    tool = found["tool"]
    written: dict[str, list[str]] = {}
    for _, name, form in context.tools():
        written.setdefault(name, []).append(form)
    if not written:
        return "This run declares no tools by name: call only those you were told of."
    known = [form for name in names.near(tool, written) for form in written[name]]
    if tool in written:
        return f"It is a tool of {names.listed(written[tool])}; as it was called here, nothing answers it."
    if known:
        return f"Did you mean {_either(known)}?"
    return f"The tools of this run are {names.listed([form for _, _, form in context.tools()])}."


def _either(options: list[str]) -> str:
    return " or ".join(options[:3])


def _not_defined(found: re.Match[str], _warnings: Sequence[str], context: Context | None) -> str:
    name = found["name"]
    tools = list(context.tools()) if context else []
    forms = [form for provider, tool, form in tools if name in (tool, form[len(provider) + 1 :])]
    if forms:
        return f"It is a tool: write await {_either([form + '(…)' for form in forms])}."
    if name in names.ABSENT:
        return names.ABSENT[name]
    providers = context.provider_names if context else []
    own = names.declared_in(context.request.code) if context else []
    known = [known for known in names.near(name, [*providers, *own, *names.GLOBALS]) if known != name]
    if known:
        return f"Did you mean {_either(known)}?"
    return "Declare it first" + (f"; the tools are under {names.listed(providers)}." if providers else ".")


def _no_such_method(found: re.Match[str], warnings: Sequence[str], context: Context | None) -> str:
    whole, _, method = found["name"].rpartition(".")
    if context and not whole and method in context.provider_names:
        forms = [form for provider, _, form in context.tools() if provider == method]
        return f"{method} holds tools and is none itself" + (f": write await {forms[0]}(…)." if forms else ".")
    missing = unawaited(warnings, context)
    if missing:
        return missing
    known = [name for name in names.near(method, names.METHODS) if name != method] if whole else []
    if known:
        return f"Did you mean {_either(known)}?"
    return "Look at the value first, with console.log, or check that a call before it was awaited."


def _no_such_value(found: re.Match[str], warnings: Sequence[str], context: Context | None) -> str:
    missing = unawaited(warnings, context)
    if missing:
        return missing
    return f"The value before it is {found['value']}: check it with ?. or log it to see what it holds."


def _promise(found: re.Match[str], _warnings: Sequence[str], _context: Context | None) -> str:
    where = "gives it" if found["path"] in ("result", "value") else f"is to give {found['path']}"
    return f"Write await before the call that {where}; for a list of calls, await Promise.all(list)."


def _network(_found: re.Match[str], _warnings: Sequence[str], context: Context | None) -> str:
    if context and context.has_tools and context.provider_names:
        return f"Use the tools of this run instead: {names.listed(context.provider_names)}."
    return "Do the work without the network."


def _template(template: str) -> str:
    """A pattern for a text with named places; `tool` and `path` keep theirs."""
    pattern = re.escape(template).replace(r"\{tool\}", "(?P<tool>.*)").replace(r"\{path\}", "(?P<path>.*)")
    return re.sub(r"\\\{\w+\\\}", ".*", pattern)


_HINTS: tuple[tuple[re.Pattern[str], Hint], ...] = tuple(
    (re.compile(pattern, re.DOTALL), hint)
    for pattern, hint in (
        (f"^{_template(texts.TOOL_NOT_FOUND)}$", _unknown_tool),
        (f"^{_template(texts.PENDING_PROMISE)}$", _promise),
        (f"^{_template(texts.CALLS)}$", "Make fewer calls: ask for more in one call, or work on a part of the data."),
        (f"^{_template(texts.PAYLOAD)}$", "Send less in one call: split it into several."),
        (f"^{_template(texts.TOO_DEEP)}$", "Pass or return a flatter value."),
        (f"^{re.escape(texts.OUTSIDE_ENVELOPE)}$", "The tool is at fault, not the program: do without it."),
        (f"^{re.escape(texts.HANDLES_NOT_RETAINED)}$", "Return data instead of a function."),
        (r"^Network access is closed", _network),
        (r" failed \(internal error\)$", "The tool failed on its own side: try other arguments or do without it."),
        (r"^(?P<name>[^\s.]{1,100}) is not defined$", _not_defined),
        (r"^Cannot read properties of (?P<value>undefined|null)\b", _no_such_value),
        (r"^Cannot set properties of (?P<value>undefined|null)\b", _no_such_value),
        (r"^(?P<name>\S{1,200}) is not a function\b", _no_such_method),
        (r"\bis not iterable\b", lambda _found, warnings, context: unawaited(warnings, context)
            or "It is no array: log it to see what it holds, or take Object.entries of an object."),
        (r"^Cannot access '[^']*' before initialization", "Move its declaration above the line that uses it."),
        (r"^Assignment to constant variable", "Declare it with let instead of const."),
        (r"^Cannot (?:assign to read only|add) property", "The object is frozen: copy it and change the copy."),
        (r"is not valid JSON|^Unexpected end of JSON input", "What a tool gives is a value already: do not parse it."),
        (r"^Maximum call stack size exceeded", "A function calls itself without end: give it a stop, or use a loop."),
        (r"^Invalid (?:array|string) length|^Array buffer alloc", "It is too large: work in smaller parts."),
        (r"mix BigInt", "Convert one side: Number(value) or BigInt(value)."),
        (r"BigInt", "Pass the number as text: String(value)."),
        (r"circular", "Pass the fields that are needed instead of an object that holds itself."),
    )
)  # fmt: skip
