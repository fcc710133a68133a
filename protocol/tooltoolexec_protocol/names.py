"""Which provider names a run may declare, and the identifier a tool's name is reached by."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tooltoolexec_protocol import limits, texts
from tooltoolexec_protocol.messages import ProviderSpec

RESERVED_PROVIDER_NAMES = frozenset(
    {
        "console", "__dispatch", "__stringifyForDispatch", "__parseForDispatch", "__retainHandle",
        "__enter", "__entry", "undefined", "NaN", "Infinity",
    }
)  # fmt: skip
"""Every name the generated entry source reads or binds, and the constants of the global object."""

REFUSED_WORDS = frozenset(
    (
        "await break case catch class const continue debugger default delete do else enum export extends false "
        "finally for function if import in instanceof new null return super switch this throw true try typeof var "
        "void while with yield implements interface let package private protected public static arguments eval async"
    ).split()
)
"""ECMAScript's reserved words (ECMA-262, 12.7.2), those strict mode adds, what it may not bind, and `async`."""

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_BLANK_LIKE = re.compile(r"[-.\s]")
_OUTSIDE = re.compile(r"[^A-Za-z0-9_$]", re.ASCII)


class DeclarationError(ValueError):
    """A provider or tool name is refused. The message is the run's error text."""


def check_providers(providers: Sequence[ProviderSpec]) -> None:
    """Hold every name against the rules, provider by provider in array order.

    Raises:
        DeclarationError: for the first name that breaks one, or for too many of them.
    """
    for count, most, what in (
        (len(providers), limits.PROVIDERS, "providers"),
        (sum(len(provider.tools) for provider in providers), limits.TOOLS, "tools"),
    ):
        if count > most:
            raise DeclarationError(texts.too_many_declared(count, what, most))
    seen: set[str] = set()
    for provider in providers:
        name = provider.name
        if name in RESERVED_PROVIDER_NAMES:
            raise DeclarationError(texts.name_reserved(name))
        if _IDENTIFIER.fullmatch(name) is None:
            raise DeclarationError(texts.name_not_identifier(name))
        if name in REFUSED_WORDS:
            raise DeclarationError(texts.name_refused(name))
        if name in seen:
            raise DeclarationError(texts.name_twice(name))
        seen.add(name)
        tool_aliases(provider)


def tool_aliases(provider: ProviderSpec) -> dict[str, str]:
    """From identifier form to declared name, for the tools whose name is no identifier.

    Raises:
        DeclarationError: two tools would be reached by one identifier.
    """
    by_identifier: dict[str, str] = {}
    for tool in provider.tools:
        identifier = identifier_form(tool)
        if not identifier:
            continue
        other = by_identifier.setdefault(identifier, tool)
        if other != tool:
            raise DeclarationError(texts.tools_collide(provider.name, other, tool, identifier))
    return {identifier: tool for identifier, tool in by_identifier.items() if identifier != tool}


def identifier_form(tool: str) -> str:
    """How a program may write `tool` after a dot; empty when nothing of it can stand there."""
    name = tool
    if _IDENTIFIER.fullmatch(tool) is None:
        name = _OUTSIDE.sub("", _BLANK_LIKE.sub("_", tool))
        if name[:1].isdigit():
            name = "_" + name
    return name + "_" if name in REFUSED_WORDS else name
