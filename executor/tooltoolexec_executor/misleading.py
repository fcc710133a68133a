"""Programs that V8 must not be asked about first, because it may read something else than was meant.

It takes a fence of backticks for a tagged template, and type arguments of keywords alone for comparisons.
"""

from __future__ import annotations

import re

KEYWORD = rb"(?:any|bigint|boolean|never|number|object|string|symbol|undefined|unknown|void)"
"""Matches TypeScript's names of types that are no names of values."""
_KEYWORDS_OPEN = re.compile(rb"<\s*+" + KEYWORD + rb"\s*+[>,|&\[]")


def may_mislead(program: bytes) -> bool:
    """Whether `program`, in UTF-8, may be such a one. One cheap pass."""
    return b"```" in program or may_be_typescript(program)


def may_be_typescript(program: bytes) -> bool:
    """Whether `program` may hold type arguments of keywords alone."""
    return _KEYWORDS_OPEN.search(program) is not None
