"""Driving one coroutine by hand, inside a context of its own, within whichever task does it."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any


@types.coroutine
def drive(coroutine: Coroutine[Any, Any, str], context: Context, waits_for: Any) -> Generator[Any, Any, str]:
    """Go on with `coroutine`, which has just suspended on `waits_for`, to its end.

    What it waits for goes to the event loop as if the current task had asked, and what the event loop sends or throws
    back goes to it. Only the steps themselves run inside `context`.
    """
    step: Callable[[Any], Any]
    while True:
        try:
            argument = yield waits_for
            step = coroutine.send
        except BaseException as error:  # Cancellation included: it is the coroutine's to handle.
            argument = error
            step = coroutine.throw
        try:
            waits_for = context.run(step, argument)
        except StopIteration as end:
            return str(end.value)
