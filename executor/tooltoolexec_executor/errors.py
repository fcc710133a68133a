"""What keeps a daemon from starting. Each message is one line that says what to do."""

from __future__ import annotations


class StartError(Exception):
    """The root of them; the command prints the message and exits with 2."""


class ListenError(StartError):
    """An address cannot be listened on."""


class UpgradedError(StartError):
    """The package's files are no longer those that this daemon runs."""


class NoWorkersError(StartError):
    """Workers cannot start on this machine; what they wrote to standard error says why."""
