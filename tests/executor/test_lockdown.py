"""What a process can still do once it is locked down, seen from inside one, in every combination of layers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import cache

import pytest

from tooltoolexec_executor.lockdown.layers import WITHOUT, WORKER_LAYERS, ZYGOTE_LAYERS
from tooltoolexec_executor.worker.memory import MemoryGauge

ALL = (*ZYGOTE_LAYERS, *WORKER_LAYERS)
COMBINATIONS = {
    "all of them": ALL,
    "the required ones": tuple(WITHOUT),
    **{f"all but {layer}": tuple(one for one in ALL if one != layer) for layer in ALL if layer not in WITHOUT},
}
ORDINARY_UID = 54321

FORBIDDEN = {
    "open a file": "open('/etc/hostname')",
    "make a socket": "socket.socket()",
    "make a pair of sockets": "socket.socketpair()",
    "connect": "old_socket.connect(('127.0.0.1', port))",
    "name a receiver": "pair[0].sendto(b'', '/nowhere')",
    "pass a descriptor on": "socket.send_fds(pair[0], [b'x'], [0])",
    "fork": "os.fork()",
    "fork as a thread would": "call('clone', 0x3D0F00 & ~0x10000, 0, 0, 0, 0)",
    "make a thread with namespaces of its own": "call('clone', 0x3D0F00 | 0x40000000, 0, 0, 0, 0)",
    "start a program": "os.execv('/bin/true', ['true'])",
    "start a program by descriptor": "call('execveat', 3, b'', None, None, 0x1000)",
    "signal another process": "os.kill(os.getppid(), 0)",
    "signal a thread": "call('tgkill', os.getppid(), os.getppid(), 0)",
    "hold another process": "os.pidfd_open(os.getppid())",
    "trace": "call('ptrace', 0x4206, os.getppid(), 0, 0)",
    "read another process": "call('process_vm_readv', os.getppid(), None, 0, None, 0, 0)",
    "write another process": "call('process_vm_writev', os.getppid(), None, 0, None, 0, 0)",
    "open another process's memory": "os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY)",
    "make a directory": "os.mkdir('/tmp/never')",
    "look at a file": "os.stat('/etc/hostname')",
    "have memory that grows by itself": "call('mmap', None, 4096, 3, 0x122, -1, 0)",
    "move memory": "call('mremap', own_memory, 4096, 4096, 0)",
    "read another process's clock": "call('clock_gettime', (~os.getppid() << 3) | 2, ctypes.create_string_buffer(16))",
    "look at another process's processors": "absent('sched_getaffinity', 1, 128, ctypes.create_string_buffer(128))",
    "hold its peer": "pair[0].getsockopt(socket.SOL_SOCKET, 77)",
    "send out of band": "pair[0].send(b'x', socket.MSG_OOB)",
    "receive out of band": "pair[0].recv(1, socket.MSG_OOB)",
    "share memory": "mmap.mmap(-1, 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)",
    "make a file in memory": "os.memfd_create('x')",
    # To what they are: whatever goes past a hard limit, the limit itself refuses.
    "set how many descriptors it may have": "set_again(resource.RLIMIT_NOFILE)",
    "set how large a file it may write": "set_again(resource.RLIMIT_FSIZE)",
    "limit another process": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "become dumpable": "libc.prctl(4, 1, 0, 0, 0) == 0 or fail()",
    "outlive its parent": "libc.prctl(1, 0, 0, 0, 0) == 0 or fail()",
    "own a descriptor's signals": "fcntl.fcntl(pair[0], fcntl.F_SETOWN, os.getppid())",
    "type into a terminal": "fcntl.ioctl(0, termios.TIOCSTI, b'x')",
    "become root": "os.setresuid(0, 0, 0)",
    "make namespaces": "call('unshare', 0x10000000)",
    "join namespaces": "call('setns', 3, 0)",
    "mount": "call('mount', None, b'/', None, 0x1000, None)",
    "use io_uring": "call('io_uring_setup', 1, ctypes.create_string_buffer(256))",
    "use bpf": "call('bpf', 0, None, 0)",
    "handle its own page faults": "call('userfaultfd', 1)",
    "use keys": "call('keyctl', 0, -3, 1)",
    "count events": "call('perf_event_open', None, 0, -1, -1, 0)",
}
ALLOWED = {
    "make a thread": "t = threading.Thread(target=lambda: None); t.start(); t.join()",
    "limit its own time": "resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))",
    "limit its own memory": "resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, 1 << 40))",
    "read its limits": "assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)",
    "have no new privileges": "assert libc.prctl(39, 0, 0, 0, 0) == 1",
    "be closed to others": "assert libc.prctl(3, 0, 0, 0, 0) == 0",
    "talk to whom it is connected": "pair[0].setblocking(False); pair[0].send(b'x'); assert pair[1].recv(1) == b'x'",
    "duplicate a descriptor": "os.dup(0)",
    "use memory of its own": "mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
    "compile": "mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_EXEC)",
}

# Python's own modules and the filter's library are read before: an ordinary user may not be able to.
SCRIPT = """
import ctypes, errno, fcntl, json, mmap, os, resource, socket, sys, termios, threading
import pyseccomp
from tooltoolexec_executor.lockdown import Lockdown
libc = ctypes.CDLL(None, use_errno=True)
layers, uid, acts, options = json.loads(sys.argv[1])
def fail():
    raise PermissionError
