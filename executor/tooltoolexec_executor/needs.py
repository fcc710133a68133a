"""What a run may need, found out by its text: which parts of the runtime, and whether V8 may misread its program.

`worker/runtime.py` says what the parts are. The daemon looks, not the worker, where each look would be a first one and
take many times as long.
"""

from __future__ import annotations

import re

from tooltoolexec_executor import misleading
from tooltoolexec_protocol.messages import Execute

WEB_GLOBALS = (
    "AbortController", "AbortSignal", "Crypto", "DOMException", "Event", "EventTarget", "Headers", "Performance",
    "Request", "Response", "SubtleCrypto", "TextDecoder", "TextEncoder", "URL", "URLSearchParams", "atob", "btoa",
    "crypto", "fetch", "performance", "structuredClone",
)  # fmt: skip
"""What the third part defines."""
CORE, CONSOLE, WEB = range(3)
"""The parts, each of which needs those before it."""

_WORD = re.compile(r"\w+", re.ASCII)
# Besides by their names, globals are reached through the global object, which these lead to, and by escaped names. A
# program that puts such a word together is not found out.
_OF_WEB = frozenset((*WEB_GLOBALS, "globalThis", "eval", "Function", "constructor"))
# Besides by its name, the console's part is used to log what nobody catches and to say what was thrown, where that is
# no error and no primitive value. What rejects a promise throws, too.
_OF_CONSOLE = frozenset(("console", "setTimeout", "setInterval", "queueMicrotask", "throw", "reject", "withResolvers"))
_MAKES_PROMISES = frozenset(("new", "construct"))
_THENABLE = re.compile(r"(?<![.\w])then\b", re.ASCII)
_LONGEST_SEARCHED = 16 * 1024
"""Characters. To search more would hold up the daemon for longer than it saves the worker."""


def last_part(execute: Execute) -> int:
    """The last part that a run may use: its program, or a source of its host."""
    sources = [source for p in execute.providers for source in (p.prelude, p.proxy_source) if source is not None]
    if len(execute.code) + sum(map(len, sources)) > _LONGEST_SEARCHED:
        return WEB
    text = "\n".join((execute.code, *sources))
    words = set(_WORD.findall(text))
    if "\\u" in text or not words.isdisjoint(_OF_WEB):
        return WEB
    may_reject = ("Promise" in words and not words.isdisjoint(_MAKES_PROMISES)) or (
        "then" in words and _THENABLE.search(text) is not None
    )
    return CONSOLE if may_reject or not words.isdisjoint(_OF_CONSOLE) else CORE


def may_mislead(execute: Execute) -> bool:
    """Whether V8 may misread the program. Of a long one the worker finds out."""
    code = execute.code
    return len(code) > _LONGEST_SEARCHED or misleading.may_mislead(code.encode("utf-8", "backslashreplace"))
