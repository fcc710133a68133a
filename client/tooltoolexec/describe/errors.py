"""Hints for what a program threw, by the error's message: each pattern with the sentence it leads to."""

from __future__ import annotations

import re
from collections.abc import Callable

from tooltoolexec.describe import names
from tooltoolexec.describe.awaits import to_blame
from tooltoolexec.describe.case import Case
from tooltoolexec_protocol import texts


def hint_for_error(case: Case) -> str:
    """The hint for an error's message, empty where there is none to give."""
    for pattern, hint in _HINTS:
        found = pattern.search(case.message)
        if found is not None:
            return hint if isinstance(hint, str) else hint(found, case)
    return ""


Hint = str | Callable[[re.Match[str], Case], str]


def _unknown_tool(found: re.Match[str], case: Case) -> str:
    context = case.context
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
    known = [form for name in names.near(tool, written, 0.6) for form in written[name]]
    if tool in written:
        return f"It is a tool of {names.listed(written[tool])}; as it was called here, nothing answers it."
    if known:
        return f"Did you mean {_either(known)}?"
    return f"The tools of this run are {names.listed([form for _, _, form in context.tools()])}."


def _either(options: list[str]) -> str:
    return " or ".join(options[:3])


def _not_defined(found: re.Match[str], case: Case) -> str:
    name = found["name"]
    context, providers = case.context, case.provider_names
    if re.search(rf"(?<![\w$.]){re.escape(name)}\s*=(?![=>])", case.line_text):
        return "Declare it with let or const."
    tools = list(context.tools()) if context else []
    forms = [form for provider, tool, form in tools if name in (tool, form[len(provider) + 1 :])]
    if forms:
        return f"It is a tool: write await {_either([form + '(…)' for form in forms])}."
    if name in names.ABSENT:
        return names.ABSENT[name]
    own = [*providers, *(names.declared_in(context.request.code) if context else [])]
    known = names.near(name, [*own, *names.GLOBALS]) or names.near(name, own, 0.6)
    if known:
        return f"Did you mean {_either(known)}?"
    return "Declare it first" + (f"; the tools are under {names.listed(providers)}." if providers else ".")


def _no_such_method(found: re.Match[str], case: Case) -> str:
    whole, _, method = found["name"].rpartition(".")
    if case.context and not whole and method in case.provider_names:
        forms = [form for provider, _, form in case.context.tools() if provider == method]
        return f"{method} holds tools and is none itself" + (f": write await {forms[0]}(…)." if forms else ".")
    missing = to_blame(case)
    if missing:
        return missing
    known = names.near(method, names.METHODS) if whole else []
    if known:
        return f"Did you mean {_either(known)}?"
    return "Look at the value first, with console.log, or check that a call before it was awaited."


def _no_such_value(found: re.Match[str], case: Case) -> str:
    if case.chain in case.provider_names:
        return _in_scope(case.chain)
    value = found["value"]
    return to_blame(case) or f"The value before it is {value}: check it with ?. or log it to see what it holds."


def _not_taken_apart(found: re.Match[str], case: Case) -> str:
    if found["name"] in case.provider_names:
        return _in_scope(found["name"])
    value = found["value"]
    return to_blame(case) or f"What is taken apart is {value}: log it to see, or give it a default."


def _in_scope(provider: str) -> str:
    return f"A program is called without arguments: {provider} is in scope already."


def _not_iterable(_found: re.Match[str], case: Case) -> str:
    return to_blame(case) or "It is no array: log it to see what it holds, or take Object.entries of an object."


def _too_early(found: re.Match[str], case: Case) -> str:
    name = found["name"]
    if name in case.provider_names:
        return f"{name} is the provider: give your variable another name."
    return "Move its declaration above the line that uses it."


def _promise(found: re.Match[str], _case: Case) -> str:
    where = "gives it" if found["path"] in ("result", "value") else f"is to give {found['path']}"
    return f"Write await before the call that {where}; for a list of calls, await Promise.all(list)."


def _network(_found: re.Match[str], case: Case) -> str:
    if case.context and case.context.has_tools and case.provider_names:
        return f"Use the tools of this run instead: {names.listed(case.provider_names)}."
    return "Do the work without the network."


def _no_modules(_found: re.Match[str], case: Case) -> str:
    # V8 says no more than this of `import()`, but other things may say it too.
    return names.NO_MODULES if re.search(r"\bimport\b", case.line_text) else ""


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
        (r"^Cannot destructure property '(?P<name>[^']*)' of .* as it is (?P<value>undefined|null)", _not_taken_apart),
        (r"^(?P<name>\S{1,200}) is not a function\b(?! or its return)", _no_such_method),
        (r"\bis not (?:async )?iterable\b", _not_iterable),
        (r"^Cannot access '(?P<name>[^']*)' before initialization", _too_early),
        (r"^Assignment to constant variable", "Declare it with let instead of const."),
        (r"^Cannot (?:assign to read only|add) property", "The object is frozen: copy it and change the copy."),
        (r'"\[object .*is not valid JSON', "What a tool gives is a value already: do not parse it."),
        (r"is not valid JSON|\bin JSON at\b|\bafter JSON at\b|^Unexpected end of JSON input",
            "The text is no JSON: check response.ok and look at it with text()."),
        (r"^Not supported$", _no_modules),
        (r"^All promises were rejected$", "Each of them failed: use Promise.allSettled to see why."),
        (r"^Maximum call stack size exceeded", "A function calls itself without end: give it a stop, or use a loop."),
        (r"^Invalid (?:array|string) length|^Array buffer alloc", "It is too large: work in smaller parts."),
        (r"mix BigInt", "Convert one side: Number(value) or BigInt(value)."),
        (r"BigInt", "Pass the number as text: String(value)."),
        (r"circular", "Pass the fields that are needed instead of an object that holds itself."),
    )
)  # fmt: skip
