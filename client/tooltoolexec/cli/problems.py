"""What the command says when it cannot do what it was asked."""

from __future__ import annotations

import re

import click

NEEDS_EXECUTOR = "The executor is not installed. Run: pip install 'tooltoolexec[executor]'"

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Problem(click.ClickException):
    """Ends the command with one line on standard error that says what to do."""

    exit_code = 2


class Interrupted(Problem):
    """Ctrl-C."""

    exit_code = 130


def harmless(text: str) -> str:
    """`text` without anything a terminal would obey: a program wrote it, and nobody knows why."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def tell(message: str) -> None:
    """Write `message` to standard error as one line."""
    click.echo(f"tooltoolexec: {harmless(' '.join(message.split()))}", err=True)
