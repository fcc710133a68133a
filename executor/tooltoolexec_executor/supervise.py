"""The zygote from the daemon's side: it starts it, asks it for workers, and hears of their ends.

    starting ──"Z …"──▶ forking ──end of file, or silence──▶ gone
        │                └──retired──▶ seeing its workers out ──the last one ended──▶ gone
        └──no "Z …" in time, or one of other code──▶ gone

When a zygote ends, the kernel ends its workers with it. The pool replaces a zygote that is gone, and one that is due:
its workers share one layout of memory, and each that crashes may have told an attacker something about it.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from importlib import metadata

import trio

from tooltoolexec_executor import launch
from tooltoolexec_executor.errors import NoWorkersError, UpgradedError
from tooltoolexec_executor.fingerprint import fingerprint
from tooltoolexec_executor.workers import Worker
from tooltoolexec_executor.zygote import CANNOT_START, HURRIED, READY, WARM

log = logging.getLogger("tooltoolexec")

_START_S = 20.0
_DUE_FORKS = 10_000
_DUE_CRASHES = 8
_CRASHES = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS})
_EXIT_S = 1.0
_LONGEST_MESSAGE = 64
_VERSION = metadata.version("tooltoolexec")


class ZygoteGoneError(Exception):
    """The zygote ended, or does not answer: there are no workers to be had from it."""


class Zygote:
    """One running zygote. `spawn` may be called from many tasks."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process = process
        control.setblocking(False)
        self._control = trio.socket.from_stdlib_socket(control)
        # Births are reported in the order of the requests.
        self._unborn: deque[Worker] = deque()
        self._workers: dict[int, Worker] = {}
        self._is_gone = False
        self._is_retired = False
        self._listening: trio.CancelScope | None = None
        self._forks = self._crashes = 0

    async def spawn(self, *, hurried: bool) -> Worker:
        """A new worker, perhaps not born yet; a hurried one is ready sooner and its run a little slower.

        Raises:
            ZygoteGoneError: there will be none from this zygote.
        """
        if self._is_gone or self._is_retired:
            raise ZygoteGoneError
        self._forks += 1
        ours, theirs = socket.socketpair()
        worker = Worker(ours, self)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, theirs.fileno().to_bytes(4, sys.byteorder))
        self._unborn.append(worker)
        with theirs:
            try:
                await self._control.sendmsg([HURRIED if hurried else WARM], [rights])
            except OSError:
                worker.close()
                raise ZygoteGoneError from None
        return worker

    def replace(self) -> None:
        """It does not answer: end it, so that the pool starts another one."""
        log.error("The process that forks workers does not answer; it is replaced.")
        self._process.kill()

    async def started(self) -> None:
        """Wait until it can fork.

        Raises:
            ZygoteGoneError: it ended or is silent.
            NoWorkersError: it cannot start here; it wrote why to standard error.
            UpgradedError: it runs, or failed to run, other code than this daemon.
        """
        message = None
        with trio.move_on_after(_START_S) as patience:
            message = await self._receive()
        if message is not None and message[0] == READY:
            return
        if message is not None or _is_exchanged():
            raise UpgradedError(_exchange())
        if not patience.cancelled_caught and await self._exit_status() == CANNOT_START:
            raise NoWorkersError("Workers cannot start on this machine; the line before says why.")
        raise ZygoteGoneError("The process that forks workers cannot start.")

    async def _exit_status(self) -> int | None:
        """The status of a process that has hung up already; None if it takes its time."""
        pidfd = os.pidfd_open(self._process.pid)
        try:
            with trio.move_on_after(_EXIT_S):
                await trio.lowlevel.wait_readable(pidfd)
        finally:
            os.close(pidfd)
        return self._process.poll()

    def pids(self) -> list[int]:
        """Its process, then those of its workers."""
        return [self._process.pid, *self._workers]

    @property
    def is_due(self) -> bool:
        """Whether it should have a successor, with a layout of memory of its own."""
        return self._forks >= _DUE_FORKS or self._crashes >= _DUE_CRASHES

    def retire(self) -> None:
        """Fork no more; `listen` returns once the last worker has ended."""
        self._is_retired = True
        if self._is_spent and self._listening is not None:
            self._listening.cancel()

    async def listen(self) -> None:
        """Take reports until the zygote ends, or is spent; then everything that came from it is at its end as well."""
        try:
            with trio.CancelScope() as self._listening:
                while not self._is_spent and (message := await self._receive()) is not None:
                    self._take_report(*message)
        finally:
            self._is_gone = True
            for worker in (*self._unborn, *self._workers.values()):
                worker.kill()  # The kernel does it too, but for a worker that had not asked it yet.
                worker.ended(None)
            self._unborn.clear()
            self._workers.clear()

    @property
    def _is_spent(self) -> bool:
        return self._is_retired and not self._workers and not self._unborn

    def _take_report(self, report: bytes, descriptor: int) -> None:
        kind, *numbers = report.split()
        if kind == b"P":
            worker = self._unborn.popleft()
            self._workers[int(numbers[0])] = worker
            if descriptor < 0:  # It could not be taken: without it nobody could end the worker later.
                with suppress(ProcessLookupError):
                    os.kill(int(numbers[0]), signal.SIGKILL)
            worker.born(descriptor)
        elif kind == b"N":
            worker = self._unborn.popleft()
            worker.was_born = True  # As far as it ever will be: the zygote has answered.
            worker.ended(None)
        elif kind == b"X":
            status = int(numbers[1])
            self._crashes += os.WIFSIGNALED(status) and os.WTERMSIG(status) in _CRASHES
            self._workers.pop(int(numbers[0])).ended(status)

    def close(self) -> None:
        """End it and, with it, its workers."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    async def _receive(self) -> tuple[bytes, int] | None:
        try:
            data, ancillary, _flags, _address = await self._control.recvmsg(_LONGEST_MESSAGE, socket.CMSG_SPACE(4))
        except OSError:
            return None
        descriptor = int.from_bytes(ancillary[0][2][:4], sys.byteorder) if ancillary else -1
        return (data, descriptor) if data else None


def _is_exchanged() -> bool:
    """Whether the package's files are not those any more that this daemon was started from."""
    try:
        return READY.split()[1].decode() != fingerprint()
    except OSError:
        return True  # At this moment.


def _exchange() -> str:
    """A sentence on it."""
    try:
        found = metadata.version("tooltoolexec")
    except metadata.PackageNotFoundError:
        return f"tooltoolexec {_VERSION} was removed under this daemon. Restart it once it is there again."
    if found == _VERSION:
        return f"The code of tooltoolexec {_VERSION} was exchanged under this daemon. Restart it."
    return f"tooltoolexec was upgraded from {_VERSION} to {found} under this daemon. Restart it."


async def start_zygote() -> Zygote:
    """A zygote that can fork; `listen` to it, and `close` it in the end.

    Raises:
        ZygoteGoneError: it ended or is silent.
        NoWorkersError: it cannot start here; it wrote why to standard error.
        UpgradedError: it would run other code than this daemon.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        # By exec, never by a fork of the running daemon: a fork would share its memory and descriptors.
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own arguments; trio's own would tie the process to a task; it returns at once
            launch.command(theirs.fileno()),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=launch.environment(),
        )
    zygote = Zygote(process, ours)
    try:
        await zygote.started()
    except BaseException:
        zygote.close()
        raise
    return zygote
