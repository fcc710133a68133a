"""Daemons and a balancer on loopback addresses of their own, with the ports that the examples name."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from serving import PATIENCE_S, TOKEN, Certificates, wait_until

PROGRAMS, METRICS = 7070, 9464


def own_address() -> str:
    """A loopback address that no other test has: all of 127.0.0.0/8 is this machine's."""
    return f"127.{random.randrange(1, 250)}.{random.randrange(256)}.{random.randrange(2, 250)}"


class Daemon:
    """`tooltoolexec serve` at tls://ADDRESS:7070, with its metrics at ADDRESS:9464; may be started again."""

    def __init__(self, address: str, certificates: Certificates) -> None:
        self.address = address
        self._certificates = certificates
        self.start()

    def start(self) -> None:
        command = [
            sys.executable, "-c", "from tooltoolexec_executor.cli import serve; serve()",
            f"--listen=tls://{self.address}:{PROGRAMS}", f"--metrics={self.address}:{METRICS}",
            f"--tls-cert={self._certificates.cert}", f"--tls-key={self._certificates.key}",
            "--workers=4", "--grace-s=10",
        ]  # fmt: skip
        environment = {**os.environ, "TOOLTOOLEXEC_TOKENS": f"tests={TOKEN}"}
        self._process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        wait_until(self.is_ready, f"{self.address} is ready")

    def is_ready(self) -> bool:
        """What /readyz says."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:{METRICS}/readyz", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def drain(self) -> None:
        """End it in good order, and wait for that."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(PATIENCE_S) == 0

    def close(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(PATIENCE_S)


@contextmanager
def balancer(config: str, folder: Path, address: str) -> Iterator[None]:
    """HAProxy with this configuration, which listens at `address`."""
    file = folder / "haproxy.cfg"
    file.write_text(config)
    process = subprocess.Popen(["haproxy", "-db", "-f", str(file)], stderr=subprocess.PIPE, text=True)
    try:
        wait_until(_answers(address), "HAProxy listens")
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


def _answers(address: str) -> Callable[[], bool]:
    def try_it() -> bool:
        try:
            socket.create_connection((address, PROGRAMS), 1).close()
        except OSError:
            return False
        return True

    return try_it
