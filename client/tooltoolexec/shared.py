"""The module-level `execute`: one embedded executor per process.

    none ──first use──▶ open ──daemon ended──▶ replaced at the next use
     ▲                   │
     └──fork (child)─────┴──at exit──▶ closed

A forked child never talks to its parent's daemon: its sockets are closed there, and it starts one of its own.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from tooltoolexec.options import RunOptions
from tooltoolexec.provider import Provider
from tooltoolexec.run import Run
from tooltoolexec.sync import BlockingExecutor, local
from tooltoolexec_protocol.errors import ConnectError

__all__ = ["execute"]


class _Shared:
    """The process's executor, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: BlockingExecutor | None = None

    def get(self) -> BlockingExecutor:
        """The running executor; one whose daemon has ended is replaced."""
        with self._lock:
            if self._executor is not None and self._executor.has_ended:
                self._close()
            if self._executor is None:
                self._executor = local().__enter__()
            return self._executor

    def close(self) -> None:
        """End the daemon, if there is one."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.__exit__(None, None, None)


_shared = _Shared()
# What a fork brought along. Its thread and lock are the parent's; kept so that nothing of it is ever finalised here.
_inherited: list[_Shared] = []


def execute(code: str, providers: Iterable[Provider | Mapping[str, Any]] = (), **options: Unpack[RunOptions]) -> Run:
    """Run `code` in this process's embedded executor and wait for its outcome.

    Arguments and errors as of `Executor.execute`. The executor is started on first use and closed at exit.
    """
    executor = _shared.get()
    try:
        return executor.execute(code, providers, **options)
    except ConnectError:
        # The daemon ended between two runs and nobody has seen it yet. This run was given to none.
        if not executor.has_ended:
            raise
    return _shared.get().execute(code, providers, **options)


def _close_at_exit() -> None:
    _shared.close()


def _start_afresh() -> None:
    global _shared
    _inherited.append(_shared)
    _shared = _Shared()


atexit.register(_close_at_exit)
if hasattr(os, "register_at_fork"):  # Windows never forks.
    os.register_at_fork(after_in_child=_start_afresh)
