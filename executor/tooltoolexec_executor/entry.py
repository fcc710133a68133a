"""The source of a run's entry scope: a `const` for every provider, the hosts' own sources, the way to the program.

It evaluates to a function of the runtime's entry object (runtime/providers.js), which gives a function that evaluates
the program's text inside the scope. Every name it reads or binds is reserved (protocol/names.py); a test derives the
list from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from tooltoolexec_protocol.messages import ProviderSpec

ENTRY_TAIL = "return (__program) => eval(__program); })"
"""Ends the source where the program is evaluated apart; without host sources the runtime puts the program here."""


def entry_source(providers: Sequence[ProviderSpec]) -> str:
    """The generated source, whole."""
    return entry_head(providers) + ENTRY_TAIL


def entry_head(providers: Sequence[ProviderSpec]) -> str:
    """The source up to its end. Host sources stand as they were given; the runtime compiles each on its own first.

    Without host sources it is one line, so a program that follows it begins on the second.
    """
    lines = [
        '"use strict"; ((__entry) => {',
        "const { console, __dispatch, __stringifyForDispatch, __parseForDispatch, __retainHandle } = __entry;",
    ]
    for index, provider in enumerate(providers):
        if provider.proxy_source is None:
            lines.append(f"const {provider.name} = __entry.proxy({index});")
        else:
            # `source` tells the runtime whose code runs, so that a throw is laid at the right door.
            lines.append(f"__entry.source({index});\n{provider.proxy_source}\n")
    for index, provider in enumerate(providers):
        if provider.prelude is not None:
            lines.append(f"__entry.source({index}); (() => {{\n{provider.prelude}\n}})();")
    return " ".join(lines) + " "
