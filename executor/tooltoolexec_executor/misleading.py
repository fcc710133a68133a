"""Which programs V8 may compile as something else than was meant. They must be looked into before V8 gets them.

V8 takes a fence of backticks for a tagged template, and type arguments of keywords alone for comparisons.
"""

from __future__ import annotations

import re

KEYWORD = rb"(?:any|bigint|boolean|never|number|object|string|symbol|undefined|unknown|void)"
"""Matches what TypeScript takes for a type, never for a name that the program gave one."""
_KEYWORDS_OPEN = re.compile(rb"<\s*+" + KEYWORD + rb"\s*+[>,|&\[]")


def may_mislead(program: bytes) -> bool:
    """Whether `program`, in UTF-8, may be such a one. One cheap pass."""
    return b"```" in program or may_be_typescript(program)


def may_be_typescript(program: bytes) -> bool:
    """Whether `program` may hold type arguments of keywords alone."""
    return _KEYWORDS_OPEN.search(program) is not None
