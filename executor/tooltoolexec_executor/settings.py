"""From the file, the environment and the options to a daemon's settings, and what to say where one is wrong."""

from __future__ import annotations

import reprlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tooltoolexec_executor.config import Config, ConfigError
from tooltoolexec_protocol import limits
from tooltoolexec_protocol.messages import WireLimits

ENVIRONMENT_PREFIX = "TOOLTOOLEXEC_"
LIMIT_GROUPS = {"default": "defaults", "max": "maxima"}
"""How a limit's option and variable begin (`--max-calls`, `TOOLTOOLEXEC_MAX_CALLS`), and the group that they set."""
_LISTS = ("listen", "allow_users")
_WORDS = {
    "Expected `int`": "write a whole number",
    "Expected `float | null`": "write a number or none",
    "Expected `float`": "write a number",
    "Expected `array`": "write a list",
    "Expected `str | null`": "write a text",
    "Expected `str`": "write a text",
    "Expected `bool`": "write true or false",
    "Expected `object`": "write a table",
    "Invalid enum value": "write json or text, not",
    "Object contains unknown field": "there is no setting",
}


def load(file: Path | None, environment: Mapping[str, str], options: Mapping[str, Any]) -> Config:
    """The settings: an option wins over the environment, the environment over the file.

    Raises:
        ConfigError: the file cannot be read, or a setting is wrong.
    """
    values: dict[str, Any] = _read(file) if file else {}
    for variable, given in _from_environment(environment):
        try:
            check_each(given)
        except ConfigError as error:
            raise ConfigError(f"{variable} in the environment: {error}") from None
        _lay_over(values, given)
    _lay_over(values, {name: value for name, value in options.items() if value not in (None, ())})
    config = check_each(values)
    config.check_together()
    return config


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each variable that is a setting, and what it sets."""
    for field in msgspec.structs.fields(Config):
        variable = ENVIRONMENT_PREFIX + field.name.upper()
        if variable in environment and field.name not in LIMIT_GROUPS.values():
            text = environment[variable]
            yield variable, {field.name: text.split() if field.name in _LISTS else text}
    for which, group in LIMIT_GROUPS.items():
        for name in limits.LIMIT_NAMES:
            variable = f"{ENVIRONMENT_PREFIX}{which.upper()}_{name.upper()}"
            if variable in environment:
                yield variable, {group: {name: environment[variable]}}


def _lay_over(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Put `given` over `values`; a group's limits one by one."""
    for name, value in given.items():
        if isinstance(value, dict) and isinstance(values.get(name), dict):
            values[name] = {**values[name], **value}
        else:
            values[name] = value


def summary(config: Config) -> dict[str, Any]:
    """What the settings come to, every default filled in; null where there is no bound."""
    values: dict[str, Any] = msgspec.to_builtins(config)
    for name, filled in (("defaults", config.default_limits()), ("maxima", config.maximum_limits())):
        values[name] = msgspec.to_builtins(WireLimits.of(filled))
    return values


def check_each(values: Mapping[str, Any]) -> Config:
    """Settings, perhaps not all of them, as a `Config`.

    Raises:
        ConfigError: one is unknown, of the wrong kind or out of range.
    """
    try:
        config = msgspec.convert({name: _plain(value) for name, value in values.items()}, Config, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(_what_is_wrong(str(error), values)) from None
    for group in LIMIT_GROUPS.values():
        unknown = [name for name in values.get(group, {}) if name not in limits.LIMIT_NAMES]
        if unknown:
            raise ConfigError(f"{group}: there is no limit {unknown[0]!r}. There are {', '.join(limits.LIMIT_NAMES)}.")
    config.check_each()
    return config


def _plain(value: Any) -> Any:
    """A group of limits with `null` for "none", which TOML and the environment cannot write."""
    if not isinstance(value, dict):
        return list(value) if isinstance(value, tuple) else value
    return {name: None if limit == "none" else limit for name, limit in value.items()}


def _what_is_wrong(text: str, values: Mapping[str, Any]) -> str:
    """The validator's text, ``Expected `int`, got `str` - at `$.workers```, with the setting first and what it is."""
    what, _, where = text.partition(" - at `$.")
    for theirs, ours in _WORDS.items():
        what = what.replace(theirs, ours)
    where = where.rstrip("`")
    value: Any = values
    for name in where.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        what = what.replace("got `str`", f"not {reprlib.repr(value)}")
    return f"{where}: {what}." if where else f"{what[:1].upper()}{what[1:]}."


def _read(file: Path) -> dict[str, Any]:
    if file.exists() and not file.is_file() and not file.is_dir():
        raise ConfigError(f"{file} is no file.")  # Reading a pipe might never end.
    try:
        with file.open("rb") as stream:
            values = tomllib.load(stream)
        check_each(values)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    except OSError as error:
        raise ConfigError(f"Cannot read {file}: {error.strerror}.") from None
    except RecursionError:
        raise ConfigError(f"{file} is nested too deeply for settings.") from None
    except ValueError as error:  # No TOML, no UTF-8, or a number of more digits than Python reads.
        raise ConfigError(f"{file} is no TOML: {error}.") from None
    return values
