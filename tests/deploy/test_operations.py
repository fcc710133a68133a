"""The page for operators does what it says: its commands, from nothing to a client on another machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import PATIENCE_S, wait_until

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
DAEMON, CLIENT = "10.77.0.1", "10.77.0.2"
AS_DAEMON = "setpriv --reuid=tooltoolexec --regid=tooltoolexec --init-groups \\\n  "

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="only root can make network namespaces"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="ip is not installed (Debian: iproute2)"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


def blocks(kind: str) -> str:
    """The page's shell blocks of one kind, in order."""
    return "\n".join(re.findall(rf"^```sh {kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def machines() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a cable between them; their names."""
    names = (f"ttd{os.getpid()}", f"ttc{os.getpid()}")
    commands = [
        *(f"ip netns add {name}" for name in names),
        f"ip link add {names[0]} netns {names[0]} type veth peer name {names[1]} netns {names[1]}",
    ]
    for name, address in zip(names, (DAEMON, CLIENT), strict=True):
        commands += [
            f"ip -n {name} address add {address}/24 dev {name}",
            f"ip -n {name} link set {name} up",
            f"ip -n {name} link set lo up",
        ]
    try:
        for command in commands:
            made = subprocess.run(command.split(), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            if made.returncode:
                pytest.skip(f"no network namespaces here: {made.stderr.strip()}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, timeout=PATIENCE_S, check=False)


class Shell:
    """Runs the page's commands on one of the machines.

    They are as they stand but for places and users: a test must not write to /etc, nor make users on this machine.
    """

    def __init__(self, machine: str, folder: Path) -> None:
        self._machine, self._folder = machine, folder
        self._command = str(Path(sys.executable).with_name("tooltoolexec"))

    def _adapt(self, text: str) -> str:
        text = text.replace("/opt/tooltoolexec/bin/tooltoolexec", self._command)
        text = text.replace(AS_DAEMON, "exec " if "serve --config" in text else "")
        text = text.replace("chown tooltoolexec ", "chown root ").replace("-o tooltoolexec ", "-o root ")
        text = re.sub(r"^tooltoolexec run", f"{self._command} run", text, flags=re.MULTILINE)
        return text.replace("/etc/tooltoolexec", str(self._folder / "etc")).replace(
            "/run/tooltoolexec", str(self._folder / "run")
        )

    def start(self, text: str) -> subprocess.Popen[str]:
        command = ["ip", "netns", "exec", self._machine, "bash", "-euo", "pipefail", "-c", self._adapt(text)]
        return subprocess.Popen(command, cwd=self._folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, text: str) -> tuple[int, str]:
        with self.start(text) as process:
            said, _nothing = process.communicate(timeout=PATIENCE_S)
        return process.returncode, said


def test_from_nothing_to_a_client_on_another_machine(machines: tuple[str, str], tmp_path: Path) -> None:
    daemon, client = (Shell(machine, tmp_path) for machine in machines)
    code, said = daemon.run(blocks("daemon"))
    assert code == 0, said
    with daemon.start(blocks("serve")) as serving:
        assert serving.stdout is not None
        try:
            for line in serving.stdout:
                if '"ready"' in line:
                    break
            else:
                pytest.fail("the daemon ended")
            for name in ("ca.pem", "token-of-reports"):
                shutil.copy(tmp_path / "etc" / name, tmp_path)
            assert client.run(blocks("client")) == (0, "42\n")
            without = blocks("client").replace(" --token-file token-of-reports", "")
            code, said = client.run(without)
            assert code == 2
            assert "needs a valid token" in said
            code, said = client.run(blocks("client").replace("--ca ca.pem", ""))
            assert code == 2
            assert "--ca" in said
            # Its metrics are on loopback, so the other machine sees none.
            code, said = client.run(
                f"{sys.executable} -c 'import socket; socket.create_connection((\"{DAEMON}\", 9464), 2)'"
            )
            assert code != 0
        finally:
            serving.terminate()
            serving.stdout.read()
    assert serving.returncode == 0
    wait_until(lambda: not (tmp_path / "run" / "daemon.sock").exists(), "the socket is gone")


def test_the_page_installs_as_the_container_does() -> None:
    """That block is not run here, for it changes the machine; the image runs the same two commands."""
    install = blocks("install")
    container = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
    for command in ("python3 -m venv /opt/tooltoolexec", "install '.[executor]'"):
        assert command in install
    assert "python3 -m venv /opt/tooltoolexec" in container
    assert "'.[executor]'" in container
    assert "libseccomp2" in install
    assert "libseccomp2" in container


def test_the_page_says_what_to_do_about_each_alert() -> None:
    alerts = re.findall(r"alert: (\w+)", (ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
    assert alerts
    assert [name for name in alerts if f"`{name}`" not in PAGE] == []
