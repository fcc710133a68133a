"""The command-line options of ``serve``: one for each setting, and two for each limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import click

from tooltoolexec_executor.config import Config, ConfigError
from tooltoolexec_executor.settings import LIMIT_GROUPS
from tooltoolexec_protocol.limits import LIMIT_NAMES

_DEFAULTS = Config()
_KINDS: dict[str, dict[str, Any]] = {
    "": {"is_flag": True, "default": None},
    "N": {"type": int},
    "S": {"type": float},
}
"""By what a value is called; any other is a text."""
_SETTINGS = (
    ("listen", "ADDRESS", "unix:PATH, tcp://HOST:PORT or tls://HOST:PORT. May be repeated."),
    ("socket_mode", "MODE", "Octal mode of Unix sockets. Default 600."),
    ("socket_group", "GROUP", "The group that owns them."),
    ("allow_users", "USER", "Who else may connect to them, by name or number. May be repeated."),
    ("token_file", "FILE", "Tokens for TCP, one NAME TOKEN or NAME sha256:HEX a line."),
    ("tls_cert", "FILE", "The certificate for tls://, with its chain, in PEM."),
    ("tls_key", "FILE", "Its key, in PEM."),
    ("tls_client_ca", "FILE", "Clients need a certificate that this authority signed."),
    ("insecure_no_token", "", "TCP clients need no token."),
    ("insecure_no_tls", "", "tcp:// may be reached from other machines, in the clear."),
    ("insecure_any_user", "", "Unix sockets may let in every user of this machine."),
    ("workers", "N", "Runs let in while no more compute."),
    ("parked", "N", "Runs that may wait for tools beside them."),
    ("runs_per_client", "N", "Of both, one client's."),
    ("warm", "N", "Idle workers kept ready."),
    ("queue", "N", "Runs that may wait for a worker."),
    ("queue_per_client", "N", "Of these, one client's."),
    ("queue_s", "S", "Seconds a run may wait."),
    ("connections", "N", "Open connections without a run."),
    ("connections_per_client", "N", "Of these, one client's."),
    ("idle_s", "S", "Seconds such a connection may be silent."),
    ("retained_idle_s", "S", "Seconds a retained run may go unused."),
    ("grace_s", "S", "Seconds that runs may go on after SIGTERM."),
    ("metrics", "HOST:PORT", "Where to answer /metrics, /healthz and /readyz by HTTP."),
    ("log", "json|text", "The form of the log. Default: text on a terminal, else JSON."),
    ("require_sandbox", "", "Do not start where workers cannot be locked down."),
    ("jitless", "", "V8 interprets and never compiles: slower, and safer."),
)
_SINGULAR = {"listen": "listen", "allow_users": "allow-user"}
"""Options that may be repeated."""


def serve_options(command: Any) -> Any:
    """Give `command` all of them, under the settings' names."""
    for name, value, meaning in reversed(_SETTINGS):
        option = f"--{_SINGULAR.get(name, name.replace('_', '-'))}"
        default = f" Default {getattr(_DEFAULTS, name):g}." if value in ("N", "S") else ""
        kind: Any = _KINDS.get(value, {}) | {"multiple": name in _SINGULAR}
        if value:
            kind["metavar"] = value
        command = click.option(option, name, help=meaning + default, **kind)(command)
    return _limit_options(command)


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are settings of their own."""
    return {name: options[name] for name, _value, _meaning in _SETTINGS}


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


def limit_groups(options: Mapping[str, Any]) -> dict[str, Any]:
    """The limits' options, as the two groups that the file has them in.

    Raises:
        ConfigError: one is neither a number nor none.
    """
    groups: dict[str, Any] = {}
    for which, group in LIMIT_GROUPS.items():
        for name in LIMIT_NAMES:
            text = options.get(f"{which}_{name}")
            if text is not None:
                option = f"--{which}-{name.replace('_', '-')}"
                groups.setdefault(group, {})[name] = _limit_value(option, text)
    return groups


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
