"""The options that bound a run, one for each field of `Limits`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from tooltoolexec.cli.problems import Problem
from tooltoolexec_protocol.limits import LIMIT_NAMES, Limits

_HELP = {
    "wall_s": "Seconds the run may take, waiting for tools included.",
    "cpu_s": "Seconds of CPU time.",
    "memory_mb": "MiB of memory.",
    "payload_bytes": "Bytes of one call's arguments, and of the result.",
    "log_bytes": "Bytes of log lines.",
    "calls": "Tool calls.",
}


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each limit."""
    for name in reversed(LIMIT_NAMES):
        command = click.option(f"--{_dashed(name)}", name, metavar="N|none", help=_HELP[name])(command)
    return command


def limits_of(texts: dict[str, str | None]) -> Limits:
    """The limits that the options ask for.

    Raises:
        Problem: one is no number, or out of range.
    """
    values = {name: _number(name, text) for name, text in texts.items() if text is not None}
    try:
        return Limits(**values)
    except ValueError as error:
        raise Problem(f"{error}. Correct the option.") from None


def _number(name: str, text: str) -> float:
    if text == "none":
        return math.inf
    try:
        return float(text)
    except ValueError:
        raise Problem(f"--{_dashed(name)} takes a number or none, not {text!r}.") from None


def _dashed(name: str) -> str:
    return name.replace("_", "-")
