"""A daemon's report as text: a table for people, a line for a pipe, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tooltoolexec_protocol.messages import Report


def report_json(report: Report) -> str:
    """All of it as one JSON object in one line."""
    return json.dumps({name: getattr(report, name) for name in report.__struct_fields__})


def report_table(report: Report) -> str:
    """All of it, a line for each subject; what is not the case has none."""
    rows = {
        "daemon": f"{report.server}, process {report.pid}, up {_span(report.uptime_s)}",
        "state": "draining: it takes no more runs" if report.draining else "",
        "runs": f"{_computing(report)} of {report.workers} computing, {_parked(report)} waiting for tools",
        "workers": f"{report.idle_now} idle and ready",
        "queue": f"{report.queued_now} of {report.queue}",
        "clients": f"{report.connections_now} connections without a run",
        "ended": _counts(report.runs) or "none yet",
        "refused": _counts(report.refused),
    }
    return "\n".join(f"{name:<8} {text}" for name, text in rows.items() if text)


def report_line(report: Report) -> str:
    """What changes from one second to the next, in one line."""
    parts = [
        f"{_computing(report)} of {report.workers} computing",
        f"{_parked(report)} parked",
        f"{report.queued_now} of {report.queue} queued",
        f"{report.idle_now} idle",
        f"{report.connections_now} connections",
        f"ended: {_counts(report.runs) or 'none'}",
        f"refused: {_counts(report.refused)}" if report.refused else "",
    ]
    return ("draining; " if report.draining else "") + "; ".join(part for part in parts if part)


def _computing(report: Report) -> int:
    return report.running_now - report.parked_now


def _parked(report: Report) -> str:
    # A daemon that does not tell its bound leaves it out.
    return f"{report.parked_now} of {report.parked}" if report.parked else str(report.parked_now)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")) if count]
    return " ".join(parts[:2]) or "0 s"
