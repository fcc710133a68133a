"""The process that workers are forked from: V8 loaded, initialised and warmed up, one thread, no isolate.

    started by exec ─▶ imports, V8, the filter ─▶ "Z" ─▶ fork on request ─▶ … ─▶ end of file on the control socket: exit

Requests on the control socket (a sequenced-packet socket, so a message stays whole): one byte with the descriptor of
the new worker's control socket; the byte is `WARM`, or `HURRIED` for a worker that somebody waits for and that does not
rehearse. Reports: ``P <pid>`` with the child's pidfd for each request, in order; ``X <pid> <status>`` for each child
that ended, the status as waitpid gives it.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from typing import Never

from tooltoolexec_executor.hugepages import collapse_large_blocks
from tooltoolexec_executor.lockdown import Lockdown
from tooltoolexec_executor.worker import v8
from tooltoolexec_executor.worker.main import serve
from tooltoolexec_executor.worker.rehearsal import rehearse_messages

READY = b"Z"
WARM = b"w"
HURRIED = b"h"
CANNOT_START = 3
"""The exit status of a zygote that gave up by itself: the next one will, too."""
_LONGEST_MESSAGE = 64


def main() -> Never:
    """Be the zygote on the descriptor named by the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    # Terminal signals are the daemon's to handle; it ends this process by closing the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        runtime = v8.runtime_source()
        v8.load()
        v8.warm_up(runtime)
        rehearse_messages()
        zygote = _Zygote(control, runtime, Lockdown())
    except Exception as error:
        sys.stderr.write(f"tooltoolexec: V8 or the lock-down cannot start: {type(error).__name__}: {error}\n")
        sys.exit(CANNOT_START)
    # What is imported now is never collected, so a child's collector touches (and copies) none of it.
    gc.collect()
    gc.freeze()
    collapse_large_blocks()
    with suppress(BrokenPipeError):  # The daemon is gone already; reading will tell.
        control.send(READY)
    zygote.run()


class _Zygote:
    def __init__(self, control: socket.socket, runtime: str, lockdown: Lockdown) -> None:
        self._control = control
        self._runtime = runtime
        self._lockdown = lockdown
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)
        self._children: dict[int, int] = {}  # pid by pidfd

    def run(self) -> Never:
        while True:
            for descriptor, _events in self._poller.poll():
                if descriptor == self._control.fileno():
                    self._fork()
                else:
                    self._reap(descriptor)

    def _fork(self) -> None:
        try:
            message, descriptors, _flags, _address = socket.recv_fds(self._control, _LONGEST_MESSAGE, 1)
        except ConnectionError:  # The daemon ended with a report of ours unread.
            os._exit(0)
        if not message or not descriptors:
            os._exit(0)  # The daemon is gone. The workers follow: they die with this process.
        pid = os.fork()
        if pid == 0:
            self._become_worker(socket.socket(fileno=descriptors[0]), rehearsed=message == WARM)
        os.close(descriptors[0])
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = pid
        self._poller.register(pidfd, select.POLLIN)
        socket.send_fds(self._control, [b"P %d" % pid], [pidfd])

    def _become_worker(self, control: socket.socket, *, rehearsed: bool) -> Never:
        self._control.close()
        for pidfd in self._children:
            os.close(pidfd)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.close(nothing)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        serve(control, self._runtime, self._lockdown, rehearsed=rehearsed)

    def _reap(self, pidfd: int) -> None:
        pid = self._children.pop(pidfd)
        self._poller.unregister(pidfd)
        os.close(pidfd)
        _pid, status = os.waitpid(pid, 0)
        self._control.send(b"X %d %d" % (pid, status))


if __name__ == "__main__":
    main()
