"""Names a program may have meant, and what to use instead of those the sandbox lacks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

GLOBALS = (
    "console setTimeout clearTimeout setInterval clearInterval queueMicrotask URL URLSearchParams TextEncoder "
    "TextDecoder atob btoa structuredClone AbortController AbortSignal Event EventTarget DOMException crypto "
    "performance fetch Headers Request Response Object Array String Number Boolean Symbol BigInt Math JSON Date "
    "RegExp Map Set WeakMap WeakSet Promise Proxy Reflect Error TypeError RangeError SyntaxError Intl Temporal "
    "ArrayBuffer DataView Uint8Array Uint16Array Uint32Array Int8Array Int16Array Int32Array Float32Array "
    "Float64Array parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent encodeURI decodeURI "
    "globalThis undefined NaN Infinity"
).split()

METHODS = (
    "at charAt charCodeAt codePointAt concat endsWith includes indexOf lastIndexOf localeCompare match matchAll "
    "normalize padEnd padStart repeat replace replaceAll search slice split startsWith substring toLowerCase "
    "toUpperCase toString trim trimEnd trimStart copyWithin entries every fill filter find findIndex findLast "
    "findLastIndex flat flatMap forEach join keys map pop push reduce reduceRight reverse shift some sort splice "
    "toReversed toSorted toSpliced unshift values with assign create defineProperty freeze fromEntries "
    "getOwnPropertyNames groupBy isArray from of hasOwn clear delete get has set add size union intersection "
    "difference then catch finally all allSettled any race resolve reject toFixed toPrecision toISOString getTime "
    "getFullYear getMonth getDate getDay getHours parse stringify abs ceil floor max min pow random round sqrt "
    "trunc log info warn error debug table exec test toJSON"
).split()

_NO_FILES = "There are no files here: use the tools of this run, or keep data in variables."
_NO_PAGE = "This is no browser and there is no page: use the tools of this run."
_NO_PROCESS = "There is no process here: no environment, arguments or exit; end the program with return."
NO_MODULES = "There are no modules here: use the language's own library and the tools of this run."
_NO_SHELL = "This is no shell: write JavaScript that calls the tools of this run."
_NO_THREADS = "There are no threads or shared memory here: use promises and Promise.all."

ABSENT = {
    "require": NO_MODULES, "module": NO_MODULES, "exports": NO_MODULES, "_": NO_MODULES, "lodash": NO_MODULES,
    "axios": "There are no modules here: use fetch, where network access is open, or the tools of this run.",
    "XMLHttpRequest": "Use fetch, where network access is open, or the tools of this run.",
    "WebSocket": "There are no sockets here: use fetch, where network access is open, or the tools of this run.",
    "process": _NO_PROCESS, "Deno": _NO_PROCESS, "Bun": _NO_PROCESS,
    "fs": _NO_FILES, "path": _NO_FILES, "__dirname": _NO_FILES, "__filename": _NO_FILES, "os": _NO_PROCESS,
    "child_process": _NO_PROCESS,
    "Buffer": "Use Uint8Array and TextEncoder; for base64 there are toBase64() and Uint8Array.fromBase64().",
    "window": _NO_PAGE, "document": _NO_PAGE, "navigator": _NO_PAGE, "location": _NO_PAGE, "alert": _NO_PAGE,
    "prompt": _NO_PAGE, "localStorage": "Nothing is kept between runs: return what you want to keep.",
    "sessionStorage": "Nothing is kept between runs: return what you want to keep.",
    "global": "Write globalThis.", "self": "Write globalThis.",
    "setImmediate": "Write setTimeout(f, 0) or queueMicrotask(f).",
    "print": "Write console.log.", "len": "Write x.length.", "True": "Write true.", "False": "Write false.",
    "None": "Write null.",
    "WebAssembly": "WebAssembly is not available: write it in JavaScript.",
    "SharedArrayBuffer": _NO_THREADS, "Atomics": _NO_THREADS, "Worker": _NO_THREADS,
    "WeakRef": "Hold the value itself: WeakRef and FinalizationRegistry are not available.",
    "FinalizationRegistry": "Hold the value itself: WeakRef and FinalizationRegistry are not available.",
    "FormData": "Build the body as text or with URLSearchParams.", "Blob": "Use Uint8Array.", "File": "Use Uint8Array.",
} | dict.fromkeys("ls cat grep cd echo curl pip npm python python3 bash sudo".split(), _NO_SHELL)  # fmt: skip
"""What to do instead, by the name the sandbox lacks."""

_DECLARED = re.compile(r"\b(?:const|let|var|function\*?|class)\s+([A-Za-z_$][\w$]*)", re.ASCII)
_MOST_CODE = 100_000
_LONGEST_NAME = 100
_SHORTEST_SLIP = 4


def near(name: str, candidates: Iterable[str], likeness: float = 0.8, most: int = 3) -> list[str]:
    """Those of `candidates` that `name` may be a slip of, nearest first; upper and lower case do not count.

    `likeness` is that of `difflib`: 0.6 guesses boldly, which is for a few names that are known to be the program's.
    A name of up to three letters is like too many.
    """
    if not _SHORTEST_SLIP <= len(name) <= _LONGEST_NAME:
        return []
    by_form: dict[str, str] = {}
    for candidate in candidates:
        if len(candidate) <= _LONGEST_NAME:
            by_form.setdefault(_form(candidate), candidate)
    for least in (0.8, likeness):  # Those that are very near leave no room for others.
        found = [by_form[form] for form in difflib.get_close_matches(_form(name), by_form, most, least)]
        if found:
            return [candidate for candidate in found if candidate != name]
    return []


def _form(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower() or name


def declared_in(code: str) -> list[str]:
    """The names a program declares, as far as a glance tells."""
    return list(dict.fromkeys(_DECLARED.findall(code[:_MOST_CODE])))


def listed(names: list[str], most: int = 8) -> str:
    """A few names in words, the rest as a number."""
    shown = [name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…" for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
