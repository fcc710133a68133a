"""A throw-away run while the worker warms up, so that the first real one meets compiled code and touched pages.

It goes through the whole path of a call and leaves nothing: `enter` makes everything of a run afresh.
"""

from __future__ import annotations

import math
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Never, cast

import msgspec

from tooltoolexec_executor.handover import Facts, pack, script_of, unpack_facts
from tooltoolexec_executor.worker.assignment import receive
from tooltoolexec_executor.worker.bounds import bound
from tooltoolexec_executor.worker.channel import Channel
from tooltoolexec_executor.worker.courier import Courier
from tooltoolexec_executor.worker.echo import EchoChannel
from tooltoolexec_executor.worker.loop import REST, Loop
from tooltoolexec_executor.worker.mailbox import PART_BYTES, Mailbox
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_executor.worker.parts import Parts
from tooltoolexec_executor.worker.v8 import Completion, Isolate
from tooltoolexec_executor.worker.watchdog import Watchdog
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import (
    Answers,
    Calls,
    Done,
    Execute,
    Failure,
    Logs,
    ProviderSpec,
    Started,
    Stats,
    decode,
    encode,
)

_SPECIALIZED_AFTER = 20
"""How often Python runs a function before it has fitted its code to it."""

_ID = "0" * 32

_SHORT_PROGRAM = """async () => {
  const all = await Promise.all([store.f(1), store.f({ a: 1 })]);
  await store.f(2);
  return { all };
}"""

_LONG_PROGRAM = """async () => {
  const all = await Promise.all(Array.from({ length: 200 }, (_, i) => store.f(i)));
  for (let i = 0; i < 120; i++) await store.f({ a: i });
  return { all };
}"""
"""Enough calls for V8 to compile what they go through. The single ones come last: what many at once have made due for
compiling would otherwise be compiled in the real run's first call. There are enough of them to fill V8's page for young
objects, so that the next one is made here and not in a real run."""


def _execute(program: str) -> Execute:
    return Execute(id=_ID, code=program, providers=[ProviderSpec(name="store")])


# Made once, in the zygote. Without the limits that would hold for the worker from then on.
_LIMITS = EffectiveLimits(cpu_s=math.inf, memory_mb=math.inf)
_SHORT = pack(_execute(_SHORT_PROGRAM), _LIMITS, 0, retained_idle_s=0)
_LONG = script_of(_execute(_LONG_PROGRAM), _LIMITS).text


def rehearse_messages() -> None:
    """What the zygote can do for all its workers: the first encoding of a type costs as much as a short run."""
    samples = (
        Started(id=_ID, queued_s=0.5),
        Calls(calls=[(1, "store", "f", "[]")]),
        Answers(answers=[(1, "{}")]),
        Logs(lines=[("log", "")]),
        Done(id=_ID, failure=Failure(kind="program", message="", line=1, detail={}), stats=Stats(wall_s=0.5)),
    )
    for _ in range(_SPECIALIZED_AFTER):
        for message in samples:
            decode(encode(message))
        msgspec.json.encode(Stats(wall_s=0.5, calls=1))
        unpack_facts(msgspec.json.encode(Facts(id=_ID, queued_s=0.5, wall_s=1, cpu_s=1, memory_mb=1)))


def rehearsal_sockets() -> tuple[socket.socket, socket.socket]:
    """A connected pair, on which a run is handed over already: the lock-down takes away what sends descriptors."""
    ours, theirs = socket.socketpair()
    socket.send_fds(theirs, [_SHORT], [theirs.fileno()])
    return ours, theirs


class _ReleasedError(Exception):
    """Leaves the callback in which the rehearsal's outcome came; a real run would be held there."""


def rehearse(
    isolate: Isolate,
    *,
    mailbox: Mailbox,
    parts: Parts,
    gauge: MemoryGauge,
    sockets: tuple[socket.socket, socket.socket] | None,
    buffer: bytearray,
    then: Callable[[], None],
) -> None:
    """Start the throw-away run. `then` is called on the isolate's thread once it rests after it.

    The first one is short, for it is part of what a worker's start costs; any other is for a worker with time.

    Args:
        isolate: to rehearse with.
        mailbox: the isolate's.
        parts: the isolate's.
        gauge: the worker's.
        sockets: `rehearsal_sockets`, closed here, for the first one; none for any other.
        buffer: the worker's for reads.
        then: what comes after.
    """
    if sockets is None:
        facts = Facts(id=_ID, queued_s=0, wall_s=1, cpu_s=None, memory_mb=None, may_mislead=False)
        script = _LONG
    else:
        facts, script = _received(sockets[0], buffer)
    channel = cast("Channel", EchoChannel())
    courier = Courier(facts, mailbox, channel, gauge, cast("socket.socket", None))  # Tells the daemon of failures only.
    loop = Loop(
        isolate=isolate, mailbox=mailbox, parts=parts, channel=channel, courier=courier, facts=facts, hold=_release
    )

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
    if sockets is not None:
        _touch(facts, sockets=sockets, buffer=buffer, courier=courier, loop=loop, gauge=gauge)
    loop.begin(script)


def _received(control: socket.socket, buffer: bytearray) -> tuple[Facts, bytes]:
    assignment = receive(control, buffer)
    assert assignment is not None
    assignment.connection.close()
    return assignment.facts, assignment.script


def _touch(
    facts: Facts,
    *,
    sockets: tuple[socket.socket, socket.socket],
    buffer: bytearray,
    courier: Courier,
    loop: Loop,
    gauge: MemoryGauge,
) -> None:
    """Once through what a real run has and this one does not, so that its memory is this process's own by then."""
    ours, theirs = sockets
    with ours, theirs:
        gauge.reset()
        bound(facts, gauge.data_bytes)
        channel = Channel(ours, buffer, lambda: None)
        channel.push(frame(b"{}"))
        channel.flush_all()
        theirs.send(frame(b"{}"))
        channel.next_part(PART_BYTES, 1000)
        Watchdog(facts=facts, connection=ours, control=theirs, channel=channel, courier=courier, loop=loop, gauge=gauge)
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.finish()


def _release() -> Never:
    raise _ReleasedError
