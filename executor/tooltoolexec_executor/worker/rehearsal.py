"""A throw-away run while the worker warms up, through the whole path of a call, so that the first real one meets compiled
code and touched pages. It leaves nothing: `start` makes everything of a run afresh.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Never, cast

from tooltoolexec_executor.handover import Facts, job_of
from tooltoolexec_executor.worker.channel import Channel
from tooltoolexec_executor.worker.courier import Courier
from tooltoolexec_executor.worker.loop import REST, Loop
from tooltoolexec_executor.worker.mailbox import Mailbox
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_executor.worker.v8 import Completion, Isolate
from tooltoolexec_protocol.framing import HEADER_BYTES
from tooltoolexec_protocol.limits import DEFAULTS
from tooltoolexec_protocol.messages import Answers, Calls, Done, Execute, ProviderSpec, decode, encode

_PROGRAM = """async () => {
  console.log("rehearsal", { a: [1] });
  const all = await Promise.all([store.f(1, "a"), store.f({ a: 1 })]);
  for (let i = 0; i < 3; i++) await store.f(i);
  try { await store.fails() } catch (error) { error.stack }
  return { all };
}"""


class _EchoChannel:
    """Stands for the connection: answers every call, keeps nothing else."""

    sent = received = 0

    def __init__(self) -> None:
        self._answers: list[tuple[int, str]] = []

    def push(self, data: bytes) -> None:
        message = decode(data[HEADER_BYTES:])
        if isinstance(message, Calls):
            for number, _provider, tool, _args in message.calls:
                self._answers.append((number, '{"error":"no"}' if tool == "fails" else '{"result":{"a":[1]}}'))
        elif isinstance(message, Done) and message.failure is not None:
            raise RuntimeError(f"the rehearsal failed: {message.failure}")

    def flush_all(self) -> None:
        pass

    def finish(self) -> None:
        pass

    def next_part(self, _bound: int, _timeout_ms: int | None) -> tuple[bytes, bool]:
        body = encode(Answers(answers=self._answers))
        self._answers = []
        return body, True


class _ReleasedError(Exception):
    """Leaves the callback in which the rehearsal's outcome came; a real run would be held there."""


def rehearse(
    isolate: Isolate, mailbox: Mailbox, gauge: MemoryGauge, control: socket.socket, then: Callable[[], None]
) -> None:
    """Start the throw-away run. `then` is called on the isolate's thread once it rests after it."""
    facts = Facts(id="0" * 32, queued_s=0, wall_s=None, cpu_s=None, memory_mb=None)
    channel = cast("Channel", _EchoChannel())
    courier = Courier(facts, mailbox, channel, gauge, control)
    loop = Loop(isolate, mailbox, channel, courier, facts, _release)

    def on_notify() -> None:
        with suppress(_ReleasedError):
            loop.on_notify()

    def on_complete(number: int, completion: Completion) -> None:
        try:
            loop.on_complete(number, completion)
        except _ReleasedError:
            if number == REST:
                then()

    isolate.on_notify = on_notify
    isolate.on_complete = on_complete
    execute = Execute(id=facts.id, code=_PROGRAM, providers=[ProviderSpec(name="store")])
    loop.begin(json.dumps(job_of(execute, DEFAULTS)).encode("ascii"))


def _release() -> Never:
    raise _ReleasedError
