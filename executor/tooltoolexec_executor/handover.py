"""What the daemon gives a worker together with the connection: the run's facts, and the job for the runtime.

On the control socket: two four-byte lengths, the facts as JSON, the script. The connection's descriptor rides on the
first byte.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import msgspec

from tooltoolexec_executor.entry import Script, run_script
from tooltoolexec_executor.needs import last_part, may_mislead
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import Execute
from tooltoolexec_protocol.names import tool_aliases

_LENGTHS = struct.Struct("!II")
LENGTHS_BYTES = _LENGTHS.size


class Facts(msgspec.Struct, kw_only=True):
    """What the worker itself has to know of a run. `None` is no bound; `needs.py` says what the last two mean."""

    id: str
    queued_s: float
    wall_s: float | None
    cpu_s: float | None
    memory_mb: float | None
    log_bytes: float | None = None
    lines_before: int = 0
    job_end: int = 0
    label: str = ""
    retained_idle_s: float = 60.0
    last_part: int = 0
    may_mislead: bool = True


# Made once, in the zygote: the first decoding into a type costs as much as the rest of a short run.
_DECODER = msgspec.json.Decoder(Facts)


def pack(execute: Execute, limits: EffectiveLimits, queued_s: float, *, retained_idle_s: float) -> bytes:
    """A handover's bytes."""
    script = script_of(execute, limits)
    facts = Facts(
        id=execute.id,
        queued_s=queued_s,
        wall_s=_bound(limits.wall_s),
        cpu_s=_bound(limits.cpu_s),
        memory_mb=_bound(limits.memory_mb),
        log_bytes=_bound(limits.log_bytes),
        lines_before=script.lines_before,
        job_end=script.job_end,
        label=script.label,
        retained_idle_s=retained_idle_s,
        last_part=last_part(execute),
        may_mislead=may_mislead(execute),
    )
    head = msgspec.json.encode(facts)
    return _LENGTHS.pack(len(head), len(script.text)) + head + script.text


def script_of(execute: Execute, limits: EffectiveLimits) -> Script:
    """What V8 compiles."""
    return run_script(execute.providers, execute.code, _job_of(execute, limits))


def _job_of(execute: Execute, limits: EffectiveLimits) -> dict[str, Any]:
    """What runtime/run.js reads of a run; every field is always there."""
    providers = [
        {
            "name": provider.name,
            "positional": provider.positional_args,
            "aliases": list(tool_aliases(provider).items()),
            "prelude": provider.prelude,
            "proxySource": provider.proxy_source,
        }
        for provider in execute.providers
    ]
    return {
        "providers": providers,
        "hasSources": any(p.prelude is not None or p.proxy_source is not None for p in execute.providers),
        "dispatch": execute.dispatch,
        "outbound": execute.outbound,
        "retainHandles": execute.retain_handles,
        "limits": {
            "payload": _bound(limits.payload_bytes),
            "logs": _bound(limits.log_bytes),
            "calls": _bound(limits.calls),
            "wallMs": None if limits.wall_s == math.inf else round(limits.wall_s * 1000),
        },
    }


def unpack_lengths(data: bytes) -> tuple[int, int]:
    """The lengths of the facts and of the script, which `data` begins with."""
    facts, script = _LENGTHS.unpack_from(data)
    return facts, script


def unpack_facts(head: bytes) -> Facts:
    """The facts; the script goes to V8 as it is."""
    return _DECODER.decode(head)


def _bound(value: float) -> float | None:
    return None if value == math.inf else value
