"""The functions that a program retained, as the host calls them: while the program runs, and after it.

    Handle ──invoke──▶ Line ──▶ worker ──returns──▶ Line ──▶ whoever waits
                        └── the connection ends ──▶ HandleReleased for all who wait, and for every later call

A line is one run's. What an async function gets is awaited (`Handle`), what blocks gets a `BlockingHandle`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from itertools import count
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.from_thread

from tooltoolexec.outbox import Outbox
from tooltoolexec_protocol import limits, texts
from tooltoolexec_protocol.codec import rebuild_bytes, stringify_for_dispatch
from tooltoolexec_protocol.errors import CodecError, HandleError, HandleReleased
from tooltoolexec_protocol.messages import Invoke

__all__ = ["BlockingHandle", "Handle", "Retained"]

HANDLE_KEY = "__executor_handle_v1__"
_ENDED = "its run's isolate has ended"

Wait = Callable[[Callable[[], Awaitable[Any]]], Any]
"""Has the event loop await what the function gives, and waits for it in a thread."""


class _Call:
    """One invocation under way; no envelope once it has ended is a release."""

    __slots__ = ("ended", "envelope")

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.envelope: str | None = None


class Line:
    """The way to the functions of one run. Belongs to one event loop."""

    def __init__(self) -> None:
        self._outbox: Outbox | None = None
        self._numbers = count(1)
        self._calls: dict[int, _Call] = {}
        self._reason = _ENDED

    def open(self, outbox: Outbox) -> None:
        """A worker is there, or will be, that takes what goes to `outbox`."""
        self._outbox = outbox

    @property
    def is_open(self) -> bool:
        """Whether a function may still be called."""
        return self._outbox is not None

    def accept(self, returns: list[tuple[int, str]]) -> None:
        """Take ends of invocations as they arrive. One that nobody waits for any more is dropped."""
        for number, envelope in returns:
            call = self._calls.pop(number, None)
            if call is not None:
                call.envelope = envelope
                call.ended.set()

    def release(self, reason: str = _ENDED) -> None:
        """No function can be called from here on."""
        if self._outbox is None:
            return
        self._outbox, self._reason = None, reason
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.ended.set()

    async def invoke(self, handle_id: str, args: tuple[Any, ...]) -> Any:
        """Call a function and wait for its value; a caller that is cancelled forgets it.

        Raises:
            HandleError: it threw, or took longer than a run may.
            HandleReleased: its isolate is gone.
            CodecError: an argument cannot cross; nothing was sent.
        """
        args_json = f"[{','.join([stringify_for_dispatch(arg) for arg in args])}]"
        if len(args_json) > limits.ANSWER_BYTES // 12:  # A character is up to 12 bytes on the wire.
            size = len(json.dumps(args_json))
            if size > limits.ANSWER_BYTES:
                raise CodecError(f"The arguments of {size} bytes are over the limit of {limits.ANSWER_BYTES} bytes.")
        outbox = self._outbox
        if outbox is None:
            raise self._gone()
        number, call = next(self._numbers), _Call()
        self._calls[number] = call
        try:
            outbox.send(Invoke(invocations=[(number, handle_id, args_json)]))
            await call.ended.wait()
        finally:
            self._calls.pop(number, None)
        if call.envelope is None:
            raise self._gone()
        return _value_in(call.envelope)

    def check_open(self) -> None:
        """Raises HandleReleased where no function can be called any more. From any thread."""
        if self._outbox is None:
            raise self._gone()

    def _gone(self) -> HandleReleased:
        return HandleReleased(f"The handle was released: {self._reason}")


def _value_in(text: str) -> Any:
    try:
        envelope = json.loads(text)
        if not isinstance(envelope, dict):
            raise HandleError(texts.OUTSIDE_ENVELOPE)
        if "error" in envelope:
            raise HandleError(str(envelope["error"]))
        return rebuild_bytes(envelope.get("result"))
    except (ValueError, RecursionError) as error:  # No worker of this version sends such an answer.
        raise HandleError(f"The function's answer is malformed: {error}") from None


class Handle:
    """A function that a program retained. `await handle(*args)` calls it in the isolate and gives its value.

    Arguments and value cross like a tool's; handles themselves do not go back. Use it from the executor's event loop.

    Raises:
        HandleError: the function threw; the message is the error's.
        HandleReleased: the isolate has ended.
        CodecError: an argument cannot cross.
    """

    def __init__(self, line: Line, handle_id: str) -> None:
        self._line = line
        self.id = handle_id

    async def __call__(self, *args: Any) -> Any:
        """Call the function; its value is what this gives."""
        return with_handles(await self._line.invoke(self.id, args), functools.partial(Handle, self._line))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class BlockingHandle:
    """A `Handle` for code that blocks: `handle(*args)` waits for the value. Raises as `Handle` does.

    One that a plain tool gets is for the thread the tool runs in.
    """

    def __init__(self, line: Line, wait: Wait, handle_id: str) -> None:
        self._line = line
        self._wait = wait
        self.id = handle_id

    def __call__(self, *args: Any) -> Any:
        """Call the function and wait for its value."""
        self._line.check_open()
        value = self._wait(functools.partial(self._line.invoke, self.id, args))
        return with_handles(value, functools.partial(BlockingHandle, self._line, self._wait))

    __repr__ = Handle.__repr__


MakeHandle = Callable[[str], Any]
"""A handle of the caller's kind, from its id."""


