"""The JavaScript around a program, as text: `runtime/*.js`, joined.

Compiling it is most of what a worker's start costs, so it is in two parts. The core is evaluated while the isolate is
made. The web's globals, which most programs do without, follow when a worker has nothing to do, or else right before a
program that may use them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tooltoolexec_protocol.texts import SANDBOX_TEXTS

CORE_FILES = (
    "intrinsics", "mailbox", "codec", "timers", "clock", "proxies", "layout", "peek", "inspect", "bases", "kinds",
    "format", "table", "console", "failures", "promises", "providers", "handles", "run",
)  # fmt: skip
"""In the order in which they are joined."""
WEB_FILES = (
    "exceptions", "events", "abort", "utf8", "base64", "encoding", "clone", "digests", "crypto", "performance",
    "percent", "iterables", "urlencoded", "idna", "host", "urlparse", "urlparts", "url", "headers", "body", "request",
    "response", "fetch", "shown",
)  # fmt: skip
"""Evaluated in the core's scope, in this order."""
WEB_GLOBALS = (
    "AbortController", "AbortSignal", "Crypto", "DOMException", "Event", "EventTarget", "Headers", "Performance",
    "Request", "Response", "SubtleCrypto", "TextDecoder", "TextEncoder", "URL", "URLSearchParams", "atob", "btoa",
    "crypto", "fetch", "performance", "structuredClone",
)  # fmt: skip
"""What the second part defines."""

# Besides by their names, globals are reached through the global object, which these lead to, and by escaped names.
_ROUNDABOUT = ("globalThis", "eval", "Function", "constructor")
_MAY_USE_WEB = re.compile(rf"\b(?:{'|'.join((*WEB_GLOBALS, *_ROUNDABOUT))})\b|\\u".encode())
_LONGEST_SEARCHED = 256 * 1024
"""Bytes. To search more takes longer than to make the globals."""


class Runtime(NamedTuple):
    """Both parts, read while files can be read.

    Attributes:
        core: one expression; its value is what Python may call.
        web: a script that has the core evaluate the rest in its own scope. That stands in it as a literal: to read so
            much through the mailbox makes V8 optimize the reading, in the midst of a run.
    """

    core: str
    web: bytes


def read() -> Runtime:
    """Read the runtime."""
    core = f'(() => {{ "use strict";\nconst TEXTS = {json.dumps(SANDBOX_TEXTS)};\n{_joined(CORE_FILES)}\n}})()'
    return Runtime(core, f"__web({json.dumps(_joined(WEB_FILES))})".encode("ascii"))


def may_use_web(script: bytes) -> bool:
    """Whether a run's script may reach one of the web's globals."""
    return len(script) > _LONGEST_SEARCHED or _MAY_USE_WEB.search(script) is not None


def _joined(names: Iterable[str]) -> str:
    folder = Path(__file__).parents[1] / "runtime"
    return "\n".join(_compact((folder / f"{name}.js").read_text("utf-8")) for name in names)


def _compact(source: str) -> str:
    """`source` without indentation and lines of comment, in ASCII, which V8 reads faster."""
    lines = (line.strip() for line in source.splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    return text.encode("ascii", "backslashreplace").decode("ascii")
