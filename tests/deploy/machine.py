"""A machine with systemd, booted as a container of the image, on which the units are installed as the page says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from serving import TOKEN, Certificates, wait_until

from .image import IMAGE, ROOT, podman

SETTINGS = 'listen = ["unix:/run/tooltoolexec/daemon.sock", "tls://127.0.0.1:7070"]\n'
UNIX = "unix:/run/tooltoolexec/daemon.sock"
_COMMAND = "/opt/tooltoolexec/bin/tooltoolexec"
# Outside a container systemd shares mounts by itself. Credentials take that.
_BOOT = "mount --make-rshared / && exec /lib/systemd/systemd"


class Machine:
    """Runs commands on it, as root."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, command: str) -> str:
        """A shell command that must succeed; what it printed."""
        ended = podman("exec", self.name, "bash", "-euo", "pipefail", "-c", command)
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}{self.journal()}"
        return ended.stdout

    def start(self, command: str) -> subprocess.Popen[str]:
        """A shell command that goes on while the test does."""
        return subprocess.Popen(
            ["podman", "exec", self.name, "bash", "-euo", "pipefail", "-c", command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def write(self, path: str, text: str) -> None:
        subprocess.run(
            ["podman", "exec", "--interactive", self.name, "tee", path],
            input=text, text=True, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip

    def journal(self) -> str:
        return podman("exec", self.name, "journalctl", "--no-pager", "--lines=30", "--unit=tooltoolexec").stdout

    def property(self, name: str) -> str:
        """What systemd knows of the service."""
        return self.run(f"systemctl show --value --property={name} tooltoolexec.service").strip()

    def program(self, code: str, *, address: str = "tls://127.0.0.1:7070") -> str:
        """The command that runs a program there, as a client on the machine."""
        trust = "--ca /etc/tooltoolexec/ca.pem --token-file /etc/tooltoolexec/tokens"
        return f'{_COMMAND} run --connect {address} {trust if address.startswith("tls") else ""} - <<< "{code}"'


@contextmanager
def machine(secrets: Path) -> Iterator[Machine]:
    """It is up, with the service installed, and not started."""
    name = f"tooltoolexec-machine-{os.getpid()}"
    started = podman(
        "run", "--detach", f"--name={name}", "--runtime=runc", "--network=none",
        "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", "--health-interval=disable", "--systemd=always",
        # What systemd needs to lock services down; /proc/sys and the machine's own control groups stay read-only.
        "--cap-add=SYS_ADMIN", "--security-opt=seccomp=unconfined",
        "--user=0", "--entrypoint=/bin/sh", IMAGE, "-c", _BOOT,
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    one = Machine(name)
    try:
        wait_until(lambda: podman("exec", name, "systemctl", "is-system-running").returncode == 0, "it is up")
        certificates = Certificates(secrets)
        one.run("useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin tooltoolexec")
        one.run("install -d /etc/tooltoolexec")
        for file in (certificates.ca, certificates.cert, certificates.key):
            one.write(f"/etc/tooltoolexec/{file.name}", file.read_text())
        one.write("/etc/tooltoolexec/tokens", f"tests {TOKEN}\n")
        one.write("/etc/tooltoolexec/tooltoolexec.toml", SETTINGS)
        one.run("chmod 600 /etc/tooltoolexec/tokens /etc/tooltoolexec/key.pem")
        for unit in (ROOT / "deploy" / "systemd").iterdir():
            one.write(f"/etc/systemd/system/{unit.name}", unit.read_text(encoding="utf-8"))
        one.run("systemctl daemon-reload")
        yield one
    finally:
        podman("rm", "--force", "--time=2", name)
