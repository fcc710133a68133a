"""`tooltoolexec status`: what a daemon is doing."""

from __future__ import annotations

import json

import anyio
import click

from tooltoolexec.cli.opening import advice, connect_option, executor_at
from tooltoolexec.cli.problems import Problem, harmless
from tooltoolexec.cli.progress import Progress
from tooltoolexec_protocol.errors import ExecutorError
from tooltoolexec_protocol.messages import Report


@click.command()
@connect_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(address: str | None, *, as_json: bool) -> None:
    """Say what a daemon is doing."""
    if address is None:
        raise Problem("Say which daemon: --connect unix:PATH or --connect tcp://HOST:PORT.")
    try:
        with Progress() as progress:
            progress.now = lambda: f"asking {address}"
            report = anyio.run(_ask, address)
    except ExecutorError as error:
        raise Problem(advice(error, address)) from None
    click.echo(json.dumps(_fields(report)) if as_json else harmless(_table(report)))


async def _ask(address: str) -> Report:
    async with executor_at(address) as executor:
        return await executor.status()


def _fields(report: Report) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__struct_fields__}


def _table(report: Report) -> str:
    ends = ", ".join(f"{count} {kind}" for kind, count in sorted(report.runs.items())) or "none yet"
    return (
        f"daemon   {report.server}, process {report.pid}, up {_span(report.uptime_s)}\n"
        f"runs     {report.running_now - report.parked_now} of {report.workers} computing, "
        f"{report.parked_now} waiting for tools\n"
        f"workers  {report.idle_now} idle and ready\n"
        f"queue    {report.queued_now} of {report.queue}\n"
        f"ended    {ends}"
    )


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")) if count]
    return " ".join(parts[:2]) or "0 s"
