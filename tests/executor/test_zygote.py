"""What a zygote does when the system gives it no more processes, and what the daemon makes of it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from typing import cast

import pytest
import trio

from tooltoolexec_executor import supervise, zygote
from tooltoolexec_executor.lockdown import Lockdown
from tooltoolexec_executor.worker import native
from tooltoolexec_executor.worker.runtime import Runtime
from tooltoolexec_executor.workers import WorkerGoneError


@pytest.fixture
def forking() -> tuple[zygote._Zygote, socket.socket]:
    """A zygote in this process, and the daemon's end of its control socket with one request in it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control, workers_end = socket.socketpair()
    with control, workers_end:
        socket.send_fds(ours, [zygote.WARM], [workers_end.fileno()])
    return zygote._Zygote(theirs, Runtime("", ()), cast("native.Trampoline", None), cast("Lockdown", None)), ours


def test_a_fork_that_fails_is_reported_and_ends_nobody(
    forking: tuple[zygote._Zygote, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", fork)
    one, ours = forking
    with ours, one._control:
        one._fork()
        assert ours.recv(64) == b"N %d" % errno.EAGAIN


def test_a_child_that_cannot_be_held_is_ended(
    forking: tuple[zygote._Zygote, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    def pidfd_open(_pid: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "fork", lambda: child.pid)
    monkeypatch.setattr(os, "pidfd_open", pidfd_open)
    one, ours = forking
    with ours, one._control:
        one._fork()
        assert ours.recv(64) == b"N %d" % errno.EMFILE
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    child.returncode = -signal.SIGKILL  # It was reaped behind this object's back.


def test_the_daemon_takes_it_for_a_worker_that_cannot_start() -> None:
    async def ask() -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with subprocess.Popen([sys.executable, "-c", ""]) as process, theirs:  # noqa: ASYNC220 - it ends at once
            asked = supervise.Zygote(process, ours)
            worker = await asked.spawn(hurried=False)
            _data, descriptors, _flags, _address = socket.recv_fds(theirs, 64, 1)
            os.close(descriptors[0])
            theirs.send(b"N 11")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(asked.listen)
                with pytest.raises(WorkerGoneError):
                    await worker.ready()
                await worker.has_ended.wait()
                assert worker.was_born
                nursery.cancel_scope.cancel()
            worker.close()
            asked.close()

    trio.run(ask)


def test_a_worker_whose_handle_was_lost_on_the_way_is_ended() -> None:
    async def ask() -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with subprocess.Popen([sys.executable, "-c", ""]) as process, theirs:  # noqa: ASYNC220 - it ends at once
            asked = supervise.Zygote(process, ours)
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])  # noqa: ASYNC220 - the same
            for _ in range(2):  # The second time it is gone already.
                worker = await asked.spawn(hurried=False)
                asked._take_report(b"P %d" % child.pid, -1)
                assert child.wait() == -signal.SIGKILL
                worker.close()
            asked.close()

    trio.run(ask)
