"""The script of a run: a `const` for every provider, the hosts' own sources, then the program itself.

It calls `__enter`, which the runtime (runtime/run.js) defines for this one call, with the job, which says what the run
may do, and with a function of its entry object; that function declares the providers and gives the program to the
runtime. Every name the script reads or binds is reserved (protocol/names.py); a test derives the list from here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tooltoolexec_protocol.messages import ProviderSpec

# Two kinds of brackets around the program: text that closes one of them by mistake does not compile. Text that closes
# them on purpose cannot get out of the label's block, because its end names a label that no author could know.
# V8 compiles a function in parentheses at once; any other it first only checks.
_BEGIN = "__entry.run((() => {{ {label}: {{ return [(\n"
_END = "\n)][0]; break {label}; }} }})) }});\n//# sourceURL=program.js"
_BEGIN_BODY = "__entry.run(() => async () => {{ {label}: {{\n"
_END_BODY = "\n{tail} break {label}; }} }}, {lines}, {line}, {column}) }});\n//# sourceURL=program.js"
LINES_AFTER = 2
"""How many of the script's lines stand after the program's."""


class Script(NamedTuple):
    """What V8 compiles for a run, in UTF-8, and where things are in it.

    Attributes:
        text: the script. A lone surrogate in it has become an escape, which means the same.
        lines_before: how many lines stand before the program's first.
        job_end: where the job ends, in bytes, when there are host sources; else 0. `check_script` needs it.
        label: of the block around the program; unguessable.
    """

    text: bytes
    lines_before: int
    job_end: int
    label: str


def run_script(providers: Sequence[ProviderSpec], code: str, job: Mapping[str, Any]) -> Script:
    """The script of a run; `job` is what runtime/run.js reads of it."""
    label = f"_{os.urandom(8).hex()}"
    head = entry_head(providers) + _BEGIN.format(label=label)
    lines_before = head.count("\n")
    opening = f'"use strict"; __enter({_literal({**job, "linesBefore": lines_before})}'
    has_sources = any(p.prelude is not None or p.proxy_source is not None for p in providers)
    text = f"{opening}, {head}{code}{_END.format(label=label)}".encode("utf-8", "backslashreplace")
    return Script(text, lines_before, len(opening.encode()) if has_sources else 0, label)


def program_in(script: bytes, label: str) -> bytes:
    """The program of a script that `run_script` made."""
    begin = _BEGIN.format(label=label).encode()
    return script[script.index(begin) + len(begin) : -len(_END.format(label=label))]


def body_script(script: bytes, label: str, body: bytes, tail: str, place: tuple[int, int, int]) -> bytes:
    """`script` with statements in the place of its one expression: the program is the body of an async function.

    Args:
        script: what `run_script` made.
        label: its label.
        body: the statements.
        tail: statements of ours after them.
        place: how many lines the program has; the line and the column before which `return ` was inserted, or zeros.
    """
    lines, line, column = place
    head = script[: script.index(_BEGIN.format(label=label).encode())]
    end = _END_BODY.format(label=label, tail=tail, lines=lines, line=line, column=column)
    return head + _BEGIN_BODY.format(label=label).encode() + body + end.encode()


def _literal(job: Mapping[str, Any]) -> str:
    """`job` as JSON in a text literal: V8 reads it faster than an object literal it meets but once."""
    try:
        return msgspec.json.encode(msgspec.json.encode(job).decode()).decode()
    except UnicodeEncodeError:  # What a host wrote holds a lone surrogate, which only an escape can say.
        return json.dumps(json.dumps(job))


def check_script(script: bytes, job_end: int) -> bytes:
    """A script that has the host's sources checked one by one and runs nothing else, for when the whole one fails."""
    return script[:job_end] + b", () => {});"


def entry_head(providers: Sequence[ProviderSpec]) -> str:
    """What stands before the program. Host sources stand as given; the runtime compiles each on its own first."""
    lines = [
        "function (__entry) {",  # No arrow: `this` is undefined in a program, as in a module.
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
