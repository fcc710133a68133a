"""What `execute` gives: the run's outcome as the caller reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from tooltoolexec.describe.context import Context
from tooltoolexec.handles import Retained
from tooltoolexec_protocol.codec import rebuild_bytes
from tooltoolexec_protocol.errors import CodecError, ProtocolError
from tooltoolexec_protocol.messages import Done, Execute, Failure, Stats

__all__ = ["Failure", "Run", "Stats"]


@dataclass(slots=True)
class Run:
    """One finished run.

    Attributes:
        id: 128 random bits in hex; the daemon's logs name the run by it.
        result: the program's value; `None` when it failed or gave `undefined`. Binary values are `bytes`.
        error: the failure's message, or `None` when the program worked.
        logs: the console's lines in order, kept whatever the outcome.
        failure: why it failed (`kind`, `message`, `line`, …), or `None`.
        warnings: what the caller should know although the run has an outcome.
        record: the tools' record; always `None` in this version.
        stats: seconds, bytes and counts.
        retained: the isolate that lives on for the run's handles, until it is closed; `None` where the run asked for
            none, or failed.
    """

    id: str
    result: Any = None
    error: str | None = None
    logs: list[str] = field(default_factory=list)
    failure: Failure | None = None
    warnings: list[str] = field(default_factory=list)
    record: None = None
    stats: Stats = field(default_factory=Stats)
    retained: Retained | None = None
    _context: Context | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the program ended without a failure."""
        return self.failure is None

    def for_model(self, max_chars: int = 24_000) -> str:
        """The run as one text for the model that wrote the program.

        It has, each where there is any: what was cut, with totals; the result as JSON in one line, or the failure with
        the place in the program and a hint; warnings; the console's lines. What is about the host alone, such as an
        `on_log` that raised, is left out.

        Args:
            max_chars: the most characters the text may have, 200 or more. What does not fit is cut: the result, or the
                failure, the warnings and the lines share the room. A cut result is JSON still.

        Raises:
            TypeError, ValueError: `max_chars` is no number, or less than 200.
        """
        from tooltoolexec.describe.for_model import for_model  # noqa: PLC0415 - most runs are never described.

        return for_model(self, self._context, max_chars)


def rebuild_result(done: Done) -> Done:
    """`done` with the bytes of its result rebuilt.

    Raises:
        ProtocolError: a result no program can have given.
    """
    if done.result is not msgspec.UNSET:
        try:
            done.result = rebuild_bytes(done.result)
        except CodecError as error:
            raise ProtocolError("malformed", f"The result is malformed: {error}") from None
    return done


def run_of(done: Done, request: Execute, logs: list[str], warnings: list[str]) -> Run:
    """The run that was asked for with `request` and ended with `done`; `warnings` are this side's own."""
    worked = done.failure is None and done.result is not msgspec.UNSET
    return Run(
        id=done.id,
        result=done.result if worked else None,
        error=None if done.failure is None else done.failure.message,
        logs=logs,
        failure=done.failure,
        warnings=[*done.warnings, *warnings],
        stats=done.stats,
        _context=Context(request, host_warnings=len(warnings)),
    )
