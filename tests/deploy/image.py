"""The image, built by podman over a base of this machine's own, and a container of it.

The base is a Debian made by debootstrap, because a test must not depend on a registry of images. It is kept in the
user's cache folder.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from serving import wait_until

ROOT = Path(__file__).parents[2]
BASE, IMAGE = "localhost/tooltoolexec-test-bookworm", "localhost/tooltoolexec-test"
MUST_RUN = "TOOLTOOLEXEC_TEST_CONTAINER"
"""Where this is set, a machine without podman fails the tests instead of skipping them."""
_TOOLS = ("podman", "runc", "debootstrap")
_PYTHON, _WHEELS = "3.11", "/wheels"
"""What Debian's release has, and where its packages are while the image is built."""
# The runtime that Debian's podman works with where there is no systemd; the machine's own limits may be lower than
# podman's.
_RUNTIME = ("--runtime", "runc", "--network", "host", "--ulimit", "nofile=1024:1024")


def why_not() -> str | None:
    """Why no container can be run here."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not installed (Debian: {' '.join(_TOOLS)})"
    return None if os.getuid() == 0 else "debootstrap takes root"


def podman(*args: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run podman; its output is text."""
    # Not from the checkout: where a container runs out of memory, its monitor leaves a file in its current folder.
    return subprocess.run(
        ["podman", *args], cwd=tempfile.gettempdir(), capture_output=True, text=True, timeout=timeout, check=False
    )


@functools.cache
def build() -> None:
    """Make the base, unless it is there, and the image from this checkout. One process at a time does."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tooltoolexec-tests"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build(cache / "debian")


def _build(debian: Path) -> None:
    if podman("image", "exists", BASE).returncode:
        _bootstrap(debian)
        with subprocess.Popen(["tar", "-C", str(debian), "-c", "."], stdout=subprocess.PIPE) as packing:
            subprocess.run(["podman", "import", "-", BASE], stdin=packing.stdout, check=True)
    with tempfile.TemporaryDirectory() as place:
        command = ["podman", "build", *_RUNTIME, *_packages(Path(place)), f"--build-arg=BASE={BASE}", "--format=docker"]
        subprocess.run([*command, "--file=deploy/Containerfile", f"--tag={IMAGE}", "."], cwd=ROOT, check=True)


def _bootstrap(folder: Path) -> None:
    """A small Debian; with systemd, so that it is a machine to try the units on as well."""
    if folder.exists():
        return
    half = folder.with_name("debian.half")
    shutil.rmtree(half, ignore_errors=True)
    include = "--include=python3,python3-venv,libseccomp2,ca-certificates,procps,systemd-sysv"
    subprocess.run(["debootstrap", "--variant=minbase", include, "bookworm", str(half)], check=True)
    half.rename(folder)


def _packages(folder: Path) -> list[str]:
    """Fetch what the image installs, and the options of `podman build` that have pip inside take it from there.

    So however pip has been told on this machine to find packages, the build need not know.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["executor"],
    ]
    fetch = [sys.executable, "-m", "pip", "download", "-q", f"--python-version={_PYTHON}", "--only-binary=:all:"]
    subprocess.run([*fetch, f"--dest={folder}", *wanted], check=True)
    config = folder / "pip.conf"
    config.write_text(f"[global]\nno-index = true\nfind-links = {_WHEELS}\n", encoding="utf-8")
    return [f"--volume={folder}:{_WHEELS}:ro", f"--volume={config}:/etc/pip.conf:ro"]


class Container:
    """A running container of the image."""

    def __init__(self, name: str) -> None:
        self.name = name

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        return podman("exec", self.name, *command)

    def is_running(self) -> bool:
        return podman("inspect", "--format={{.State.Running}}", self.name).stdout.strip() == "true"

    def exit_code(self) -> str:
        return podman("inspect", "--format={{.State.ExitCode}}", self.name).stdout.strip()

    def log(self) -> str:
        ended = podman("logs", self.name)
        return ended.stdout + ended.stderr


@contextmanager
def container(secrets: Path, *, port: int, metrics: int) -> Iterator[Container]:
    """As deploy/compose.yaml runs it, but on this machine's loopback."""
    name = f"tooltoolexec-test-{os.getpid()}"
    started = podman(
        "run", "--detach", f"--name={name}", *_RUNTIME, "--ulimit=nproc=1024:1024",
        # Its timer would be systemd's; the check itself is run by the test.
        "--health-interval=disable",
        "--read-only", "--tmpfs=/run/tooltoolexec:mode=1777,size=64k", "--cap-drop=ALL",
        "--security-opt=no-new-privileges", "--memory=2g", f"--volume={secrets}:/etc/tooltoolexec:ro",
        f"--env=TOOLTOOLEXEC_LISTEN=unix:/run/tooltoolexec/daemon.sock tls://127.0.0.1:{port}",
        f"--env=TOOLTOOLEXEC_METRICS=127.0.0.1:{metrics}",
        IMAGE,
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    one = Container(name)
    try:
        wait_until(lambda: '"ready"' in one.log() or not one.is_running(), "the daemon inside is ready")
        assert one.is_running(), one.log()
        yield one
    finally:
        podman("rm", "--force", "--time=5", name)
