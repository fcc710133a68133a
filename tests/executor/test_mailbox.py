"""Text through the shared buffer, in both directions and of every size."""

from __future__ import annotations

import json
import socket

import pytest

from tooltoolexec_executor.handover import Facts
from tooltoolexec_executor.worker.channel import BUFFER_BYTES, Channel
from tooltoolexec_executor.worker.courier import Courier
from tooltoolexec_executor.worker.mailbox import Command
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_executor.worker.v8 import IN_BYTES, OUT_UNITS
from tooltoolexec_protocol.framing import HEADER_BYTES
from tooltoolexec_protocol.limits import DEFAULTS, EffectiveLimits
from tooltoolexec_protocol.messages import Done, decode

from .isolates import Bench

WIDE = EffectiveLimits(payload_bytes=float("inf"), log_bytes=float("inf"))


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 2047, 2048, 2049, IN_BYTES // 2, IN_BYTES + 7])
def test_a_text_of_any_length_comes_in_whole(length: int) -> None:
    text = "".join(chr(97 + i % 26) for i in range(length))
    bench = Bench()
    bench.start("async () => await store.f()")
    bench.answer((1, json.dumps({"result": text})))
    assert bench.taken("d") == [{"result": text}]


@pytest.mark.parametrize("length", [1, OUT_UNITS - 40, OUT_UNITS - 1, OUT_UNITS, OUT_UNITS + 1, 3 * OUT_UNITS + 5])
def test_a_text_of_any_length_goes_out_whole(length: int) -> None:
    bench = Bench()
    bench.start(f"async () => 'x'.repeat({length})", limits=WIDE)
    assert bench.taken("d") == [{"result": "x" * length}]


def test_a_character_of_two_units_survives_the_border_between_two_parts() -> None:
    bench = Bench()
    for shift in range(2):
        bench.records.clear()
        bench.start(f"async () => 'y'.repeat({shift}) + '\\u{{1F600}}'.repeat({OUT_UNITS})", limits=WIDE)
        assert bench.taken("d") == [{"result": "y" * shift + "\U0001f600" * OUT_UNITS}]


def test_text_outside_ascii_comes_in_as_units() -> None:
    bench = Bench()
    bench.start("async () => await store.f()")
    bench.mailbox.put_units('{"type":"answers","answers":[[1,"{\\"result\\":\\"\u00e9\u65e5\U0001f600\\"}"]]}')
    bench.step(Command.SETTLE)
    assert bench.taken("d") == [{"result": "\u00e9\u65e5\U0001f600"}]


def test_records_are_taken_while_javascript_is_busy_and_none_twice() -> None:
    """What the watchdog does: it reads behind the writer and moves nothing."""
    bench = Bench()
    bench.isolate.memory[0:4] = (0).to_bytes(4, "little")
    bench.start("async () => { store.f(1); store.f(2); await store.f(3) }")
    assert [call[0] for call in bench.taken("c")] == [1, 2, 3]
    assert bench.mailbox.collect(isolate_rests=False) == []


def test_lines_past_the_bound_are_counted_and_not_written() -> None:
    bench = Bench()
    bench.start(
        "async () => { for (let i = 0; i < 10; i++) console.log('12345') }", limits=EffectiveLimits(log_bytes=20)
    )
    assert len(bench.taken("l")) == 4
    assert bench.mailbox.dropped_lines == 6


def test_a_run_leaves_nothing_to_the_next_one() -> None:
    """The rehearsal relies on it; no isolate serves two real runs."""
    bench = Bench()
    bench.start("async () => { console.group('a'); console.count(); setTimeout(() => {}, 1e6); await store.f() }")
    bench.answer((1, '{"result":1}'))
    bench.records.clear()
    bench.start("async () => { console.log('b'); console.count(); await store.g() }", limits=DEFAULTS)
    assert bench.taken("l") == [["log", "b"], ["log", "default: 1"]]
    assert bench.taken("c") == [[1, "store", "g", "[]"]]
    assert (bench.mailbox.pending_calls, bench.mailbox.timer_delay_ms) == (1, -1)


def ready_channel(connection: socket.socket) -> Channel:
    return Channel(connection, bytearray(BUFFER_BYTES), lambda: None)


def test_a_record_for_the_loop_is_kept_until_the_isolate_rests_whoever_collects_it() -> None:
    """The watchdog collects as well, and can do nothing about it."""
    bench = Bench()
    bench.start("async () => await store.f()")
    bench.records.clear()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        facts = Facts(id="0" * 32, queued_s=0, wall_s=1, cpu_s=None, memory_mb=None)
        courier = Courier(facts, bench.mailbox, ready_channel(ours), MemoryGauge(), theirs)
        bench.mailbox.command(Command.WAITS)
        bench.isolate.call("step", 2)
        bench.wait()
        assert courier.deliver(isolate_rests=False) is None
        assert courier.deliver(isolate_rests=True) == 'w[["store","f"]]'
        assert courier.deliver(isolate_rests=True) is None


def test_a_failure_of_any_length_is_reported_to_the_daemon() -> None:
    bench = Bench()
    bench.start("async () => await store.f()")
    ours, theirs = socket.socketpair()
    control, daemon = socket.socketpair()
    with ours, theirs, control, daemon:
        facts = Facts(id="0" * 32, queued_s=0, wall_s=1, cpu_s=None, memory_mb=None)
        courier = Courier(facts, bench.mailbox, ready_channel(ours), MemoryGauge(), control)
        courier.fail("program", "x" * 1_000_000)
        message = decode(daemon.recv(1 << 20)[HEADER_BYTES:])
    assert isinstance(message, Done)
    assert message.failure is not None
    assert (message.failure.kind, message.failure.message) == ("program", "x" * 10_000)
