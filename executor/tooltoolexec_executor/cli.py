"""The daemon's commands: ``serve``, which joins the ``tooltoolexec`` command, and the embedded daemon's entry."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import trio

from tooltoolexec_executor import logs, settings, standard
from tooltoolexec_executor.access import Access, warn_of_risks
from tooltoolexec_executor.config import Config, ConfigError
from tooltoolexec_executor.errors import StartError
from tooltoolexec_executor.options import limit_groups, plain_options, serve_options

_EMBEDDED_VARIABLES = [settings.ENVIRONMENT_PREFIX + name for name in ("REQUIRE_SANDBOX", "JITLESS")]


def _fail(message: str) -> NoReturn:
    """A mistake of the user's: one line, exit 2."""
    click.echo(f"tooltoolexec: {message}", err=True)
    sys.exit(2)


@click.command()
@serve_options
@click.option("--config", "file", type=click.Path(path_type=Path), metavar="FILE", help="A TOML file with settings.")
@click.option("--check", is_flag=True, help="Check the settings and their files, say what they come to, and exit.")
def serve(file: Path | None, *, check: bool, **options: Any) -> None:
    """Run programs for clients that connect.

    Every option can also stand in the TOML file (--config) or in the environment (TOOLTOOLEXEC_WORKERS=8). An option
    wins over the environment, the environment over the file. SIGTERM lets runs come to their end, SIGHUP reads the
    settings again.
    """
    standard.open_missing()
    environment = dict(os.environ)

    def read() -> tuple[Config, Access]:
        loaded = settings.load(file, environment, limit_groups(options) | plain_options(options))
        return loaded, Access.of(loaded, environment)

    try:
        config, _access = read()
    except ConfigError as error:
        _fail(str(error))
    if not config.listen and "LISTEN_FDS" not in environment:
        _fail("There is nowhere to listen. Add --listen unix:PATH, tcp://127.0.0.1:PORT or tls://HOST:PORT.")
    if check:
        click.echo(json.dumps(settings.summary(config), indent=2))
        return
    logs.configure(config.log or ("text" if sys.stderr.isatty() else "json"), logging.INFO)
    warn_of_risks(config)
    try:
        from tooltoolexec_executor import daemon, launch  # noqa: PLC0415 - loads V8's parts, which --check does not need
    except ImportError as error:
        _fail(f"{error}. Run: pip install 'tooltoolexec[executor]'")
    launch.configure(config)
    _run(daemon.serve, read)


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

    logs.configure("text", logging.WARNING)
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
    except* (StartError, ConfigError) as group:
        why = _first(group)
    if why is not None:  # Not from within: some versions of Python make a group of what is raised there.
        _fail(why)


def _first(group: BaseExceptionGroup[Any]) -> str:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else str(first)
