"""The JavaScript around a program, as text: `runtime/*.js`, joined.

Compiling it is most of what a worker's start costs, so it is in three parts. The core is evaluated while the isolate is
made. The console with all that shows values, then the web's globals, follow when a worker has nothing to do, or else
right before a program that may use them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tooltoolexec_protocol.texts import SANDBOX_TEXTS

CORE_FILES = (
    "intrinsics", "mailbox", "codec", "timers", "clock", "proxies", "parts", "failures", "promises", "providers",
    "handles", "run",
)  # fmt: skip
"""In the order in which they are joined."""
CONSOLE_FILES = ("layout", "peek", "inspect", "bases", "kinds", "format", "table", "console")
"""Evaluated in the core's scope, in this order."""
WEB_FILES = (
    "exceptions", "events", "abort", "utf8", "base64", "encoding", "clone", "digests", "crypto", "performance",
    "percent", "iterables", "urlencoded", "idna", "host", "urlparse", "urlparts", "url", "headers", "body", "request",
    "response", "fetch", "shown",
)  # fmt: skip
"""Evaluated in the console's scope, in this order."""


class Runtime(NamedTuple):
    """All parts, read while files can be read.

    Attributes:
        core: one expression; its value is what Python may call.
        later: a script for each part after it, which has the part before evaluate it in its own scope. The text stands
            there as a literal: to read so much through the mailbox makes V8 optimize the reading, while a run waits.
    """

    core: str
    later: tuple[bytes, ...]


def read() -> Runtime:
    """Read the runtime."""
    core = f'(() => {{ "use strict";\nconst TEXTS = {json.dumps(SANDBOX_TEXTS)};\n{_joined(CORE_FILES)}\n}})()'
    later = [f"__load({json.dumps(_joined(files))});\n".encode("ascii") for files in (CONSOLE_FILES, WEB_FILES)]
    return Runtime(core, tuple(later))


def _joined(names: Iterable[str]) -> str:
    folder = Path(__file__).parents[1] / "runtime"
    return "\n".join(_compact((folder / f"{name}.js").read_text("utf-8")) for name in names)


def _compact(source: str) -> str:
    """`source` without indentation and lines of comment, in ASCII, which V8 reads faster."""
    lines = (line.strip() for line in source.splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    return text.encode("ascii", "backslashreplace").decode("ascii")
