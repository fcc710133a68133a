"""What one run may use, what a daemon allows, and the sizes the wire itself bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from tooltoolexec_protocol import texts

MIB = 1024 * 1024

HELLO_BYTES = 16 * 1024
"""The largest `hello` frame."""
REQUEST_BYTES = 8 * MIB
"""The largest `execute`, `outcome` or `status` frame. Decoding one must not hold up the daemon's deadlines."""
ANSWER_BYTES = 64 * MIB
"""The largest answer of one call, in UTF-8 bytes."""
FRAME_BYTES = 3 * ANSWER_BYTES + MIB
"""The largest frame of a running program: an answer of two-byte characters, each an escape of six, and its wrapping."""
PROVIDERS = 256
"""How many providers a run may declare."""
TOOLS = 10_000
"""How many tools they may declare, all together."""
LABEL_CHARACTERS = 4096
"""How long all labels of a run may be, names and texts together."""
VALUE_DEPTH = 500
"""How deep a value that crosses may be nested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use. A field left out (`None`) takes the daemon's default; `math.inf` asks for no bound.

    Attributes:
        wall_s: seconds from the run's start, waiting for tools included, waiting for a worker not. Default 30.
        cpu_s: seconds of CPU time; the clock stops while the program waits. Default 10.
        memory_mb: MiB of V8 heap, and separately MiB the worker's process may grow by. Default 128.
        payload_bytes: UTF-8 bytes of one call's provider, tool and arguments, and of the result. Default 4 MiB.
        log_bytes: UTF-8 bytes of all log lines. Default 256 KiB.
        calls: tool calls. Default 1000.

    Raises:
        ValueError: a field is no positive number.
    """

    wall_s: float | None = None
    cpu_s: float | None = None
    memory_mb: float | None = None
    payload_bytes: float | None = None
    log_bytes: float | None = None
    calls: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            least = 0 if field.name in ("log_bytes", "calls") else 1e-3
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
                raise ValueError(f"limit {field.name} must be a positive number, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveLimits:
    """The limits of one run, each settled; `math.inf` means none. Units as in `Limits`."""

    wall_s: float = 30.0
    cpu_s: float = 10.0
    memory_mb: float = 128
    payload_bytes: float = 4 * MIB
    log_bytes: float = 256 * 1024
    calls: float = 1000


DEFAULTS = EffectiveLimits()
MAXIMA = EffectiveLimits(
    wall_s=600.0, cpu_s=120.0, memory_mb=1024, payload_bytes=32 * MIB, log_bytes=16 * MIB, calls=100_000
)
LIMIT_NAMES = tuple(field.name for field in fields(EffectiveLimits))


class LimitError(ValueError):
    """A request asks for more than the daemon allows; the message names the limit and its maximum."""


def settle(asked: dict[str, float], defaults: EffectiveLimits, maxima: EffectiveLimits) -> EffectiveLimits:
    """Fill what `asked` leaves out from `defaults` and hold it against `maxima`.

    Raises:
        LimitError: for the first limit over its maximum, in the order of the fields.
    """
    settled = {}
    for name in LIMIT_NAMES:
        maximum = getattr(maxima, name)
        value = asked[name] if name in asked else min(getattr(defaults, name), maximum)
        if value > maximum:
            raise LimitError(texts.limit_over_maximum(name, _figure(value), _figure(maximum)))
        settled[name] = value
    return EffectiveLimits(**settled)


def _figure(value: float) -> str:
    if value == math.inf:
        return "none"
    return str(round(value)) if value == round(value) else f"{value:g}"
