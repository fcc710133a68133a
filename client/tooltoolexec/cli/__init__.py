"""The command `tooltoolexec`.

Exit codes: 0 it worked; 1 the program failed; 2 the command cannot be carried out; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from tooltoolexec.cli.commands import commands
from tooltoolexec.cli.problems import tell

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command on `args`, by default the process's own. Whatever the user got wrong is one line and exit 2."""
    try:
        code = commands.main(args, prog_name="tooltoolexec", standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "tooltoolexec"
        tell(f"{error.format_message()} See {path} --help.")
        sys.exit(2)
    except click.ClickException as error:
        tell(error.format_message())
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)
