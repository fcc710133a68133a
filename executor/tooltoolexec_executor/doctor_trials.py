"""Tries forbidden acts in throw-away processes: one for each act, locked down as a worker is or by one layer alone.

An act counts only if it succeeds in a process without any lock-down: what fails there as well proves nothing.
"""

from __future__ import annotations

import ctypes
import os
import queue
import select
import signal
import socket
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache

from tooltoolexec_executor.doctor_acts import ACTS, Scene
from tooltoolexec_executor.lockdown import Lockdown
from tooltoolexec_executor.lockdown.layers import WORKER_LAYERS, ZYGOTE_LAYERS
from tooltoolexec_executor.worker import native, v8

ALL = (*ZYGOTE_LAYERS, *WORKER_LAYERS)
JITLESS_ACT = "make memory executable"
_PATIENCE_S = 20.0
_REFUSED, _DONE, _NOT_LOCKED = 10, 11, 12

_CAPABILITY_ACT = "use a capability"
_SIGNAL_SINCE, _CONNECT_SINCE = 6, 4
"""Versions of landlock that refuse it."""


def acts_of(layer: str, *, landlock: int = 0) -> tuple[str, ...]:
    """What a layer refuses by itself. `landlock` is the kernel's version of that one."""
    if layer == "landlock":
        connect = ("connect",) if landlock >= _CONNECT_SINCE else ()
        return ("open a file", *connect, *(("signal its parent",) if landlock >= _SIGNAL_SINCE else ()))
    return {
        "network": ("connect",),
        "user": ("open a file", "signal its parent", "become root"),
        "capabilities": (_CAPABILITY_ACT,),
        "rlimits": ("write to an open file",),
        "no_new_privs": ("gain privileges by a program",),
        "not_dumpable": ("be read by another process",),
        "seccomp": (
            "open a file", "make a socket", "connect a socket made before", "fork", "start a program",
            "signal its parent", "trace its parent", "read its parent's memory", "open its parent's memory",
            "change its limits", "dump core", "gain capabilities",
        ),
    }.get(layer, ())  # fmt: skip


class Trials:
    """Make it by `open_trials`. The process that has it must have one thread."""

    def __init__(self, scene: Scene, *, jitless: bool) -> None:
        self._scene = scene
        self._jitless = jitless
        self._can_be_done = cache(self._is_done_somehow)

    def outcome(self, acts: Collection[str], layers: Collection[str]) -> tuple[list[str], list[str]]:
        """Which of `acts` a process with those layers is refused, and which it can do."""
        refused: list[str] = []
        done: list[str] = []
        for act in acts:
            if self._can_be_done(act):
                (done if self._is_done(act, layers=layers) else refused).append(act)
        return refused, done

    def forbidden(self) -> list[str]:
        """All acts that a worker must not be able to do."""
        return [act for act in ACTS if act != JITLESS_ACT or self._jitless]

    def alone(self, layer: str) -> Collection[str]:
        """The layers to take so that `layer` is the only one that can refuse."""
        if layer == "capabilities":
            return ("network", layer)
        return ("no_new_privs", layer) if layer in ("landlock", "seccomp") else (layer,)

    def runs_v8(self, runtime: str, layers: Collection[str]) -> bool:
        """Whether a process with those layers can make an isolate and evaluate 1 + 1 in it."""
        return self._status(lambda: _evaluate(runtime), layers) == _DONE

    def _is_done_somehow(self, act: str) -> bool:
        """Whether it can be done without any lock-down, or by what one of its layers gives."""
        # An ordinary user has capabilities only in the namespace that this layer makes.
        given = [("network",)] if act == _CAPABILITY_ACT else []
        return any(self._is_done(act, layers=layers) for layers in [(), *given])

    def _is_done(self, act: str, *, layers: Collection[str]) -> bool:
        status = self._status(lambda: ACTS[act](self._scene), layers)
        # A process that could not be locked down, and one that ended in a way of its own, refused nothing.
        return status != _REFUSED

    def _status(self, act: Callable[[], None], layers: Collection[str]) -> int:
        child = os.fork()
        if child == 0:
            self._try(act, layers)
        pidfd = os.pidfd_open(child)
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        if not poller.poll(_PATIENCE_S * 1000):
            os.kill(child, signal.SIGKILL)
        os.close(pidfd)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _try(self, act: Callable[[], None], layers: Collection[str]) -> None:
        """In the child: lock down, act, and end with what came of it."""
        status = _NOT_LOCKED
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            lockdown = Lockdown(jitless=self._jitless, only=layers)
            lockdown.enter()
            lockdown.apply()
            status = _DONE
            act()
        except (OSError, ValueError):  # Python tells a refused limit by the second.
            status = _REFUSED if status == _DONE else status
        finally:
            os._exit(status)


def _evaluate(runtime: str) -> None:
    ended: queue.SimpleQueue[bool] = queue.SimpleQueue()
    isolate = v8.Isolate(runtime, lambda: ended.put(False), native.Trampoline())
    isolate.on_complete = lambda _number, completion: ended.put(not completion.failed)
    isolate.evaluate(b"if (1 + 1 !== 2) throw new Error()", 2)
    if not ended.get(timeout=_PATIENCE_S):
        raise OSError


@contextmanager
def open_trials(*, jitless: bool) -> Iterator[Trials]:
    """Everything that the acts are tried on, for as long as it is needed."""
    with (
        _private_path() as path,
        os.fdopen(os.memfd_create("doctor"), "wb") as file,
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket() as unconnected,
    ):
        secret = ctypes.create_string_buffer(b"12345678")
        scene = Scene(
            path=path,
            descriptor=file.fileno(),
            port=listener.getsockname()[1],
            unconnected=unconnected,
            target=os.getpid(),
            address=ctypes.addressof(secret),
        )
        yield Trials(scene, jitless=jitless)


@contextmanager
def _private_path() -> Iterator[str]:
    """A file that only this user may read."""
    try:
        file = tempfile.NamedTemporaryFile()  # noqa: SIM115 - entered below, where its errors are not this one
    except OSError:  # No folder can be written to. The kernel has such files too.
        yield f"/proc/{os.getpid()}/environ"
        return
    with file:
        yield file.name
