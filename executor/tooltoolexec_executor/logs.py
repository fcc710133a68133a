"""The daemon's log: one line an event on standard error, as JSON for machines or as text for people.

A call gives the event's name, and its facts by ``extra={"fields": {...}}``. Facts are kinds, counts, names and labels:
never a program, an argument, a result, an error's text or a token.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import time
from collections.abc import Mapping
from itertools import islice
from typing import Any

from tooltoolexec_protocol.messages import Stats

_VALUE_CHARACTERS = 2000
_MAP_ENTRIES = 64
_EXCEPTION_CHARACTERS = 8000
_LINES_A_SECOND = 20
# What ends a line for some reader, is obeyed by a terminal, or turns its text around.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_WORD = re.compile(r"[\w.:/@+-]+", re.ASCII)

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}")
"""W3C Trace Context, section 3.2: ids of zeros and the version ff are invalid."""

_QUOTING = frozenset({"malformed", "unknown_message"})
"""Codes whose reasons quote what the client sent; it gets them, the log does not."""

log = logging.getLogger("tooltoolexec")


def configure(form: str, level: int) -> None:
    """Log to standard error from now on: `form` is `json` or `text`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)


class JsonFormatter(logging.Formatter):
    """One JSON object a line, in ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        """`time` (RFC 3339, UTC), `level`, `event`, then the facts."""
        line: dict[str, Any] = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "event": _bounded(record.getMessage()),
        }
        line |= {name: _bounded(value) for name, value in _fields_of(record).items()}
        if record.exc_info:
            line["exception"] = _whole(self.formatException(record.exc_info)[-_EXCEPTION_CHARACTERS:])
        return json.dumps(line, allow_nan=False)


class TextFormatter(logging.Formatter):
    """`time LEVEL event name=value …`; an exception's lines follow, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The same facts as in JSON."""
        parts = [_time_of(record), record.levelname, str(_bounded(record.getMessage()))]
        parts += [f"{name}={_plain(value)}" for name, value in _fields_of(record).items()]
        lines = [" ".join(parts)]
        if record.exc_info:
            exception = self.formatException(record.exc_info)[-_EXCEPTION_CHARACTERS:]
            lines += [f"  {line}" for line in exception.split("\n")]
        return "\n".join(_UNFIT.sub(lambda found: ascii(found[0])[1:-1], line) for line in lines)


class _Throttle:
    """Lets so many lines through in each second, and says how many it held back."""

    def __init__(self) -> None:
        self._second, self._count = 0, 0

    def held_back(self) -> int | None:
        """None: hold this one back, too. Otherwise let it through; so many were held back before it."""
        second = int(time.monotonic())
        held = 0
        if second != self._second:
            held = max(0, self._count - _LINES_A_SECOND)
            self._second, self._count = second, 0
        self._count += 1
        return held if self._count <= _LINES_A_SECOND else None


_refusals = _Throttle()


def log_refusal(code: str, client: str, peer: str, reason: str) -> None:
    """A client was refused. Past 20 in a second they are only counted, so that nobody can fill a disk.

    Args:
        code: as on the wire; `tls` for a handshake that failed.
        client: who it is, as far as that is known.
        peer: where the connection came from.
        reason: the daemon's own text; left out where it quotes the client.
    """
    held_back = _refusals.held_back()
    if held_back is None:
        return
    if held_back:
        log.warning("refusals not logged", extra={"fields": {"count": held_back}})
    facts = {"code": code, "client": client, "peer": peer}
    if code not in _QUOTING:
        facts["reason"] = reason
    log.warning("refused", extra={"fields": facts})


def run_ended(
    run: str,
    client: str,
    outcome: str,
    labels: Mapping[str, str],
    *,
    wall_s: float = 0.0,
    queued_s: float = 0.0,
    used: Stats | None = None,
) -> None:
    """A run's end: how, for whom, and what it used as far as its worker said. Never why in the program's words."""
    if not log.isEnabledFor(logging.INFO):
        return
    facts: dict[str, Any] = {"run": run, "client": client, "outcome": outcome}
    facts |= {"wall_s": round(wall_s, 4), "queued_s": round(queued_s, 4)}
    if used is not None:
        facts |= {"cpu_s": round(used.cpu_s, 4), "memory_peak_bytes": used.memory_peak_bytes, "calls": used.calls}
    if trace := _TRACEPARENT.fullmatch(labels.get("traceparent", "")):
        facts |= {"trace_id": trace[1], "span_id": trace[2]}
    if labels:
        facts["labels"] = labels
    log.info("run ended", extra={"fields": facts})


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, dict) else {}


def _time_of(record: logging.LogRecord) -> str:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{moment}.{int(record.msecs):03d}Z"


def _bounded(value: Any) -> Any:
    """As JSON can carry it. A client's own text may be long, and half of a character."""
    if isinstance(value, str):
        return _whole(value[:_VALUE_CHARACTERS])
    if isinstance(value, Mapping):
        return {str(_bounded(name)): _bounded(each) for name, each in islice(value.items(), _MAP_ENTRIES)}
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _bounded(str(value))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _plain(value: Any) -> str:
    """A word as it is, everything else as JSON."""
    value = _bounded(value)
    return value if isinstance(value, str) and _WORD.fullmatch(value) else json.dumps(value, allow_nan=False)
