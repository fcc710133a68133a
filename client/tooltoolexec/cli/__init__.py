"""The command `tooltoolexec`.

Exit codes: 0 it worked; 1 the program failed; 2 the command cannot be carried out; 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from tooltoolexec.cli.commands import commands
from tooltoolexec.cli.problems import tell

__all__ = ["main"]

_CANNOT_WRITE = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EDQUOT, errno.EFBIG)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command on `args`, by default the process's own. Whatever the user got wrong is one line and exit 2."""
    _fill_standard_descriptors()
    try:
        code = commands.main(args, prog_name="tooltoolexec", standalone_mode=False)
        if sys.stdout is not None:  # It is None where the caller closed it.
            sys.stdout.flush()
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "tooltoolexec"
        tell(f"{error.format_message()} See {path} --help.")
        sys.exit(2)
    except click.ClickException as error:
        tell(error.format_message())
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except OSError as error:
        if sys.stdout is None or sys.stdout.closed or error.errno not in _CANNOT_WRITE:
            raise
        # Python flushes once more at its exit, and would say the same in its own words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        tell(f"Cannot write to standard output: {error.strerror}.")
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _fill_standard_descriptors() -> None:
    """Open what the caller closed (`2>&-`) on nothing: a socket would get its number, and a child's errors with it."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
