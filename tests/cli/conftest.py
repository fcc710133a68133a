"""The command, in this process and as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from serving import ServedDaemon
from tooltoolexec.cli import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    def is_one_line(self, *parts: str) -> bool:
        """Whether it is a mistake of the user's, told in one line that holds `parts`."""
        lines = self.err.splitlines()
        told = self.code == 2 and self.out == "" and len(lines) == 1 and lines[0].startswith("tooltoolexec: ")
        return told and all(part in lines[0] for part in parts)


Command = Callable[..., Ended]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs the command here."""

    def call(*args: str | Path) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        out, err = capfd.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return call


def launch(*args: str | Path, **options: object) -> subprocess.Popen[str]:
    """Starts the command as a process."""
    program = "from tooltoolexec.cli import main; main()"
    words = [sys.executable, "-c", program, *map(str, args)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(words, text=True, **(pipes | options))  # type: ignore[call-overload, no-any-return]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    with ServedDaemon(tmp_path_factory.mktemp("cli")) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TOOLTOOLEXEC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", sys.path[:])
