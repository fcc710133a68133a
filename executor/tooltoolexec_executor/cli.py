"""The daemon's commands: ``serve``, which joins the ``tooltoolexec`` command, and the embedded daemon's entry."""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import trio

from tooltoolexec_executor import config as settings
from tooltoolexec_executor import standard
from tooltoolexec_executor.config import Config, ConfigError
from tooltoolexec_executor.errors import StartError
from tooltoolexec_protocol.limits import LIMIT_NAMES

_EMBEDDED_VARIABLES = [settings.ENVIRONMENT_PREFIX + name for name in ("REQUIRE_SANDBOX", "JITLESS")]


def _fail(message: str) -> NoReturn:
    """A mistake of the user's: one line, exit 2."""
    click.echo(f"tooltoolexec: {message}", err=True)
    sys.exit(2)


def _limit_value(option: str, text: str) -> float | None:
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ConfigError(f"{option} takes a number or none, not {text!r}.")
    return value


def _limit_options(command: Any) -> Any:
    for name in reversed(LIMIT_NAMES):
        for which, meaning in (
            ("max", "The most a run may ask for"),
            ("default", "What a run gets that asks for none"),
        ):
            command = click.option(f"--{which}-{name.replace('_', '-')}", metavar="N|none", help=f"{meaning}: {name}.")(
                command
            )
    return command


def _limit_groups(options: dict[str, Any]) -> dict[str, Any]:
    """Take the limits' options out of `options`, as the two groups that the file has them in."""
    groups: dict[str, Any] = {}
    for which, group in settings.LIMIT_GROUPS.items():
        for name in LIMIT_NAMES:
            text = options.pop(f"{which}_{name}")
            if text is not None:
                option = f"--{which}-{name.replace('_', '-')}"
                groups.setdefault(group, {})[name] = _limit_value(option, text)
    return groups


@click.command()
@click.option("--listen", multiple=True, metavar="ADDRESS", help="unix:PATH or tcp://HOST:PORT. May be repeated.")
@click.option("--workers", type=int, metavar="N", help="Runs let in while no more compute. Default 32.")
@click.option("--parked", type=int, metavar="N", help="Runs that may wait for tools beside them. Default 256.")
@click.option("--warm", type=int, metavar="N", help="Idle workers kept ready. Default 6.")
@click.option("--queue", type=int, metavar="N", help="Runs that may wait for a worker. Default 1024.")
@click.option("--queue-s", type=float, metavar="S", help="Seconds a run may wait. Default 60.")
@click.option("--connections", type=int, metavar="N", help="Open connections without a run. Default 4096.")
@click.option("--require-sandbox", is_flag=True, default=None, help="Do not start where workers cannot be locked down.")
@click.option("--jitless", is_flag=True, default=None, help="V8 interprets and never compiles: slower, and safer.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A TOML file with these settings.")
@click.option("--check", is_flag=True, help="Check the settings, say what they come to, and exit.")
@_limit_options
def serve(config: Path | None, *, check: bool, **options: Any) -> None:
    """Run programs for clients that connect.

    Every option can also stand in the TOML file (--config) or in the environment (TOOLTOOLEXEC_WORKERS=8). An option
    wins over the environment, the environment over the file.
    """
    standard.open_missing()
    try:
        loaded = settings.load(config, os.environ, _limit_groups(options) | options)
    except ConfigError as error:
        _fail(str(error))
    if not loaded.listen:
        _fail("There is nowhere to listen. Add --listen unix:PATH or --listen tcp://127.0.0.1:PORT.")
    if check:
        click.echo(json.dumps(settings.summary(loaded), indent=2))
        return
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        from tooltoolexec_executor import daemon, launch  # noqa: PLC0415 - loads V8's parts, which --check does not need
    except ImportError as error:
        _fail(f"{error}. Run: pip install 'tooltoolexec[executor]'")
    launch.configure(loaded)
    _run(daemon.serve, loaded)


@click.command()
@click.argument("name", type=click.Choice(["embedded"]))
@click.option("--fd", type=int, required=True)
@click.option("--config", "text", default="{}")
def embedded(name: str, fd: int, text: str) -> None:  # noqa: ARG001
    """The daemon as a child process; it ends when its parent closes the other end of the descriptor.

    Whether workers must be locked down, and may compile, the environment says for embedded daemons as well.
    """
    standard.open_missing()
    from tooltoolexec_executor import daemon, launch  # noqa: PLC0415 - as above

    logging.basicConfig(level=logging.WARNING, format="tooltoolexec: %(message)s", stream=sys.stderr)
    of_the_machine = {name: os.environ[name] for name in _EMBEDDED_VARIABLES if name in os.environ}
    try:
        config: Config = settings.load(None, of_the_machine, json.loads(text))
    except ConfigError as error:
        _fail(str(error))
    launch.configure(config)
    _run(daemon.serve_embedded, config, socket.socket(fileno=fd))


def _run(serving: Callable[..., Awaitable[None]], *args: Any) -> None:
    """Run a daemon; what keeps it from starting is one line, exit 2."""
    why = None
    try:
        trio.run(serving, *args)
    except* StartError as group:
        why = _first(group)
    if why is not None:  # Not from within: some versions of Python make a group of what is raised there.
        _fail(why)


def _first(group: BaseExceptionGroup[Any]) -> str:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else str(first)
