"""A run's tool calls and requests, from their arrival to their answers.

A task per call would cost more than most calls do. Here a *runner* is a task that steps calls one after the other, each
in a context of its own. As long as calls end without suspending, one runner serves them all:

    accept ──▶ waiting ──▶ the runner at the front steps a call ──ended──▶ answer, take the next
                                           │
                                       suspended ──▶ two others come to the front; this one drives its call on,
                                                     answers, and parks (a few may) or ends

So whatever suspends does so in a task that is its own until it ends: cancel scopes and time-outs in tools work.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from contextvars import copy_context
from dataclasses import dataclass
from time import perf_counter

import anyio
import anyio.abc
import anyio.lowlevel

from tooltoolexec.dispatch import Responder
from tooltoolexec.outbound.answer import Fetcher, refuse_request
from tooltoolexec.outbox import Outbox
from tooltoolexec.stepping import drive
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.envelope import error_envelope

Call = tuple[int, str, str, str]
"""Number, provider, tool, arguments as JSON text."""
Request = tuple[int, str, str, list[tuple[str, str]], str | None]
"""Number, method, URL, headers, body in base64."""

_SLICE_S = 0.005
"""How long a runner may step calls before other tasks get a turn."""
_PARKED = 8
"""How many runners without a call are kept for the next ones."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request among the calls, which are as they came. It is served as they are, by another function."""

    request: Request


class CallRunner:
    """Starts one run's calls in the order of their arrival and sends their answers.

    Args:
        respond: answers a call.
        group: where the runners live. It outlives the run: an unawaited call goes on after it.
        fetch: answers a request.
    """

    def __init__(self, respond: Responder, group: anyio.abc.TaskGroup, fetch: Fetcher = refuse_request) -> None:
        self._respond = respond
        self._fetch = fetch
        self._group = group
        self._context = copy_context()  # Of the task that called `execute`.
        self._waiting: deque[Call | _Asked] = deque()
        self._unanswered = 0
        self._outbox: Outbox | None = None
        # How many runners step waiting calls, or have been woken or spawned to. At least one while any call waits.
        self._at_front = 0
        self._parked: list[anyio.Event] = []
        self._front_is_empty: anyio.Event | None = None  # Made by who waits for it.
        self._is_open = True
        self._is_aborted = False
        self._scopes: set[anyio.CancelScope] = set()

    def open(self, outbox: Outbox) -> None:
        """Say where answers go. While they cannot, no request is begun."""
        self._outbox = outbox

    def accept_requests(self, requests: Sequence[Request]) -> None:
        """Have `requests` started. Never waits."""
        self.accept([_Asked(request) for request in requests])

    def accept(self, calls: Sequence[Call | _Asked]) -> None:
        """Have `calls` started. Never waits."""
        if self._is_aborted:
            return
        self._waiting.extend(calls)
        self._unanswered += len(calls)
        self._call_to_front(1)

    async def all_started(self) -> None:
        """Wait until every accepted call has run its first step (one for a thread: queues for it, or has it)."""
        while self._at_front and not self._is_aborted:
            self._front_is_empty = anyio.Event()
            await self._front_is_empty.wait()

    def close(self) -> None:
        """The run is over: answers are dropped from here on. What has started goes on."""
        self._is_open = False
        while self._wake_parked():
            pass

    def abort(self) -> None:
        """The run is cancelled, and so is everything that still answers it."""
        self._is_aborted = True
        self._waiting.clear()
        self.close()
        if self._front_is_empty is not None:
            self._front_is_empty.set()
        for scope in list(self._scopes):
            scope.cancel()

    def _call_to_front(self, runners: int) -> None:
        """Have as many runners at the front, as far as there are calls for them."""
        while self._at_front < min(runners, len(self._waiting)):
            self._at_front += 1
            if not self._wake_parked():
                self._group.start_soon(self._run)

    def _wake_parked(self) -> bool:
        if self._parked:
            self._parked.pop().set()
            return True
        return False

    def _leave_front(self, successors: int) -> None:
        self._at_front -= 1
        self._call_to_front(self._at_front + successors)
        if not self._at_front and self._front_is_empty is not None:
            self._front_is_empty.set()

    async def _run(self) -> None:
        """A runner's life: it begins at the front."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                while await self._work_at_front() and await self._park():
                    pass
            finally:
                self._scopes.discard(scope)

    async def _work_at_front(self) -> bool:
        """Step waiting calls until none waits or one suspends, then see that one through. False: end this runner."""
        slice_ends = perf_counter() + _SLICE_S
        while self._waiting:
            if perf_counter() > slice_ends:
                self._flush()
                await anyio.lowlevel.checkpoint()
                slice_ends = perf_counter() + _SLICE_S
                continue
            call = self._waiting.popleft()
            if isinstance(call, _Asked):
                number, method, url, headers, body = call.request
                coroutine = self._fetch(method, url, headers, body, self._emptied)
            else:
                number, provider, tool, args_json = call
                coroutine = self._respond(provider, tool, args_json)
            context = self._context.copy()
            try:
                waits_for = context.run(coroutine.send, None)
            except StopIteration as end:
                self._finish(number, end.value)
                continue
            except BaseException as error:  # The responder catches Exceptions; see `_must_pass`.
                self._answer_stray(call, error, is_closing=False)
                continue
            self._flush()
            # Where one suspends, its like will too: twice as many each turn of the loop get all of them going soon.
            self._leave_front(successors=2)
            try:
                self._finish(number, await drive(coroutine, context, waits_for))
            except BaseException as error:
                self._answer_stray(call, error, is_closing=isinstance(error, GeneratorExit))
                return False  # Perhaps this very task was cancelled: it must not go on as if nothing was.
            self._flush()
            return True
        self._flush()
        self._leave_front(successors=0)
        return True

    async def _park(self) -> bool:
        """Wait to be called to the front; False when this runner is not needed any more."""
        if len(self._parked) >= _PARKED or not self._is_open:
            return False
        woken = anyio.Event()
        self._parked.append(woken)
        await woken.wait()
        return self._is_open or bool(self._waiting)

    def _answer_stray(self, call: Call | _Asked, error: BaseException, *, is_closing: bool) -> None:
        """Answer for a responder that ended in no ordinary way; raise what is not the call's own affair."""
        if is_closing or self._must_pass(error):
            raise error
        if isinstance(call, _Asked):
            number, failed = call.request[0], texts.REQUEST_FAILED
        else:
            number, failed = call[0], texts.tool_failed(call[2])
        self._finish(number, error_envelope(failed))
        self._flush()

    def _must_pass(self, error: BaseException) -> bool:
        if isinstance(error, BaseExceptionGroup):
            return any(self._must_pass(part) for part in error.exceptions)
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return self._is_aborted or self._group.cancel_scope.cancel_called
        # A user's interrupt comes to the main thread; anywhere else the tool itself raised it.
        return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()

    async def _emptied(self) -> None:
        if self._outbox is not None:
            await self._outbox.emptied()

    def _finish(self, number: int, answer: str) -> None:
        self._unanswered -= 1
        if self._is_open and self._outbox is not None:
            self._outbox.add(number, answer)

    def _flush(self) -> None:
        """Send answers: now where no more are to come, else in a moment, with those that end in the same turn."""
        if not self._is_open or self._outbox is None:
            return
        if self._unanswered:
            self._outbox.flush_soon()
        else:
            self._outbox.flush()
