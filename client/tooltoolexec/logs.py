"""A run's console lines on their way to the caller."""

from __future__ import annotations

import inspect
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.abc

from tooltoolexec_protocol.limits import MIB, Limits

_MOST_UNASKED = 64 * MIB
OnLog = Callable[[str, str], Any]
"""`on_log(level, text)`, async or plain."""


class LogFeed:
    """Keeps the lines and tells `on_log` each as it arrives.

    A plain `on_log` is called at once. What an async one returns is awaited in a task of its own, one line after the
    other, so that a slow one never holds up the run.

    Args:
        on_log: told each line.
        group: where an async one is awaited.
        most: how many characters are kept and told.

    Attributes:
        texts: every line in order.
        warnings: what went wrong in `on_log`, once.
    """

    def __init__(self, on_log: OnLog | None, group: anyio.abc.TaskGroup, most: float = math.inf) -> None:
        self.texts: list[str] = []
        self._room = most
        self.warnings: list[str] = []
        self._on_log = on_log
        self._group = group
        self._pending: deque[Awaitable[Any]] = deque()
        self._is_pumping = False
        self._is_aborted = False
        self._is_drained: anyio.Event | None = None  # These two belong to the pump under way.
        self._scope: anyio.CancelScope | None = None

    def accept(self, lines: Sequence[tuple[str, str]]) -> None:
        """Take lines as they arrive. Never waits."""
        if self._is_aborted:
            return
        for level, text in lines:
            # The worker bounds what a program logs; this bounds what a worker makes up.
            self._room -= len(text) + 1
            if self._room < 0:
                self._warn_once("The executor sent more log text than the run may have; the rest was dropped.")
                break
            self.texts.append(text)
            if self._on_log is None:
                continue
            try:
                result = self._on_log(level, text)
            except (Exception, SystemExit) as error:  # A caller's callback must not end the run.
                self._warn(error)
                continue
            if inspect.isawaitable(result):
                self._pending.append(result)
        if self._pending and not self._is_pumping:
            self._is_pumping = True
            self._is_drained, self._scope = anyio.Event(), anyio.CancelScope()
            self._group.start_soon(self._pump, self._scope, self._is_drained)

    async def all_told(self) -> None:
        """Wait until `on_log` is through with every line."""
        if self._is_pumping and self._is_drained is not None:
            await self._is_drained.wait()

    def abort(self) -> None:
        """The run is cancelled: nobody is told anything any more."""
        self._is_aborted = True
        if self._scope is not None:
            self._scope.cancel()
        for awaitable in self._pending:
            if inspect.iscoroutine(awaitable):
                awaitable.close()  # Or Python would say that it was never awaited.
        self._pending.clear()
        if self._is_drained is not None:
            self._is_drained.set()

    async def _pump(self, scope: anyio.CancelScope, is_drained: anyio.Event) -> None:
        with scope:
            while self._pending:
                try:
                    await self._pending.popleft()
                except BaseException as error:  # As above; only what is meant for this task goes on.
                    if self._must_pass(error):
                        raise
                    self._warn(error)
        self._is_pumping = False
        is_drained.set()

    def _must_pass(self, error: BaseException) -> bool:
        is_ending = self._is_aborted or self._group.cancel_scope.cancel_called
        return is_ending or isinstance(error, KeyboardInterrupt | GeneratorExit)

    def _warn(self, error: BaseException) -> None:
        self._warn_once(f"on_log raised {type(error).__name__}: {error}")

    def _warn_once(self, warning: str) -> None:
        if not self.warnings:
            self.warnings.append(warning)


def most_log_characters(limits: Limits | None) -> float:
    """How much log text a run with these limits may have at most; a daemon's own default is not known here."""
    asked = None if limits is None else limits.log_bytes
    return _MOST_UNASKED if asked is None else 2 * asked + _MOST_UNASKED
