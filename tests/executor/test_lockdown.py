"""What a process can still do once it is locked down, seen from inside one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from tooltoolexec_executor.worker.memory import MemoryGauge

FORBIDDEN = {
    "open a file": "open('/etc/hostname')",
    "make a socket": "__import__('socket').socket()",
    "fork": "os.fork()",
    "start a program": "os.execv('/bin/true', ['true'])",
    "signal another process": "os.kill(os.getppid(), 0)",
    "trace": "libc.ptrace(0, 0, 0, 0) == 0 or fail()",
    "read another process": "libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0) == 0 or fail()",
    "make a directory": "os.mkdir('/tmp/never')",
    "leave its limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (10000, 10000))",
}

SCRIPT = """
import ctypes, os, resource
from tooltoolexec_executor.lockdown import Lockdown
libc = ctypes.CDLL(None)
def fail():
    raise PermissionError
Lockdown().apply()
try:
    {act}
except (PermissionError, ValueError):
    os._exit(0)
os._exit(1)
"""


def locked_down(act: str) -> int:
    """The exit status of a process that tries `act` after its lock-down: 0 when it was refused."""
    return subprocess.run([sys.executable, "-c", SCRIPT.format(act=act)], timeout=30, check=False).returncode


@pytest.mark.parametrize("act", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_a_locked_down_process_cannot(act: str) -> None:
    if "setrlimit" in act and os.geteuid() == 0:
        pytest.skip("root may raise its limits until workers get a user of their own")
    assert locked_down(act) == 0


def test_a_locked_down_process_can_still_make_threads_and_answer() -> None:
    act = "import threading; t = threading.Thread(target=lambda: os.write(1, b'')); t.start(); t.join(); fail()"
    assert locked_down(f"exec({act!r})") == 0


def test_it_has_no_new_privileges_and_dumps_no_core() -> None:
    act = (
        "import resource; ok = libc.prctl(39, 0, 0, 0, 0) == 1 and libc.prctl(3, 0, 0, 0, 0) == 0 and "
        "resource.getrlimit(resource.RLIMIT_CORE) == (0, 0); ok and fail()"
    )
    assert locked_down(f"exec({act!r})") == 0


def test_the_memory_gauge_can_be_read_from_two_threads_at_once() -> None:
    """The watchdog and the loop do; a shared place in the file once gave one of them nothing to read."""
    gauge = MemoryGauge()
    gauge.reset()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(20_000):
                gauge.growth()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
