"""`tooltoolexec status`: what a daemon is doing, once or all the time."""

from __future__ import annotations

import anyio
import click

from tooltoolexec.cli.opening import Place, place_options
from tooltoolexec.cli.problems import Problem, harmless
from tooltoolexec.cli.progress import Progress
from tooltoolexec.cli.report import report_json, report_table
from tooltoolexec.cli.watch import watch
from tooltoolexec_protocol.errors import ExecutorError
from tooltoolexec_protocol.messages import Report


@click.command()
@place_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with --watch one a line.")
@click.option("--watch", "is_watched", is_flag=True, help="Go on, once a second, until Ctrl-C.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="With --watch: stop after so many.")
def status(place: Place, *, as_json: bool, is_watched: bool, count: int | None) -> None:
    """Say what a daemon is doing.

    With --watch a terminal shows it in place and a pipe gets a line each second, also while the daemon is gone.
    """
    if place.address is None:
        raise Problem("Say which daemon: --connect with unix:PATH, tcp://HOST:PORT or tls://HOST:PORT.")
    if count is not None and not is_watched:
        raise Problem("--count says how long to watch: add --watch.")
    try:
        if is_watched:
            anyio.run(watch, place, as_json, count)
            return
        with Progress() as progress:
            progress.now = lambda: f"asking {place.address}"
            report = anyio.run(_ask, place)
    except ExecutorError as error:
        raise Problem(place.advice(error)) from None
    except KeyboardInterrupt:
        if not is_watched:
            raise
        return  # It is the way to leave.
    click.echo(report_json(report) if as_json else harmless(report_table(report)))


async def _ask(place: Place) -> Report:
    async with place.executor() as executor:
        return await executor.status()
