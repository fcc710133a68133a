"""`tooltoolexec run`: one program, its result on standard output, everything else on standard error."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import NoReturn

import anyio
import click

from tooltoolexec.cli.limits import limit_options, limits_of
from tooltoolexec.cli.opening import Place, place_options
from tooltoolexec.cli.problems import Problem, harmless, tell
from tooltoolexec.cli.progress import Progress
from tooltoolexec.cli.show import failure_text, result_text, run_text
from tooltoolexec.cli.toolsfile import load_providers
from tooltoolexec.provider import Provider
from tooltoolexec.run import Run
from tooltoolexec_protocol.errors import ExecutorError
from tooltoolexec_protocol.limits import Limits


@click.command()
@click.argument("file")
@click.option("--tools", type=click.Path(path_type=Path), metavar="FILE.py", help="Python functions for the program.")
@click.option("--provider", metavar="NAME", help="What the program calls them. Default tools.")
@place_options
@click.option("--json", "as_json", is_flag=True, help="Print the whole run as one JSON object.")
@limit_options
def run(
    file: str, tools: Path | None, provider: str | None, place: Place, *, as_json: bool, **limits: str | None
) -> int:
    """Run the JavaScript program in FILE (- for standard input) and print its result as JSON.

    Without --connect it runs in an executor of its own. Console lines and a failure go to standard error. The public
    functions of the --tools file become one provider; a list PROVIDERS in it replaces that.

    Exit code 0: it worked; 1: the program failed; 2: it could not be run; 130: interrupted.
    """
    bounds = limits_of(limits)
    job = _Job(place, bounds, is_silent=as_json)
    if provider is not None and tools is None:
        raise Problem("--provider names the functions of a tools file: add --tools FILE.py.")
    job.code = _read(file)
    # Standard output is the result's: what tools print goes where logs go.
    with Progress() as progress, redirect_stdout(sys.stderr):
        progress.now = lambda: f"loading {tools}"
        job.providers = [] if tools is None else load_providers(tools, provider)
        progress.now = lambda: job.state
        outcome = _see_through(job)
    return _show(outcome, file, as_json=as_json)


class _Job:
    """The run, and what it waits for."""

    def __init__(self, place: Place, limits: Limits, *, is_silent: bool) -> None:
        self.place = place
        self._executor = place.executor()
        self.code = ""
        self.providers: Sequence[Provider] = ()
        self._limits = limits
        self._on_log = None if is_silent else _print_log
        self._is_open = False

    @property
    def state(self) -> str:
        """What the run waits for now."""
        if not self._is_open:
            return "connecting"
        return "waiting for a worker" if self._executor.waiting else "running"

    async def run(self) -> Run:
        async with self._executor as executor:
            self._is_open = True
            return await executor.execute(self.code, self.providers, limits=self._limits, on_log=self._on_log)


def _see_through(job: _Job) -> Run:
    try:
        return anyio.run(job.run)
    except (ExecutorError, ValueError) as error:  # ValueError: a program larger than the daemon reads.
        raise Problem(job.place.advice(error)) from None
    except KeyboardInterrupt:
        _leave_interrupted()


def _leave_interrupted() -> NoReturn:
    if threading.active_count() == 1:
        raise KeyboardInterrupt
    # A tool still runs in a thread that nothing can stop, and Python would wait for it.
    tell("Interrupted.")
    sys.stderr.flush()
    os._exit(130)


def _print_log(_level: str, text: str) -> None:
    click.echo(harmless(text), err=True)


def _show(outcome: Run, file: str, *, as_json: bool) -> int:
    if as_json:
        click.echo(run_text(outcome))
        return 0 if outcome.ok else 1
    for warning in outcome.warnings:
        click.echo(f"Warning: {harmless(warning)}", err=True)
    if outcome.failure is not None:
        click.echo(harmless(failure_text(outcome.failure, file)), err=True)
        return 1
    click.echo(result_text(outcome.result))
    return 0


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Problem(
            f"Cannot read {file}: {error.strerror}. Name a JavaScript file, or - for standard input."
        ) from None
    except ValueError:
        raise Problem(f"Cannot read {file!r}: that is no file name.") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(f"{file} is no UTF-8 text (byte {error.start + 1}). Save it as UTF-8.") from None
