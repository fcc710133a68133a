"""What a program writes to its console, in the sandbox and in Node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from tooltoolexec import Limits, execute

END = "\u0001"

_CAPTURE = """
const { Console } = require("node:console");
const written = [];
const stream = { write: (text) => written.push(text.slice(0, -1)) };
const console = new Console({ stdout: stream, stderr: stream, ignoreErrors: false });
process.removeAllListeners("warning");
PROGRAM
process.stdout.write(JSON.stringify(written));
"""


def node() -> str:
    """The path of Node 20; skips the test where there is none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not on this machine")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    if not re.match(r"v20\.", version):
        pytest.skip(f"the rendering followed is that of Node 20, and this is {version.strip()}")
    return found


def _program(cases: Sequence[str]) -> str:
    return "\n".join(f'{{ {case}\n}} console.log("{END}");' for case in cases)


def _split(written: list[str], count: int) -> list[str]:
    parts = "\n".join(written).split(END)
    assert len(parts) == count + 1, (len(parts), count)
    return [part.strip("\n") for part in parts[:-1]]


def in_node(cases: Sequence[str]) -> list[str]:
    """What each of `cases`, pieces of JavaScript, writes in Node."""
    text = _CAPTURE.replace("PROGRAM", _program(cases))
    done = subprocess.run([node(), "-"], input=text, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    written: list[str] = json.loads(done.stdout)
    return _split(written, len(cases))


def in_sandbox(cases: Sequence[str]) -> list[str]:
    """What each of `cases` writes in the sandbox."""
    run = execute(f"async () => {{ {_program(cases)} }}", limits=Limits(log_bytes=16 * 1024 * 1024))
    assert run.failure is None, run.failure
    return _split(run.logs, len(cases))
