"""The executor a command talks to, and the options that say which."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tooltoolexec.cli.problems import Problem
from tooltoolexec.embedded import local
from tooltoolexec.executor import Executor, connect
from tooltoolexec_protocol.errors import ConnectError, ExecutorError

_FILE = click.Path(path_type=Path)
_OPTIONS = (
    click.option(
        "--connect",
        "address",
        metavar="ADDRESS",
        envvar="TOOLTOOLEXEC_CONNECT",
        help="The daemon: unix:PATH, tcp://HOST:PORT or tls://HOST:PORT. Also $TOOLTOOLEXEC_CONNECT.",
    ),
    click.option("--token-file", type=_FILE, metavar="FILE", help="Has the token, bare or as NAME TOKEN."),
    click.option(
        "--ca", type=_FILE, metavar="FILE", help="Who may sign the daemon's certificate. Also $TOOLTOOLEXEC_CA."
    ),
    click.option("--cert", type=_FILE, metavar="FILE", help="Your own certificate. Also $TOOLTOOLEXEC_CERT."),
    click.option("--key", type=_FILE, metavar="FILE", help="Its key. Also $TOOLTOOLEXEC_KEY."),
    click.option("--server-name", metavar="NAME", help="Whom the daemon's certificate is for, if not HOST."),
)
_FILES_IN_ENVIRONMENT = ("ca", "cert", "key")
_NAMES = (*_FILES_IN_ENVIRONMENT, "server_name")
_ARGUMENT = re.compile(rf"(?<![\w/.-])({'|'.join(_NAMES)})(?= is |=PATH|=NAME|\)|: pass)")
"""One of these names in a text, not as a part of a file's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which executor: the options as they were given, each None where it was not."""

    address: str | None
    token_file: Path | None
    ca: Path | None
    cert: Path | None
    key: Path | None
    server_name: str | None

    def executor(self) -> Executor:
        """The executor there, or an embedded one; not open yet.

        Raises:
            Problem: an option is wrong, or a file of theirs cannot be read.
        """
        options: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        if self.address is None:
            for name in (*options, "token_file"):
                if getattr(self, name) is not None:
                    raise Problem(f"{_option(name)} is for a daemon elsewhere: add --connect ADDRESS.")
            return local(workers=1)
        if self.address.lower().startswith("tls:"):  # For others the environment's files mean nothing.
            for name in _FILES_IN_ENVIRONMENT:
                options[name] = options[name] or os.environ.get(f"TOOLTOOLEXEC_{name.upper()}") or None
        try:
            return connect(self.address, token=self._token(), **options)
        except (ValueError, ExecutorError) as error:
            raise Problem(_as_options(str(error))) from None

    def _token(self) -> str:
        if self.token_file is None:
            return os.environ.get("TOOLTOOLEXEC_TOKEN", "").strip()
        try:
            lines = self.token_file.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise Problem(f"Cannot read {self.token_file}: {error.strerror}. Name a file with a token.") from None
        except ValueError:
            raise Problem(f"{self.token_file} is no UTF-8 text. Name a file with a token.") from None
        words = next((line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")), [])
        if len(words) not in (1, 2):
            raise Problem(f"{self.token_file} has no token: write it there, bare or as NAME TOKEN.")
        if words[-1].startswith("sha256:"):
            raise Problem(f"{self.token_file} has the token's hash, which is for the daemon: write the token itself.")
        return words[-1]

    def advice(self, error: Exception) -> str:
        """The error's text with what to do about it."""
        text = _as_options(str(error))
        if isinstance(error, ConnectError) and self.address is not None and not text.endswith("."):
            return f"{text}. Start a daemon there with tooltoolexec serve, or correct the address."
        return text


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets them together, as `place`."""

    @functools.wraps(command)
    def with_place(
        *,
        address: str | None,
        token_file: Path | None,
        ca: Path | None,
        cert: Path | None,
        key: Path | None,
        server_name: str | None,
        **others: Any,
    ) -> Any:
        place = Place(address=address, token_file=token_file, ca=ca, cert=cert, key=key, server_name=server_name)
        return command(place=place, **others)

    for option in reversed(_OPTIONS):
        with_place = option(with_place)
    return with_place


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _as_options(text: str) -> str:
    """A text that names Python's arguments, for the command line."""
    return _ARGUMENT.sub(lambda found: _option(found[0]), text)