def set_again(limit):
    resource.setrlimit(limit, resource.getrlimit(limit))
def call(name, *arguments):
    number = pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
    ctypes.set_errno(0)  # An address looks negative if only half of it is looked at.
    if libc.syscall(number, *arguments) < 0 and ctypes.get_errno() == errno.EPERM:
        raise PermissionError
def absent(name, *arguments):
    call(name, *arguments)
    if ctypes.get_errno() == errno.ENOSYS:
        raise PermissionError
os.close(os.memfd_create("loads what it needs"))
Lockdown()
if uid is not None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(4, 1, 0, 0, 0)
listener, old_socket, pair = socket.create_server(("127.0.0.1", 0)), socket.socket(), socket.socketpair()
port = listener.getsockname()[1]
mapped = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own_memory = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(mapped)))
def outcome(act):
    try:
        exec(act)
    except (PermissionError, ValueError) as error:
        return 10
    return 11
ended = {}
for name, act in acts.items():
    child = os.fork()
    if child == 0:
        status = 12
        try:
            lockdown = Lockdown(only=layers, **options)
            lockdown.enter()
            lockdown.apply()
            status = outcome(act)
        finally:
            os._exit(status)
    ended[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"""
REFUSED, DONE = 10, 11


@cache
def outcomes(combination: str, *, uid: int | None = None, jitless: bool = False) -> dict[str, int]:
    """How a process ended, for each act, that tried it after its lock-down."""
    task = json.dumps([COMBINATIONS[combination], uid, {**FORBIDDEN, **ALLOWED}, {"jitless": jitless}])
    ran = subprocess.run([sys.executable, "-c", SCRIPT, task], timeout=50, check=True, capture_output=True, text=True)
    found: dict[str, int] = json.loads(ran.stdout)
    return found


def users() -> list[object]:
    """The user of the tests, and an ordinary one."""
    ordinary = (
        () if os.geteuid() == 0 else pytest.mark.skip("only root can become somebody else; it is no root already")
    )
    return [pytest.param(None, id="as it is"), pytest.param(ORDINARY_UID, id="as an ordinary user", marks=ordinary)]


@pytest.mark.parametrize("uid", users())
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_a_locked_down_process_is_refused_whatever_reaches_outside_it(combination: str, uid: int | None) -> None:
    found = outcomes(combination, uid=uid)
    assert {act: found[act] for act in FORBIDDEN} == dict.fromkeys(FORBIDDEN, REFUSED)


@pytest.mark.parametrize("uid", users())
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_a_locked_down_process_can_do_what_a_worker_needs(combination: str, uid: int | None) -> None:
    found = outcomes(combination, uid=uid)
    assert {act: found[act] for act in ALLOWED} == dict.fromkeys(ALLOWED, DONE)


def test_without_a_compiler_no_memory_becomes_executable() -> None:
    found = outcomes("all of them", jitless=True)
    assert found["compile"] == REFUSED
    assert {act: found[act] for act in ALLOWED if act != "compile"} == {
        act: DONE for act in ALLOWED if act != "compile"
    }


def test_the_acts_are_possible_without_a_lock_down() -> None:
    """Otherwise their refusal would say nothing. Those that need privilege or a terminal are left out."""
    COMBINATIONS["none"] = ()
    try:
        found = outcomes("none")
    finally:
        del COMBINATIONS["none"]
    for act in ("open a file", "make a socket", "connect", "fork", "signal another process", "hold another process",
                "look at a file", "share memory", "make a file in memory", "become dumpable",
                "set how many descriptors it may have", "set how large a file it may write",
                "have memory that grows by itself", "move memory", "read another process's clock",
                "look at another process's processors"):  # fmt: skip
        assert found[act] == DONE, act


SEALED = """
import threading
from tooltoolexec_executor.lockdown import Lockdown

def attempt():
    try:
        threading.Thread(target=print).start()
    except RuntimeError as error:
        return str(error)
    return "started"

def second():
    sealed.wait()
    said.append(attempt())

lockdown, sealed, said = Lockdown(), threading.Event(), []
lockdown.apply()
thread = threading.Thread(target=second)
thread.start()
lockdown.seal()
said.append(attempt())
sealed.set()
thread.join()
print(said)
"""


def test_once_a_process_is_sealed_none_of_its_threads_makes_another() -> None:
    ran = subprocess.run([sys.executable, "-c", SEALED], timeout=50, check=False, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == (str(["can't start new thread"] * 2) + "\n", "")


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
