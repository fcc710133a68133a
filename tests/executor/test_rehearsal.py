"""What a rehearsal is for: that V8 has nothing of its own to do when a worker's first real run comes."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import pytest

V8_PAGE_BYTES = 256 * 1024

_RUN = """
import ctypes, os, threading
from tooltoolexec_executor.worker import native
native._flags.append("--trace-opt --trace-deopt --trace-gc")

from executor.isolates import Bench
from tooltoolexec_executor.worker.channel import BUFFER_BYTES
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_executor.worker.rehearsal import rehearsal_sockets, rehearse

bench = Bench()
own = bench.isolate.on_notify, bench.isolate.on_complete

def rehearsed(sockets):
    done = threading.Event()
    rehearse(bench.isolate, mailbox=bench.mailbox, parts=bench.parts, gauge=MemoryGauge(), sockets=sockets,
             buffer=bytearray(BUFFER_BYTES), then=done.set)
    assert done.wait(20)
    bench.isolate.on_notify, bench.isolate.on_complete = own

def mark(text):
    libc.fflush(None)
    os.write(1, text.encode())

libc = ctypes.CDLL(None)
gauge = MemoryGauge()
rehearsed(rehearsal_sockets())
if IDLE:
    bench.parts.load_all(5)
    bench.wait()
    rehearsed(None)
gauge.reset()
before = gauge.data_bytes
mark("THE RUN\\n")
bench.start(CODE)
for number in range(1, CALLS + 1):
    bench.answer((number, '{"result":{"text":["any"]}}'))
gauge.reset()
mark(f"ITS END {gauge.data_bytes - before}\\n")
assert bench.taken("d"), bench.records
os._exit(0)
"""


class Traced(NamedTuple):
    """What V8 tells of itself, before the run and in it, and by how many bytes of memory the process grew in it."""

    before: str
    during: str
    growth: int


def traced(*, calls: int, idle: bool) -> Traced:
    code = f"async () => {{ for (let i = 0; i < {calls}; i++) await store.x(i); }}"
    script = f"CODE, CALLS, IDLE = {code!r}, {calls}, {idle}\n{_RUN}"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60, cwd="tests"
    )
    assert ran.stderr == ""
    before, _mark, rest = ran.stdout.partition("THE RUN\n")
    during, _mark, growth = rest.partition("ITS END ")
    return Traced(before, during, int(growth.partition("\n")[0]))


@pytest.mark.parametrize("calls", [0, 1, 3])
@pytest.mark.parametrize("idle", [False, True])
def test_v8_has_nothing_to_do_besides_a_short_run(calls: int, idle: bool) -> None:
    """It compiles nothing, takes back nothing it had compiled, and collects nothing."""
    run = traced(calls=calls, idle=idle)
    assert run.during == ""
    assert ("compiling" in run.before) == idle  # That it is traced at all.


@pytest.mark.parametrize("idle", [False, True])
def test_v8_asks_for_no_memory_in_a_short_run(idle: bool) -> None:
    """The page for young objects under way has room for some calls more; one of many calls needs another."""
    assert traced(calls=20, idle=idle).growth < V8_PAGE_BYTES
    assert traced(calls=900, idle=idle).growth >= V8_PAGE_BYTES
