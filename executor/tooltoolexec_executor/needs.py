"""Which parts of the runtime a run may use, found out by the words in it. `worker/runtime.py` says what the parts are.

The daemon looks, not the worker, where each look would be a first one and take many times as long.
"""

from __future__ import annotations

import re

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
# Besides by their names, globals are reached through the global object, which these lead to, and by escaped names.
_OF_WEB = frozenset((*WEB_GLOBALS, "globalThis", "eval", "Function", "constructor"))
# Besides by its name, the console's part is used by what nobody catches, and by an outcome that is no error.
_OF_CONSOLE = frozenset(("console", "setTimeout", "setInterval", "queueMicrotask", "throw", "reject", "withResolvers"))
_OF_PROMISES = frozenset(("new", "Promise"))
_LONGEST_SEARCHED = 64 * 1024
"""Characters. To search more takes longer than to evaluate the parts."""


def last_part(execute: Execute) -> int:
    """The last part that a run may use: its program, or a source of its host."""
    last = _last_part_of(execute.code)
    for provider in execute.providers:
        for source in (provider.prelude, provider.proxy_source):
            if source is not None:
                last = max(last, _last_part_of(source))
    return last


def _last_part_of(text: str) -> int:
    if len(text) > _LONGEST_SEARCHED or "\\u" in text:
        return WEB
    words = set(_WORD.findall(text))
    if not words.isdisjoint(_OF_WEB):
        return WEB
    return CORE if words.isdisjoint(_OF_CONSOLE) and not words.issuperset(_OF_PROMISES) else CONSOLE
