"""What a hint is made from: a failure, and what is known of its run and of its place in the program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tooltoolexec.describe.context import Context
from tooltoolexec.describe.source import index_of, line_of
from tooltoolexec_protocol.messages import Failure

_LONGEST_MESSAGE = 2000
_MOST_LINE = 500
_FIRST = re.compile(r"[A-Za-z_$][\w$]*")
_CHAIN = re.compile(r"(?<![\w$.)\]])[A-Za-z_$][\w$]*(?:\s*\??\.\s*[\w$]*|\[[^\[\]]*\])*$")
_ABOUT = tuple(
    re.compile(pattern)
    for pattern in (
        r"^([A-Za-z_$][\w$]*)\S* is not (?:a function|iterable|async iterable|a constructor)",
        r"^Cannot destructure property '[^']*' of '([A-Za-z_$][\w$]*)",
    )
)


@dataclass(frozen=True, slots=True)
class Case:
    """A failure, with what its hint may need.

    Attributes:
        failure: why the run failed.
        warnings: those of the run that are for the model.
        context: what the run was given, if that is known.
    """

    failure: Failure
    warnings: Sequence[str]
    context: Context | None

    @property
    def message(self) -> str:
        """The failure's message, as much of it as is looked at."""
        return self.failure.message[:_LONGEST_MESSAGE]

    @property
    def provider_names(self) -> list[str]:
        """The constants the program finds, as far as is known."""
        return self.context.provider_names if self.context else []

    @property
    def line_text(self) -> str:
        """The line at which the program failed, what is around the column of a long one; empty where unknown."""
        return self._line[max(self._column - _MOST_LINE, 0) : self._column + _MOST_LINE]

    @property
    def chain(self) -> str:
        """What stands before the property that was read, such as `user.profile`; empty where that is no plain path."""
        column = self._column
        found = _CHAIN.search(self._line[max(column - _MOST_LINE, 0) : column])
        return found[0].rstrip("?. \t") if found else ""

    @property
    def root(self) -> str:
        """The variable that the failure is about, as the message or the place tells; empty where neither does."""
        for pattern in _ABOUT:
            found = pattern.search(self.message)
            if found and found[1] not in ("object", "undefined", "null"):
                return found[1]
        found = _FIRST.match(self.chain)
        return found[0] if found else ""

    @property
    def _line(self) -> str:
        return line_of(self.context.request.code, self.failure.line) or "" if self.context else ""

    @property
    def _column(self) -> int:
        """How many characters stand before the failing column."""
        column = self.failure.column
        return max(index_of(self._line, column - 1), 0) if column else 0
