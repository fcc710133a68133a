"""The executor a command talks to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tooltoolexec.cli.problems import Problem
from tooltoolexec.embedded import local
from tooltoolexec.executor import Executor, connect
from tooltoolexec_protocol.errors import AddressError, ConnectError, ExecutorError

connect_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--connect",
    "address",
    metavar="ADDRESS",
    envvar="TOOLTOOLEXEC_CONNECT",
    help="The daemon's address: unix:PATH or tcp://HOST:PORT. Also $TOOLTOOLEXEC_CONNECT.",
)


def executor_at(address: str | None) -> Executor:
    """The executor at `address`, or an embedded one; not open yet.

    Raises:
        Problem: `address` is none.
    """
    if address is None:
        return local(workers=1)
    try:
        return connect(address)
    except (AddressError, ExecutorError) as error:
        raise Problem(str(error)) from None


def advice(error: Exception, address: str | None) -> str:
    """The error's text with what to do about it."""
    if isinstance(error, ConnectError) and address is not None:
        return f"{error}. Start a daemon there with tooltoolexec serve, or correct the address."
    return str(error)
