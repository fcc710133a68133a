"""Long waits show a line on a terminal, and only there, and leave nothing of it behind."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import launch

SLOW = "import time\ndef nap(): time.sleep(1)\ntime.sleep(0.7)\n"
PROGRAM = "async () => { console.log('before'); await tools.nap(); console.log('after'); return 1; }"


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "p.js").write_text(PROGRAM)
    (tmp_path / "tools.py").write_text(SLOW)
    monkeypatch.chdir(tmp_path)  # A long path would be cut off at the terminal's edge.
    return ["run", "p.js", "--tools", "tools.py"]


def on_a_terminal(words: list[str], term: str) -> str:
    """Everything that the command writes to a terminal on its standard error."""
    ours, theirs = pty.openpty()
    with launch(*words, stderr=theirs, stdout=subprocess.DEVNULL, env=os.environ | {"TERM": term}):
        os.close(theirs)
        written = b""
        try:
            while data := os.read(ours, 65536):
                written += data
        except OSError:
            pass  # Linux's way to say that the other end is gone.
    os.close(ours)
    return written.decode()


def screen(written: str) -> list[str]:
    """What stays on the screen."""
    return [line.rpartition("\r\x1b[K")[2] for line in written.split("\r\n")]


def test_a_terminal_sees_what_is_waited_for_and_keeps_only_the_logs(words: list[str]) -> None:
    written = on_a_terminal(words, "xterm")
    assert re.search(r"[|/\\-] loading tools.py \(\d+ s\)", written)
    assert re.search(r"[|/\\-] running \(\d+ s\)", written)
    assert screen(written) == ["before", "after", ""]


def test_a_terminal_that_cannot_erase_sees_the_logs_alone(words: list[str]) -> None:
    assert on_a_terminal(words, "dumb") == "before\r\nafter\r\n"


def test_a_pipe_sees_the_logs_alone(words: list[str]) -> None:
    with launch(*words, env=os.environ | {"TERM": "xterm"}) as process:
        assert process.communicate(timeout=30) == ("1\n", "before\nafter\n")


def test_a_failed_start_leaves_no_line_of_progress(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("import time\ntime.sleep(0.8)\n1 / 0\n")
    lines = screen(on_a_terminal(words, "xterm"))
    assert len(lines) == 2
    assert "ZeroDivisionError" in lines[0]
    assert sys.executable not in lines[0]
