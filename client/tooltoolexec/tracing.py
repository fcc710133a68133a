"""The trace a run belongs to, where its caller traces with OpenTelemetry. Never imports it: who uses it has done so."""

from __future__ import annotations

import sys
from collections.abc import Mapping

_LABEL = "traceparent"


def traced(labels: Mapping[str, str], most: int) -> dict[str, str]:
    """`labels`, and with them the current span as a W3C `traceparent`, unless they have one or it would be too much.

    Args:
        labels: the caller's own.
        most: how many characters all names and texts may have together.
    """
    own = dict(labels)
    if _LABEL in own:
        return own
    text = _traceparent()
    size = sum(len(name) + len(value) for name, value in own.items())
    if text is not None and size + len(_LABEL) + len(text) <= most:
        own[_LABEL] = text
    return own


def _traceparent() -> str | None:
    """https://www.w3.org/TR/trace-context/#traceparent-header, version 00."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    try:
        span = trace.get_current_span().get_span_context()
        if not span.is_valid:
            return None
        return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags & 0xFF:02x}"
    except Exception:  # Half loaded, or not what it says it is: a run is worth more than its trace.
        return None
