"""`tooltoolexec doctor`: what it prints and how it ends, on this machine and on ones that lack something."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tooltoolexec_executor.lockdown.layers import WITHOUT, WORKER_LAYERS, ZYGOTE_LAYERS

from .conftest import Ended

LAYERS = [*ZYGOTE_LAYERS, *WORKER_LAYERS, "jitless", "worker", "isolate"]
REQUIRED = {*WITHOUT, "worker", "isolate"}
NO_SECCOMP = """
import errno, pyseccomp
rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, 22))
rules.load()
"""


NO_TEMPORARY_FILE = """
import tempfile
def none(*_, **__): raise FileNotFoundError(2, "No usable temporary directory")
tempfile.NamedTemporaryFile = none
"""
FEW_ADDRESSES = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4_000_000 * 1024,) * 2)
"""
KEEPS_CAPABILITIES = """
import tooltoolexec_executor.doctor_acts
from tooltoolexec_executor.lockdown import capabilities
capabilities.drop = lambda: None
"""
AS_USER = """
import ctypes, email.parser, email.policy, os  # What is loaded late, from where that user may not read.
import tooltoolexec.cli, tooltoolexec_executor.doctor, tooltoolexec_executor.doctor_trials
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # Dumpable, as after a program is started.
"""


def doctor(*options: str, preparation: str = "", path: Path | None = None, **environment: str) -> Ended:
    """Run it as a process of its own: it forks, and this one has threads."""
    program = f"{preparation}\nfrom tooltoolexec.cli import main\nmain()"
    paths = [*([str(path)] if path else []), os.environ.get("PYTHONPATH", "")]
    ran = subprocess.run(
        [sys.executable, "-c", program, "doctor", *options],
        env={**os.environ, "PYTHONPATH": ":".join(paths), **environment},
        capture_output=True, text=True, timeout=55, check=False,
    )  # fmt: skip
    return Ended(ran.returncode, ran.stdout, ran.stderr)


def rows(text: str) -> dict[str, str]:
    """Each line's first word, and the rest of it from the column of the second."""
    return {line.split()[0]: line[14:] for line in text.splitlines()}


def test_it_shows_each_layer_on_a_line_of_its_own_in_columns() -> None:
    ended = doctor()
    assert (ended.code, ended.err) == (0, "")
    found = rows(ended.out)
    assert list(found) == ["v8", "mini-racer", "kernel", *LAYERS]
    assert found["kernel"] == os.uname().release
    assert found["v8"][0].isdigit()
    for layer in LAYERS:
        row = found[layer]
        assert row[:17].strip() in ("on", "off", "impossible here")
        assert row[17:27].strip() == ("required" if layer in REQUIRED else "")
        if layer in REQUIRED:
            assert row[:17].strip() == "on"
    assert "make a socket" in found["seccomp"]


def test_it_gives_the_same_as_one_object() -> None:
    ended = doctor("--json", "--jitless")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert {name: found[name] for name in ("jitless", "good")} == {"jitless": True, "good": True}
    assert set(found) == {"v8", "mini_racer", "kernel", "jitless", "good", "layers"}
    assert [layer["name"] for layer in found["layers"]] == LAYERS
    assert all(set(layer) == {"name", "required", "state", "why", "refused"} for layer in found["layers"])
    (jitless,) = [layer for layer in found["layers"] if layer["name"] == "jitless"]
    assert (jitless["state"], jitless["refused"]) == ("on", ["make memory executable"])


def test_it_fails_where_a_required_layer_cannot_be_had() -> None:
    ended = doctor(preparation=NO_SECCOMP)
    assert (ended.code, ended.err) == (1, "")
    found = rows(ended.out)
    assert found["seccomp"].split(maxsplit=3) == ["impossible", "here", "required", "not permitted (EPERM)"]
    assert found["worker"].startswith("off")
    assert "fork" in found["worker"]
    assert found["isolate"].startswith("on")


@pytest.mark.parametrize(
    ("module", "text", "layer"),
    [
        ("pyseccomp", "raise RuntimeError('Unable to find libseccomp')", "seccomp"),
        ("py_mini_racer", "", "isolate"),
    ],
)
def test_whatever_is_missing_is_a_finding_and_no_traceback(module: str, text: str, layer: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text(text)
    ended = doctor("--json", path=tmp_path)
    assert (ended.code, ended.err) == (1, "")
    (found,) = [one for one in json.loads(ended.out)["layers"] if one["name"] == layer]
    assert found["required"]
    assert found["state"] != "on"


def test_a_v8_that_is_not_installed_at_all_is_a_finding(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['py_mini_racer'] = None"
    ended = doctor(preparation=hidden, path=tmp_path)
    assert (ended.code, ended.err) == (1, "")
    assert rows(ended.out)["v8"].startswith("cannot be loaded")
    for row in ("v8", "doctor"):
        assert "pip install 'tooltoolexec[executor]'" in rows(ended.out)[row]


def test_a_v8_that_ends_its_process_is_a_finding() -> None:
    ended = doctor(preparation=FEW_ADDRESSES)
    assert (ended.code, ended.err) == (1, "")
    found = rows(ended.out)
    assert re.match(r"cannot be loaded: it ends its process by SIG\w+", found["v8"])
    assert list(found)[3:] == LAYERS
    assert found["isolate"].startswith("off")


def test_it_needs_no_folder_that_can_be_written_to() -> None:
    ended = doctor(preparation=NO_TEMPORARY_FILE)
    assert (ended.code, ended.err) == (0, "")
    for layer, act in (("seccomp", "open a file"), ("rlimits", "write to an open file")):
        assert f"refuses: {act}" in rows(ended.out)[layer]


def test_it_looks_at_workers_as_serve_would_have_them_by_the_environment() -> None:
    found = json.loads(doctor("--json", TOOLTOOLEXEC_JITLESS="1").out)
    assert found["jitless"]
    assert not json.loads(doctor("--json", TOOLTOOLEXEC_JITLESS="0").out)["jitless"]
    assert doctor(TOOLTOOLEXEC_JITLESS="perhaps").is_one_line("jitless: write true or false, not 'perhaps'")


def test_capabilities_that_an_ordinary_user_keeps_are_called_off() -> None:
    here = rows(doctor(preparation=AS_USER).out)
    assert here["user"].startswith("impossible here")
    if "refuses: use a capability" not in here["capabilities"]:
        pytest.skip("an ordinary user gets no namespace here, so there are none to keep")
    kept = rows(doctor(preparation=AS_USER + KEEPS_CAPABILITIES).out)["capabilities"]
    assert kept.startswith("off")
    assert "does not refuse: use a capability" in kept


def test_a_wrong_option_is_one_line() -> None:
    assert doctor("--nonsense").is_one_line("--nonsense")