def for_async(line: Line) -> MakeHandle:
    """Handles that are awaited."""
    return functools.partial(Handle, line)


def for_threads(line: Line) -> MakeHandle:
    """Handles for a plain tool."""
    return functools.partial(BlockingHandle, line, _wait_in_tool)


def _wait_in_tool(function: Callable[[], Awaitable[Any]]) -> Any:
    async def awaited() -> Any:
        return await function()

    return anyio.from_thread.run(awaited)


def with_handles(value: Any, make: MakeHandle) -> Any:
    """A decoded value with its tokens replaced by handles, in place where that is possible."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                value[index] = with_handles(item, make)
    elif isinstance(value, dict):
        handle_id = value.get(HANDLE_KEY)
        if isinstance(handle_id, str) and len(value) == 1:
            return make(handle_id)
        for key, item in value.items():
            if isinstance(item, dict | list):
                value[key] = with_handles(item, make)
    return value


class Retained:
    """A run's isolate, kept for its handles until it is closed: `async with run.retained: ...`, or `await aclose()`.

    In the blocking API it is for `with`, and has `close()`. Closing ends the isolate, also a function that is at work.
    """

    def __init__(self, line: Line, hang_up: Callable[[], None], make: MakeHandle, wait: Wait | None = None) -> None:
        self._line = line
        self._hang_up = hang_up
        self._make = make
        self._wait = wait

    @property
    def closed(self) -> bool:
        """Whether the handles are released, for whatever reason."""
        return not self._line.is_open

    def handle(self, handle_id: str) -> Any:
        """The handle of a token, by its id: for hosts whose dispatch got the token as JSON text."""
        return self._make(handle_id)

    async def aclose(self) -> None:
        """End the isolate. May be called again."""
        self._line.release("it was closed")
        self._hang_up()

    def close(self) -> None:
        """As `aclose`, for the blocking API."""
        if self._wait is None:
            raise TypeError("this executor is async: use `async with`, or `await aclose()`")
        if not self.closed:
            self._wait(self.aclose)

    def blocking(self, wait: Wait) -> Retained:
        """The same for code that blocks."""
        return Retained(self._line, self._hang_up, functools.partial(BlockingHandle, self._line, wait), wait)

    def adopt(self, value: Any) -> Any:
        """`value` with its handles, of whatever kind, as this one's."""
        if isinstance(value, Handle):
            return self._make(value.id)
        if isinstance(value, list):
            value[:] = [self.adopt(item) for item in value]
        elif isinstance(value, dict):
            for key, item in value.items():
                value[key] = self.adopt(item)
        return value

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        if self._wait is None:
            raise TypeError("this executor is async: use `async with`, or `await aclose()`")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
