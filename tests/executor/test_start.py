"""A machine on which workers cannot start, or not as they should: said once, in a line, and no storm of attempts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = {
    "serve": "from tooltoolexec_executor.cli import serve; serve(['--listen', {listen!r}])",
    "execute": "import tooltoolexec; tooltoolexec.execute('async () => 1')",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_machine_without_v8_is_told_so_and_nothing_hangs(command: str, tmp_path: Path) -> None:
    (tmp_path / "py_mini_racer.py").write_text("")  # And no library beside it.
    code = COMMANDS[command].format(listen=f"unix:{tmp_path}/s")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=50, check=False
    )
    assert process.returncode != 0
    assert "Workers cannot start on this machine" in process.stderr
    told = process.stderr.count("tooltoolexec: V8 cannot start: OSError: ")
    if command == "serve":
        assert told == 1
        assert process.returncode == 2
        assert "Traceback" not in process.stderr
    else:
        assert told in (1, 2)  # A client that finds its embedded daemon gone tries one more.
        assert "ConnectError: Cannot connect to the embedded executor: it ended with status 2" in process.stderr
