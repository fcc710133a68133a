"""What `execute` gives: the run's outcome as the caller reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from tooltoolexec_protocol.codec import rebuild_bytes
from tooltoolexec_protocol.errors import CodecError, ProtocolError
from tooltoolexec_protocol.messages import Done, Failure, Stats

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
        retained: the handles' isolate; always `None` in this version.
    """

    id: str
    result: Any = None
    error: str | None = None
    logs: list[str] = field(default_factory=list)
    failure: Failure | None = None
    warnings: list[str] = field(default_factory=list)
    record: None = None
    stats: Stats = field(default_factory=Stats)
    retained: None = None

    @property
    def ok(self) -> bool:
        """Whether the program ended without a failure."""
        return self.failure is None


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


def run_of(done: Done, logs: list[str], warnings: list[str]) -> Run:
    """The run that ended with `done`; `warnings` are this side's own."""
    worked = done.failure is None and done.result is not msgspec.UNSET
    return Run(
        id=done.id,
        result=done.result if worked else None,
        error=None if done.failure is None else done.failure.message,
        logs=logs,
        failure=done.failure,
        warnings=[*done.warnings, *warnings],
        stats=done.stats,
    )
