"""What a caller declares: providers and their tools, as objects or as mappings in JSON form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from tooltoolexec_protocol.messages import ProviderSpec

__all__ = ["Provider", "Tool"]

_JSON_NAMES = {
    "name": "name",
    "tools": "tools",
    "positionalArgs": "positional_args",
    "prelude": "prelude",
    "proxySource": "proxy_source",
}
_TEXT_OR_NONE = str | None
_NO_LISTS = (str, bytes, Mapping)


@dataclass(frozen=True, init=False)
class Tool:
    """A Python function a program may call.

    Args:
        function: async or plain. A plain one runs in a thread.
        name: what the program calls it; any text, by default the function's `__name__`.

    Raises:
        TypeError: `function` cannot be called or `name` is no text.
        ValueError: the function has no name of its own and none is given.
    """

    function: Callable[..., Any]
    name: str
    signature: inspect.Signature | None = field(repr=False, compare=False)

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        if not callable(function):
            raise TypeError(f"a tool is a function, not {type(function).__name__}")
        if name is None:
            name = getattr(function, "__name__", None)
            if name is None or name == "<lambda>":
                raise ValueError(f"{function!r} has no name of its own: write Tool(function, name=...)")
        if not isinstance(name, str):
            raise TypeError(f"a tool's name is a text, not {type(name).__name__}")
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "signature", _signature_of(function))


_TOOLS = (str, Tool)


def _signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # Some built-ins do not tell; they check their arguments themselves.
        return None


@dataclass(frozen=True)
class Provider:
    """A namespace of tools in the program.

    Args:
        name: the constant the program finds it under. The rules for it are the daemon's: a name that breaks one is a
            failure of the run, not an exception.
        tools: each a name (declared only), a `Tool`, or a function.
        positional_args: whether a call's arguments spread; otherwise its first argument is the payload, an object whose
            keys are a function's keyword arguments.
        prelude: JavaScript that runs once every provider is declared, before the program.
        proxy_source: JavaScript that declares the namespace instead of the generated proxy.
        expose_errors: whether a program reads the message of any exception a function raises; otherwise only that of a
            `ToolError`.

    Raises:
        TypeError: a part has the wrong type.
        ValueError: two functions have one name.
    """

    name: str
    tools: Iterable[str | Tool | Callable[..., Any]] = ()
    _: KW_ONLY
    positional_args: bool = True
    prelude: str | None = None
    proxy_source: str | None = None
    expose_errors: bool = False

    def __post_init__(self) -> None:
        _require("name", self.name, str)
        _require("positional_args", self.positional_args, bool)
        _require("expose_errors", self.expose_errors, bool)
        _require("prelude", self.prelude, _TEXT_OR_NONE)
        _require("proxy_source", self.proxy_source, _TEXT_OR_NONE)
        if isinstance(self.tools, _NO_LISTS) or not isinstance(self.tools, Iterable):
            raise TypeError(f"a provider's tools are a list, not {type(self.tools).__name__}")
        items = tuple([item if isinstance(item, _TOOLS) else Tool(item) for item in self.tools])
        object.__setattr__(self, "tools", items)
        names: set[str] = set()
        for tool in self.functions:
            if tool.name in names:
                raise ValueError(f"provider {self.name!r} has two functions named {tool.name!r}")
            names.add(tool.name)

    @property
    def functions(self) -> list[Tool]:
        """The tools this process holds."""
        return [item for item in self.tools if isinstance(item, Tool)]

    def spec(self) -> ProviderSpec:
        """What the daemon is told."""
        return ProviderSpec(
            name=self.name,
            tools=[item.name if isinstance(item, Tool) else str(item) for item in self.tools],
            positional_args=self.positional_args,
            prelude=self.prelude,
            proxy_source=self.proxy_source,
        )


def _require(name: str, value: object, kind: Any) -> None:
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", str(kind))
        raise TypeError(f"a provider's {name} must be {wanted}, not {type(value).__name__}")


def as_provider(given: Provider | Mapping[str, Any]) -> Provider:
    """`given`, or the provider its JSON form describes.

    Raises:
        TypeError: it is neither, or a part has the wrong type.
        ValueError: the JSON form lacks the name or has a key it does not know.
    """
    if isinstance(given, Provider):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"a provider is a Provider or a mapping, not {type(given).__name__}")
    unknown = [key for key in given if key not in _JSON_NAMES]
    if unknown:
        raise ValueError(f"a provider has no key {unknown[0]!r}; it has {', '.join(_JSON_NAMES)}")
    if "name" not in given:
        raise ValueError("a provider needs a name")
    # JSON has no "left out": null stands for it.
    return Provider(**{_JSON_NAMES[key]: value for key, value in given.items() if value is not None or key == "name"})
