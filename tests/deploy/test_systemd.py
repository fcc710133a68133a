"""The units, as systemd's own tools see them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
WORST_SCORE = 2.0

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed (Debian: systemd)"
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with the command where it is on this machine."""
    command = Path(sys.executable).with_name("tooltoolexec")
    for unit in UNITS.iterdir():
        text = unit.read_text(encoding="utf-8").replace("/opt/tooltoolexec/bin/tooltoolexec", str(command))
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    return tmp_path


def test_systemd_finds_nothing_wrong_with_the_units(units: Path) -> None:
    files = sorted(str(unit) for unit in units.glob("tooltoolexec.*"))
    assert len(files) == 2
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files], capture_output=True, text=True, timeout=50, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_service_is_exposed_as_little_as_v8_tolerates(units: Path) -> None:
    ended = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", str(units / "tooltoolexec.service")],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    found = re.search(r"Overall exposure level for tooltoolexec\.service: ([\d.]+)", ended.stdout)
    assert found is not None, ended
    assert float(found[1]) <= WORST_SCORE


def test_it_is_given_longer_to_end_than_its_runs_are() -> None:
    text = (UNITS / "tooltoolexec.service").read_text(encoding="utf-8")
    found = re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert found is not None
    assert int(found[1]) > 30 + 3
