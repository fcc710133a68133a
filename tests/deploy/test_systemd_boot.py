"""The service under a real systemd, with the hardening of the unit: it starts, runs programs, reloads, drains."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from serving import PATIENCE_S, wait_until

from .image import ROOT
from .machine import SETTINGS, UNIX, Machine, machine

FILE = "/etc/tooltoolexec/tooltoolexec.toml"
ANSWER = "() => 6 * 7"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def booted(image: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("machine")) as one:
        yield one


@pytest.fixture
def started(booted: Machine) -> Machine:
    booted.write(FILE, SETTINGS)
    booted.run("systemctl reset-failed; systemctl restart tooltoolexec")
    return booted


def test_once_it_is_started_programs_run_by_tls_and_by_the_unix_socket(started: Machine) -> None:
    assert started.run(started.program(ANSWER)) == "42\n"
    assert started.run(started.program(ANSWER, address=UNIX)) == "42\n"


def test_the_daemon_has_what_the_unit_leaves_it(started: Machine) -> None:
    pid = started.property("MainPID")
    status = dict(line.split(":", 1) for line in started.run(f"cat /proc/{pid}/status").splitlines())
    assert int(status["Uid"].split()[0]) != 0
    assert {status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    root = started.run(f"head -n 1 /proc/{pid}/mountinfo").split()
    assert (root[4], root[5].split(",")[0]) == ("/", "ro")


def test_the_lock_down_of_workers_holds_under_the_unit(started: Machine) -> None:
    """By a copy of the unit in which doctor stands for the daemon."""
    unit = started.run("cat /etc/systemd/system/tooltoolexec.service")
    lines = [line for line in unit.splitlines() if not line.startswith(("Restart", "RuntimeDirectory", "Type"))]
    copy = "\n".join(lines).replace("serve --config " + FILE, "doctor --json")
    assert copy != "\n".join(lines)
    output = "Type=oneshot\nStandardOutput=truncate:/run/doctor.json\n"
    started.write("/etc/systemd/system/doctor.service", copy.replace("[Service]\n", "[Service]\n" + output))
    started.run("systemctl daemon-reload; systemctl start doctor")
    found = json.loads(started.run("cat /run/doctor.json"))
    states = {layer["name"]: layer["state"] for layer in found["layers"]}
    assert found["good"] is True
    for layer in ("rlimits", "no_new_privs", "not_dumpable", "seccomp", "capabilities", "worker", "isolate"):
        assert states[layer] == "on", found
    # These two are the kernel's to give. No option of the unit may stand in their way.
    bare = json.loads(started.run("runuser -u tooltoolexec -- /opt/tooltoolexec/bin/tooltoolexec doctor --json"))
    for layer in bare["layers"]:
        if layer["name"] in ("network", "landlock") and layer["state"] == "on":
            assert states[layer["name"]] == "on", found


def test_a_reload_takes_settings_over(started: Machine) -> None:
    started.write(FILE, SETTINGS + "queue = 77\n")
    started.run("systemctl reload tooltoolexec")
    status = f"/opt/tooltoolexec/bin/tooltoolexec status --json --connect {UNIX}"
    wait_until(lambda: json.loads(started.run(status))["queue"] == 77, "the reload")


def test_a_daemon_that_is_killed_is_started_again(started: Machine) -> None:
    before = started.property("MainPID")
    started.run(f"kill -9 {before}")
    wait_until(
        lambda: started.property("ActiveState") == "active" and started.property("MainPID") not in ("0", before),
        "another daemon",
    )
    assert started.run(started.program(ANSWER)) == "42\n"


def test_a_wrong_setting_is_told_and_tried_again_until_it_is_mended(started: Machine) -> None:
    started.write(FILE, SETTINGS + "workers = 0\n")
    started.run("! systemctl restart tooltoolexec")
    assert started.property("SubState") in ("auto-restart", "start")
    assert "workers" in started.journal()
    started.write(FILE, SETTINGS)
    wait_until(lambda: started.property("ActiveState") == "active", "it is mended")


def test_stopping_it_lets_runs_end(started: Machine) -> None:
    code = "async () => { console.log('begun'); await new Promise(r => setTimeout(r, 5000)); return 'ended' }"
    with started.start(started.program(code)) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "begun\n"
        started.run("systemctl stop tooltoolexec")
        said, _nothing = running.communicate(timeout=PATIENCE_S)
    assert '"draining", "runs": 1' in started.journal()
    assert said.splitlines()[-1] == '"ended"'
    assert (started.property("Result"), started.property("ActiveState")) == ("success", "inactive")


def test_with_the_files_left_in_their_place_a_reload_sees_a_new_token(started: Machine) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```ini\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    folder, added = "/etc/systemd/system/tooltoolexec.service.d", "one-more-token-0123456789"
    started.run(f"install -d {folder}")
    started.write(f"{folder}/files.conf", blocks[0])
    owner = "chown {} /etc/tooltoolexec/tokens /etc/tooltoolexec/key.pem"
    try:
        started.run(f"{owner.format('tooltoolexec')}; systemctl daemon-reload; systemctl restart tooltoolexec")
        assert started.run(started.program(ANSWER)) == "42\n"
        started.run(f"echo 'added {added}' >> /etc/tooltoolexec/tokens; systemctl reload tooltoolexec")
        started.write("/etc/tooltoolexec/token-of-added", added)
        command = started.program(ANSWER).replace("/etc/tooltoolexec/tokens", "/etc/tooltoolexec/token-of-added")

        def is_let_in() -> bool:
            with started.start(command) as running:
                return running.communicate(timeout=PATIENCE_S)[0] == "42\n"

        wait_until(is_let_in, "the new token counts")
    finally:
        started.run(f"rm -r {folder}; {owner.format('root')}; systemctl daemon-reload")


def test_with_the_socket_unit_a_client_that_comes_while_none_runs_is_served(booted: Machine) -> None:
    booted.write(FILE, "")
    booted.run("systemctl stop tooltoolexec; systemctl reset-failed; systemctl start tooltoolexec.socket")
    try:
        assert booted.property("ActiveState") == "inactive"
        assert booted.run(booted.program(ANSWER)) == "42\n"
        assert booted.property("ActiveState") == "active"
        booted.run("systemctl stop tooltoolexec.service 2>&1")
        assert booted.run(booted.program(ANSWER, address="unix:/run/tooltoolexec.sock")) == "42\n"
    finally:
        booted.run("systemctl stop tooltoolexec.socket tooltoolexec.service")
