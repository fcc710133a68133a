"""`tooltoolexec status --watch`: a daemon's report once a second, in place on a terminal and line by line elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
import time
from typing import Protocol

import anyio
import click

from tooltoolexec.cli.opening import Place
from tooltoolexec.cli.problems import harmless
from tooltoolexec.cli.progress import is_animated
from tooltoolexec.cli.report import report_json, report_line, report_table
from tooltoolexec_protocol.errors import ExecutorError
from tooltoolexec_protocol.messages import Report

_PERIOD_S = 1.0
_UP_AND_ERASE = "\x1b[{lines}A\r\x1b[J"


async def watch(place: Place, as_json: bool, count: int | None) -> None:
    """Show what the daemon at `place` is doing, `count` times or for ever. One that goes away is asked again.

    Raises:
        ExecutorError: nothing answers at the first time.
    """
    view: _View = _JsonLines() if as_json else _Screen() if is_animated(sys.stdout) else _Lines()
    async with place.executor() as executor:
        while True:
            due = anyio.current_time() + _PERIOD_S
            try:
                view.show(await executor.status())
            except ExecutorError as error:
                view.show_gone(harmless(" ".join(str(error).split())))
            count = None if count is None else count - 1
            if count == 0:
                return
            await anyio.sleep_until(due)


class _View(Protocol):
    def show(self, report: Report) -> None:
        """The daemon answered."""

    def show_gone(self, reason: str) -> None:
        """It did not."""


class _JsonLines:
    def show(self, report: Report) -> None:
        click.echo(report_json(report))

    def show_gone(self, reason: str) -> None:
        click.echo(json.dumps({"error": reason}))


class _Lines:
    def show(self, report: Report) -> None:
        click.echo(f"{time.strftime('%H:%M:%S')} {harmless(report_line(report))}")

    def show_gone(self, reason: str) -> None:
        click.echo(f"{time.strftime('%H:%M:%S')} no answer: {reason}")


class _Screen:
    """The table, drawn over the last one. No line is longer than the terminal: it would take two and stay behind."""

    def __init__(self) -> None:
        self._last = "daemon   unknown"
        self._drawn = 0

    def show(self, report: Report) -> None:
        self._last = harmless(report_table(report))
        self._draw(self._last)

    def show_gone(self, reason: str) -> None:
        self._draw(
            f"{self._last}\ngone     {reason}\n         It is asked again every second; the rest is what it said last."
        )

    def _draw(self, text: str) -> None:
        columns, rows = shutil.get_terminal_size()
        lines = [line[: columns - 1] for line in text.split("\n")][: max(rows - 1, 1)]
        erase = _UP_AND_ERASE.format(lines=self._drawn) if self._drawn else ""
        self._drawn = len(lines)
        click.echo(erase + "\n".join(lines), color=True)
