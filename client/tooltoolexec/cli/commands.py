"""The command group: the client's own commands, and those that other parts add under `tooltoolexec.commands`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

from tooltoolexec.cli.problems import NEEDS_EXECUTOR, Interrupted, Problem
from tooltoolexec.cli.run import run
from tooltoolexec.cli.status import status
from tooltoolexec.version import __version__

_GROUP = "tooltoolexec.commands"


class _Commands(click.Group):
    """Looks the added commands up when they are asked for, so that `run` never loads the daemon's code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *entry_points(group=_GROUP).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        return next((_load(entry) for entry in entry_points(group=_GROUP, name=cmd_name)), None)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("Interrupted.") from None


def _load(entry: EntryPoint) -> click.Command:
    try:
        command = entry.load()
    except ImportError:
        return _stand_in(entry.name)
    return command if isinstance(command, click.Command) else _stand_in(entry.name)


def _stand_in(name: str) -> click.Command:
    """What stands for a command whose part of the distribution is not installed."""

    def explain() -> None:
        raise Problem(NEEDS_EXECUTOR)

    return click.Command(
        name,
        callback=explain,
        help=f"Not available. {NEEDS_EXECUTOR}",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


@click.group(cls=_Commands, invoke_without_command=True)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Run model-written JavaScript against your own tools."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


commands.add_command(run)
commands.add_command(status)
