"""All settings of a daemon, each with its default, and which values and combinations of them can work."""

from __future__ import annotations

import math
import os
import stat
from typing import Literal

import msgspec

from tooltoolexec_protocol import limits
from tooltoolexec_protocol.address import Address, TcpAddress, UnixAddress, parse_address
from tooltoolexec_protocol.errors import AddressError
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import WireLimits

_LEAST = {
    "workers": 1,
    "parked": 0,
    "warm": 1,
    "queue": 0,
    "queue_s": 0,
    "connections": 1,
    "connections_per_client": 1,
    "runs_per_client": 1,
    "queue_per_client": 0,
    "retained_idle_s": 0,
    "grace_s": 0,
    "idle_s": 1,
}
_SECONDS = ("queue_s", "grace_s", "idle_s", "retained_idle_s")
_OTHERS_MAY_WRITE = 0o002


class ConfigError(ValueError):
    """A setting that cannot work. The message names it and says what to write."""


def check_file(setting: str, file: str) -> None:
    """See that `file` can be read to its end: a reload reads it while the daemon serves, and must not wait for it.

    Raises:
        ConfigError: it cannot, or is none.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{setting}: cannot read {file}: {reason}.") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError(f"{setting}: {file} is no file.")
    finally:
        os.close(descriptor)


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a daemon.

    Attributes:
        listen: addresses to listen on.
        socket_mode: who may connect to Unix sockets, as an octal mode.
        socket_group: the group that owns them, by name or number.
        allow_users: who else than the daemon's own user may connect to them, by name or number; empty: whom the mode
            lets in.
        token_file: one `NAME TOKEN` or `NAME sha256:HEX` a line.
        tls_cert: the PEM file of the certificate (and its chain) for tls:// addresses.
        tls_key: the PEM file of its key.
        tls_client_ca: the PEM file of the authority that must have signed a client's certificate.
        insecure_no_token: TCP clients need no token.
        insecure_no_tls: tcp:// may be listened on off loopback, in the clear.
        insecure_any_user: Unix sockets may let in every user of the machine.
        workers: how many runs may compute at once.
        parked: how many more may wait for their tools.
        runs_per_client: how many runs of one client may be under way.
        warm: how many idle workers are kept ready beside them.
        queue: how many runs may wait for a worker.
        queue_per_client: how many of one client may.
        queue_s: how long one may wait, in seconds.
        connections: how many connections may be open before their run has begun.
        connections_per_client: how many of one client may.
        idle_s: how long a greeted connection may be silent before its run, in seconds.
        retained_idle_s: how long a retained run may go unused before it is ended, in seconds.
        grace_s: how long runs may go on once the daemon is told to end, in seconds.
        metrics: HOST:PORT of /metrics, /healthz and /readyz.
        log: the form of the log's lines; by default text on a terminal and JSON elsewhere.
        require_sandbox: refuse to start where a required layer of the lock-down cannot be had.
        jitless: V8 interprets and never compiles, so no memory of a worker may become executable.
        defaults: limits of a run that asks for none, see `Limits`.
        maxima: the most a run may ask for; null grants no bound.
    """

    listen: list[str] = []
    socket_mode: str = "600"
    socket_group: str | None = None
    allow_users: list[str] = []
    token_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    insecure_no_token: bool = False
    insecure_no_tls: bool = False
    insecure_any_user: bool = False
    workers: int = 32
    parked: int = 256
    runs_per_client: int = 256
    warm: int = 6
    queue: int = 1024
    queue_per_client: int = 512
    queue_s: float = 60.0
    connections: int = 4096
    connections_per_client: int = 1024
    idle_s: float = 300.0
    retained_idle_s: float = 60.0
    grace_s: float = 30.0
    metrics: str | None = None
    log: Literal["json", "text"] | None = None
    require_sandbox: bool = False
    jitless: bool = False
    defaults: WireLimits = WireLimits()
    maxima: WireLimits = WireLimits()

    def default_limits(self) -> EffectiveLimits:
        """The defaults with what the configuration leaves out filled in."""
        return _filled(limits.DEFAULTS, self.defaults)

    def maximum_limits(self) -> EffectiveLimits:
        """The maxima with what the configuration leaves out filled in."""
        return _filled(limits.MAXIMA, self.maxima)

    @property
    def mode(self) -> int:
        """`socket_mode` as a number."""
        return int(self.socket_mode, 8)

    def addresses(self) -> list[Address]:
        """Where to listen.

        Raises:
            ConfigError: one is no address, or is there twice.
        """
        try:
            addresses = [parse_address(text) for text in self.listen]
        except AddressError as error:
            raise ConfigError(f"listen: {error}") from None
        for number, address in enumerate(addresses):
            if address in addresses[:number] and not (isinstance(address, TcpAddress) and address.port == 0):
                raise ConfigError(f"listen: {address} is there twice. Name it once.")
        return addresses

    def metrics_address(self) -> TcpAddress | None:
        """Where to answer over HTTP.

        Raises:
            ConfigError: it is no address.
        """
        if self.metrics is None:
            return None
        try:
            address = parse_address(f"tcp://{self.metrics}")
        except AddressError:
            raise ConfigError(f"metrics: write HOST:PORT such as 127.0.0.1:9464, not {self.metrics!r}.") from None
        assert isinstance(address, TcpAddress)
        return address

    def check_each(self) -> None:
        """Raises ConfigError for the first setting whose value cannot work, whatever the others are."""
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not value >= least:
                raise ConfigError(f"{name} must be at least {least}, not {value}.")
        for name in _SECONDS:
            if getattr(self, name) == math.inf:
                raise ConfigError(f"{name} must be a number of seconds, not inf: nothing here waits for ever.")
        if not (self.socket_mode.isascii() and self.socket_mode.isdigit() and len(self.socket_mode) <= 4):  # noqa: PLR2004 - "0660"
            raise ConfigError(f"socket_mode: write an octal mode such as 660, not {self.socket_mode!r}.")
        try:
            mode = self.mode
        except ValueError:
            raise ConfigError(f"socket_mode: write an octal mode such as 660, not {self.socket_mode!r}.") from None
        if not 0o600 <= mode <= 0o777:  # noqa: PLR2004
            raise ConfigError(f"socket_mode: a mode from 600 to 777, not {self.socket_mode}: its owner must have it.")
        self.addresses()
        self.metrics_address()

    def check_together(self) -> None:
        """Raises ConfigError for the first setting that cannot work with the others."""
        if (self.tls_cert is None) != (self.tls_key is None):
            given, missing = ("tls_cert", "tls_key") if self.tls_key is None else ("tls_key", "tls_cert")
            raise ConfigError(f"{given} without {missing}: TLS needs both files.")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ConfigError("tls_client_ca without tls_cert and tls_key: there is no TLS that could ask for it.")
        for address in self.addresses():
            self.check_address(address)

    def check_address(self, address: Address, mode: int | None = None) -> None:
        """Raises ConfigError when other settings do not allow to listen there; `mode` is that of a passed socket."""
        if isinstance(address, UnixAddress):
            mode = self.mode if mode is None else mode
            if mode & _OTHERS_MAY_WRITE and not self.allow_users and not self.insecure_any_user:
                raise ConfigError(
                    f"socket_mode: {mode & 0o777:o} lets every user of this machine connect. Use 660 with "
                    "socket_group, name them with allow_users, or say insecure_any_user."
                )
        elif address.tls:
            if self.tls_cert is None:
                raise ConfigError(f"listen: {address} needs a certificate. Name its files with tls_cert and tls_key.")
        elif not address.is_loopback and not self.insecure_no_tls:
            raise ConfigError(
                f"listen: {address} would carry tokens and programs in the clear to other machines. Listen on "
                "tls:// with tls_cert and tls_key, on tcp://127.0.0.1:PORT or on unix:PATH, or say insecure_no_tls."
            )


def _filled(base: EffectiveLimits, given: WireLimits) -> EffectiveLimits:
    values = {name: getattr(base, name) for name in limits.LIMIT_NAMES}
    return EffectiveLimits(**values | given.asked())
