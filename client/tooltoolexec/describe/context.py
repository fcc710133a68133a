"""What a run must remember of its own request, so that it can be described afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tooltoolexec_protocol.messages import Execute
from tooltoolexec_protocol.names import identifier_form


@dataclass(frozen=True, slots=True)
class Context:
    """The request, and which of the run's warnings are not for the model.

    Attributes:
        request: what was sent.
        host_warnings: how many of the run's warnings, its last ones, are about the host's own doing.
    """

    request: Execute
    host_warnings: int = 0

    @property
    def has_tools(self) -> bool:
        """Whether anything answers the program's calls."""
        return self.request.dispatch

    @property
    def provider_names(self) -> list[str]:
        """The constants the program finds."""
        return [provider.name for provider in self.request.providers]

    def tools(self) -> Iterator[tuple[str, str, str]]:
        """Each declared tool: its provider's name, its own, and how a program writes it."""
        for provider in self.request.providers:
            for tool in provider.tools:
                form = identifier_form(tool)
                yield provider.name, tool, f"{provider.name}.{form}" if form else f'{provider.name}["{tool}"]'
