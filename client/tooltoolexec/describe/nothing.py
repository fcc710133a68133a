"""What to tell a model whose program worked and shows nothing: no value and no line."""

from __future__ import annotations

import re

_MOST_CODE = 100_000
_NO_VALUE = "The program gave no value and logged nothing. End it with return and the value you want to see."
_ON_PURPOSE = "It returned null or undefined."
_RETURN = re.compile(r"(?<![\w$.])return\b")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~).*$", re.MULTILINE)
# Functions that are declared at the beginning of a line: those within others are indented.
_FUNCTION = re.compile(r"^(?:export\s+)?(?:async\s+)?function\b\s*+(?:\*\s*+)?([\w$]+)", re.MULTILINE)
_FUNCTION_VALUE = re.compile(
    r"^(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\b\s*)?(?:function\b|\([^()]*\)\s*(?::[^=\n]*)?=>|[\w$]+\s*=>)",
    re.MULTILINE,
)
# A line that begins anything but a function, ends one, or is a comment.
_STATEMENT = re.compile(r"^(?!(?:export\s+)?(?:async\s+)?function\b|//|/\*|\*)[^\s})\]]", re.MULTILINE)


def no_value(code: str) -> str:
    """Why the program `code` may have shown nothing, and what to do."""
    code = _fenced(code[:_MOST_CODE])
    name = _never_called(code)
    if name:
        return f"{name} is declared and never called: end with `return await {name}()`."
    return _ON_PURPOSE if _RETURN.search(code) else _NO_VALUE


def _fenced(code: str) -> str:
    parts = _FENCE.split(code, maxsplit=2)
    return parts[1] if len(parts) > 1 else code


def _never_called(code: str) -> str:
    """The function that the program is about and that nothing calls, empty where there is none."""
    values = _FUNCTION_VALUE.findall(code)
    if not values and not _STATEMENT.search(code):
        return ""  # Declarations of functions alone: one of them was called.
    declared = values + _FUNCTION.findall(code)
    name = "main" if "main" in declared else declared[-1] if declared else ""
    uses = re.findall(rf"(?<![\w$.]){re.escape(name)}(?![\w$])", code) if name else []
    return name if len(uses) == 1 else ""
