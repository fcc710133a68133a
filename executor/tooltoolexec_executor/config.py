"""The daemon's settings: what they mean, their defaults, and where they come from (options, environment, a TOML file)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tooltoolexec_protocol import limits
from tooltoolexec_protocol.address import Address, TcpAddress, parse_address
from tooltoolexec_protocol.errors import AddressError
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import WireLimits

ENVIRONMENT_PREFIX = "TOOLTOOLEXEC_"


class ConfigError(ValueError):
    """A setting that cannot work. The message names it and says what to write."""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a daemon.

    Attributes:
        listen: addresses to listen on.
        workers: how many runs may be under way at once.
        warm: how many idle workers are kept ready beside them.
        queue: how many runs may wait for a worker.
        queue_s: how long one may wait, in seconds.
        connections: how many connections may be open before their run has begun.
        defaults: limits of a run that asks for none, see `Limits`.
        maxima: the most a run may ask for; null grants no bound.
    """

    listen: list[str] = []
    workers: int = 32
    warm: int = 4
    queue: int = 1024
    queue_s: float = 60.0
    connections: int = 4096
    defaults: WireLimits = WireLimits()
    maxima: WireLimits = WireLimits()

    def default_limits(self) -> EffectiveLimits:
        """The defaults with what the configuration leaves out filled in."""
        return _filled(limits.DEFAULTS, self.defaults)

    def maximum_limits(self) -> EffectiveLimits:
        """The maxima with what the configuration leaves out filled in."""
        return _filled(limits.MAXIMA, self.maxima)

    def addresses(self) -> list[Address]:
        """Where to listen.

        Raises:
            ConfigError: one is no address, or may not be listened on.
        """
        try:
            addresses = [parse_address(text) for text in self.listen]
        except AddressError as error:
            raise ConfigError(f"listen: {error}") from None
        for address in addresses:
            if isinstance(address, TcpAddress) and (address.tls or not address.is_loopback):
                raise ConfigError(
                    f"listen: {address} would be reachable from other machines, and this version has no tokens and no TLS. "
                    "Listen on tcp://127.0.0.1:PORT or on unix:PATH."
                )
        return addresses


def load(file: Path | None, environment: Mapping[str, str], options: Mapping[str, Any]) -> Config:
    """The settings: an option wins over the environment, the environment over the file.

    Raises:
        ConfigError: the file cannot be read, or a setting is wrong.
    """
    values: dict[str, Any] = _read(file) if file else {}
    for field in msgspec.structs.fields(Config):
        text = environment.get(ENVIRONMENT_PREFIX + field.name.upper())
        if text is not None and field.name not in ("defaults", "maxima"):
            values[field.name] = text.split() if field.name == "listen" else text
    for name, value in options.items():
        if isinstance(value, dict):
            values[name] = {**values.get(name, {}), **value}
        elif value not in (None, ()):
            values[name] = list(value) if name == "listen" else value
    return check(values)


def summary(config: Config) -> dict[str, Any]:
    """What the settings come to, every default filled in; null where there is no bound."""
    values: dict[str, Any] = msgspec.to_builtins(config)
    for name, filled in (("defaults", config.default_limits()), ("maxima", config.maximum_limits())):
        values[name] = msgspec.to_builtins(WireLimits.of(filled))
    return values


def check(values: Mapping[str, Any]) -> Config:
    """Settings as a `Config`.

    Raises:
        ConfigError: one is unknown, of the wrong kind or out of range.
    """
    try:
        config = msgspec.convert(dict(values), Config, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The configuration is wrong: {error}.") from None
    for name, least in (("workers", 1), ("warm", 1), ("queue", 0), ("queue_s", 0), ("connections", 1)):
        value = getattr(config, name)
        if not value >= least:
            raise ConfigError(f"{name} must be at least {least}, not {value}.")
    config.addresses()
    return config


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise ConfigError(f"Cannot read {file}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is no TOML: {error}.") from None


def _filled(base: EffectiveLimits, given: WireLimits) -> EffectiveLimits:
    values = {name: getattr(base, name) for name in limits.LIMIT_NAMES}
    return EffectiveLimits(**values | given.asked())
