"""Probes of JavaScript, evaluated in the sandbox and in Node, and compared value by value.

A probe is an expression, or the body of an async function if it has the word `return`. What it gives crosses in a form
that keeps apart what JSON does not: `undefined`, NaN, -0, bigints, bytes, maps, and what was thrown (`thrown(name)`).
All probes of a call share one run and one global scope, `prelude` is run before them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from tooltoolexec import Limits
from tooltoolexec.sync import BlockingExecutor

UNDEFINED = {"undefined": True}

_NODE = shutil.which("node")
_TIMEOUT_S = 60
_executor: BlockingExecutor | None = None

_SHOW = """
const show = (value) => {
  if (value === undefined) return { undefined: true };
  if (typeof value === "bigint" || typeof value === "symbol") return { [typeof value]: String(value) };
  if (typeof value === "function") return { function: value.name };
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) {
    return { number: Object.is(value, -0) ? "-0" : String(value) };
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(show);
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (value instanceof ArrayBuffer) return { [tag]: [...new Uint8Array(value)] };
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return { [tag]: value instanceof DataView ? [...bytes] : [...value].map(show) };
  }
  if (value instanceof Map || value instanceof Set) return { [tag]: [...value].map(show) };
  if (value instanceof Date) return { [tag]: value.getTime() };
  if (value instanceof RegExp) return { [tag]: String(value) };
  if (value instanceof Error || tag === "DOMException") return { [tag]: [value.name, value.message] };
  return { [tag]: Object.fromEntries(Object.entries(value).map(([key, item]) => [key, show(item)])) };
};
const thrown = (error) => {
  if (typeof error !== "object" || error === null) return { thrown: show(error) };
  return { thrown: MESSAGES ? [error.name, error.message] : error.name };
};
const results = { __proto__: null };
for (const [name, probe] of probes) {
  try {
    results[name] = show(await probe());
  } catch (error) {
    results[name] = thrown(error);
  }
}
"""


def thrown(name: str) -> dict[str, str]:
    """What a probe that throws an error of this name gives."""
    return {"thrown": name}


def plain(**fields: Any) -> dict[str, Any]:
    """What a probe that gives a plain object gives."""
    return {"Object": fields}


def use(executor: BlockingExecutor | None) -> None:
    """The executor for the probes to come."""
    global _executor
    _executor = executor


def in_sandbox(probes: Mapping[str, str], *, prelude: str = "", messages: bool = False) -> dict[str, Any]:
    """Each probe's outcome in one run of the folder's executor."""
    assert _executor is not None, "conftest.py gives it"
    run = _executor.execute(
        "async () => {" + _body(probes, prelude, messages) + "return JSON.stringify(results);}",
        limits=Limits(wall_s=_TIMEOUT_S, cpu_s=_TIMEOUT_S),
    )
    assert run.error is None, (run.error, run.logs)
    outcomes: dict[str, Any] = json.loads(run.result)
    return outcomes


def in_node(probes: Mapping[str, str], *, prelude: str = "", messages: bool = False) -> dict[str, Any]:
    """Each probe's outcome in one process of Node; skips the test where there is none."""
    if _NODE is None:
        pytest.skip("Node, which the sandbox is compared with, is not on this machine")
    main = "(async () => {" + _body(probes, prelude, messages) + "return JSON.stringify(results);})()"
    source = f'"use strict";\n{main}.then((text) => process.stdout.write(text));'
    process = subprocess.run(
        [_NODE, "--no-warnings", "-"],
        input=source.encode(),
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
        env={**os.environ, "TZ": "UTC"},
    )
    assert process.returncode == 0, process.stderr.decode()
    outcomes: dict[str, Any] = json.loads(process.stdout)
    return outcomes


def probe(
    probes: Mapping[str, str],
    *,
    prelude: str = "",
    messages: bool = False,
    differing: Mapping[str, tuple[Any, str]] | None = None,
) -> None:
    """Assert that every probe gives in the sandbox what it gives in Node.

    Args:
        probes: sources by name.
        prelude: statements that both run first.
        messages: compare the messages of errors too, not their names alone.
        differing: by a probe's name, what the sandbox gives where this Node does otherwise, and why.
    """
    known = dict(differing or {})
    expected = in_node(probes, prelude=prelude, messages=messages)
    alike = [name for name, (value, _) in known.items() if _text(expected[name]) == _text(value)]
    assert not alike, f"Node does not differ in {alike}"
    _compare(in_sandbox(probes, prelude=prelude, messages=messages), expected | {n: v for n, (v, _) in known.items()})


def holds(values: Mapping[str, Any], *, prelude: str = "") -> None:
    """Assert that each probe, here its own name, gives this value in the sandbox; needs no Node."""
    _compare(in_sandbox({source: source for source in values}, prelude=prelude), values)


def of_all(*sources: str) -> dict[str, str]:
    """Probes that are their own names."""
    probes = {source: source for source in sources}
    assert len(probes) == len(sources), "a probe is there twice"
    return probes


def _compare(outcomes: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    differ = [
        f"{name}\n    sandbox:  {outcomes.get(name)!r}\n    expected: {value!r}"
        for name, value in expected.items()
        if name not in outcomes or _text(outcomes[name]) != _text(value)
    ]
    assert expected
    assert not differ, f"{len(differ)} of {len(expected)} differ:\n" + "\n".join(differ)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # To Python, 1 and True are equal.


def _body(probes: Mapping[str, str], prelude: str, messages: bool) -> str:
    entries = ",\n".join(
        f"[{json.dumps(name)}, async () => {'{' + source + '}' if 'return ' in source else f'({source})'}]"
        for name, source in probes.items()
    )
    return f"const MESSAGES = {json.dumps(messages)};\n{prelude}\nconst probes = [\n{entries}\n];\n{_SHOW}\n"
