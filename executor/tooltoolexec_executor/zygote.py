"""The process that workers are forked from: V8 loaded, initialised and warmed up, one thread, no isolate.

    started by exec ─▶ imports, V8, the filter, a user of its own ─▶ "Z …" ─▶ fork on request ─▶ …
        └─▶ exit                                       end of file on the control socket ─▶ exit

Requests on the control socket (a sequenced-packet socket, so a message stays whole): one byte with the descriptor of
the new worker's control socket; the byte is `WARM`, or `HURRIED` for a worker that somebody waits for and that does not
rehearse. Reports: for each request, in order, ``P <pid>`` with the child's pidfd, or ``N <errno>`` where no child could
be made; ``X <pid> <status>`` for each child that ended, the status as waitpid gives it.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Never

from tooltoolexec_executor import standard, surroundings
from tooltoolexec_executor.fingerprint import fingerprint
from tooltoolexec_executor.hugepages import collapse_large_blocks
from tooltoolexec_executor.lockdown import Lockdown
from tooltoolexec_executor.lockdown.layers import WITHOUT, Layer
from tooltoolexec_executor.sacrifice import go_first
from tooltoolexec_executor.worker import forms, native, runtime, v8
from tooltoolexec_executor.worker.main import serve
from tooltoolexec_executor.worker.rehearsal import rehearse_messages

READY = b"Z " + fingerprint().encode()
"""A zygote's first message: of the code that it runs, for all imports came before. The daemon compares its own."""
WARM = b"w"
HURRIED = b"h"
CANNOT_START = 3
"""The exit status of a zygote that gave up by itself: the next one will, too."""
REQUIRE_SANDBOX = "--require-sandbox"
JITLESS = "--jitless"
"""Options: end where a required layer cannot be had; let V8 not compile."""
_LONGEST_MESSAGE = 64


def main() -> Never:
    """Be the zygote on the descriptor named by the first argument; the others are options, see `launch`."""
    standard.open_missing()
    control, options = socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]
    # What a terminal or a service manager sends to all of them is the daemon's to handle: runs get their outcome, and
    # this process ends when its socket is closed.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    try:
        lockdown = Lockdown(jitless=JITLESS in options)
        trampoline = native.Trampoline()
        sources = _prepare_v8(trampoline, jitless=JITLESS in options)
    except Exception as error:
        _give_up(f"V8 cannot start: {type(error).__name__}: {error}")
    # What is imported now is never collected, so a child's collector touches (and copies) none of it.
    gc.collect()
    gc.freeze()
    collapse_large_blocks()
    # Last, and while there is one thread: as a user of its own it may be unable to read its own files.
    lockdown.enter()
    try:
        lockdown.check()
    except RuntimeError as error:
        _give_up(str(error))
    _tell_of(lockdown.missing(), options)
    with suppress(BrokenPipeError):  # The daemon is gone already; reading will tell.
        control.send(READY)
    _Zygote(control, sources, trampoline, lockdown).run()


def _prepare_v8(trampoline: native.Trampoline, *, jitless: bool) -> runtime.Runtime:
    """Load V8 and go once through what each worker goes through; gives the runtime's text."""
    surroundings.fix()
    if jitless:
        native.disable_compiler()
    sources = runtime.read()
    v8.load()
    v8.warm_up(sources.core, trampoline)
    rehearse_messages()
    forms.rehearse()
    return sources


def _tell_of(missing: Sequence[Layer], options: Sequence[str]) -> None:
    """Say what workers have to do without; end here if that is not good enough."""
    lacks = [f"{layer.name} is impossible here: {layer.why}" for layer in missing]
    if lacks and REQUIRE_SANDBOX in options:
        _give_up(f"{REQUIRE_SANDBOX}, but {'; '.join(lacks)}")
    for layer, lack in zip(missing, lacks, strict=True):
        sys.stderr.write(
            f"tooltoolexec: workers run without a layer of their lock-down. {lack}. "
            f"Code that breaks out of V8 {WITHOUT[layer.name]}.\n"
        )
    sys.stderr.flush()


def _give_up(why: str) -> Never:
    sys.stderr.write(f"tooltoolexec: {why}\n")
    sys.exit(CANNOT_START)


class _Zygote:
    def __init__(
        self, control: socket.socket, sources: runtime.Runtime, trampoline: native.Trampoline, lockdown: Lockdown
    ) -> None:
        self._control = control
        self._sources = sources
        self._trampoline = trampoline
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
        try:
            pid = os.fork()
        except OSError as error:  # No memory or no process for it; those that run go on.
            os.close(descriptors[0])
            self._report(b"N %d" % (error.errno or 0))
            return
        if pid == 0:
            self._become_worker(socket.socket(fileno=descriptors[0]), rehearsed=message == WARM)
        os.close(descriptors[0])
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as error:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._report(b"N %d" % (error.errno or 0))
            return
        self._children[pidfd] = pid
        self._poller.register(pidfd, select.POLLIN)
        self._report(b"P %d" % pid, pidfd)

    def _report(self, report: bytes, *descriptors: int) -> None:
        try:
            socket.send_fds(self._control, [report], descriptors)
        except OSError:
            os._exit(0)  # The daemon is gone.

    def _become_worker(self, control: socket.socket, *, rehearsed: bool) -> Never:
        go_first()
        self._control.close()
        for pidfd in self._children:
            os.close(pidfd)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.close(nothing)
        serve(control, self._sources, self._trampoline, self._lockdown, rehearsed=rehearsed)

    def _reap(self, pidfd: int) -> None:
        pid = self._children.pop(pidfd)
        self._poller.unregister(pidfd)
        os.close(pidfd)
        _pid, status = os.waitpid(pid, 0)
        self._report(b"X %d %d" % (pid, status))
