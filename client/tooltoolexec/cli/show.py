"""A run as text."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import msgspec

from tooltoolexec.run import Failure, Run
from tooltoolexec_protocol.codec import stringify_for_dispatch

# What no output can carry, or a terminal obeys. In JSON it occurs only inside texts, where an escape will do.
_UNFIT = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def result_text(value: Any) -> str:
    """A result as JSON to read; bytes in the form in which they cross."""
    return _json(value, indent=2)


def run_text(run: Run) -> str:
    """The whole run as one JSON object in one line."""
    fields = asdict(run) | {"failure": msgspec.to_builtins(run.failure), "stats": _fields(run.stats)}
    return _json({name: fields[name] for name in fields if name not in ("record", "retained", "_context")}, indent=None)


def failure_text(failure: Failure, file: str) -> str:
    """A failure for a person: its kind, its message and where it happened."""
    name = f"{failure.name}: " if failure.name else ""
    lines = [f"Failed ({failure.kind}): {name}{failure.message}"]
    if failure.line is not None:
        lines.append(f"    at {file}:{failure.line}:{failure.column or 1}")
    if failure.detail is not None:
        lines.append(f"    detail: {_json(failure.detail, indent=None)}")
    return "\n".join(lines)


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def _json(value: Any, indent: int | None) -> str:
    plain = json.loads(stringify_for_dispatch(value))
    text = json.dumps(plain, ensure_ascii=False, indent=indent)
    return _UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
