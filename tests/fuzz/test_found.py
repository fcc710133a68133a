"""What fuzzing found, a test for each kind."""

from __future__ import annotations

import socket
from pathlib import Path

import trio

from serving import ServedDaemon
from tooltoolexec import Limits, sync
from tooltoolexec_executor.runs import Runs
from tooltoolexec_executor.workers import Worker
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import Done, Failure, decode, encode

RUN_ID = "0123456789abcdef" * 2


async def outcome_of(body: bytes, runs: Runs, run_id: str) -> Done | None:
    """What is kept of a run whose worker reports `body` and crashes."""
    control, end = socket.socketpair()
    worker = Worker(control)
    run = runs.add(run_id, "me", {}, EffectiveLimits())
    assert run is not None
    with end:
        end.sendall(frame(body))
    worker.ended(1 << 8)
    await runs.attend(run, worker, lambda _state: None)
    return await runs.outcome(run_id, "me")


def test_a_workers_report_that_has_no_json_form_is_nonsense() -> None:
    body = f'{{"type":"done","id":"{RUN_ID}","failure":{{"kind":"program","message":"m","detail":1e999}}}}'
    done = trio.run(outcome_of, body.encode(), Runs(), RUN_ID)
    assert done is not None
    assert decode(encode(done)) == done


def test_workers_cannot_make_up_kinds_of_failures_without_end() -> None:
    async def many(runs: Runs) -> None:
        for number in range(200):
            run_id = f"{number:032x}"
            await outcome_of(
                encode(Done(id=run_id, failure=Failure(kind=f"made up {number}", message=""))), runs, run_id
            )

    runs = Runs()
    trio.run(many, runs)
    assert runs.tally.runs.total() == 200
    assert len(runs.tally.runs) < 50


OUT_OF_DESCRIPTORS = """
import errno, itertools, socket
numbers, pair = itertools.count(1), socket.socketpair
def scarce(*kind):
    # The loop's own, the zygote's and those of two workers come first.
    if next(numbers) in (6, 7):
        raise OSError(errno.EMFILE, "Too many open files")
    return pair(*kind)
socket.socketpair = scarce
"""


def test_a_daemon_that_is_out_of_descriptors_for_a_moment_serves_on(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, ["--workers", "2", "--warm", "2"], preparation=OUT_OF_DESCRIPTORS) as daemon:
        for _ in range(8):
            with sync.connect(daemon.unix) as executor:
                assert executor.execute("() => 1").result == 1


def test_a_memory_limit_beyond_all_measure_is_no_limit(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, ["--max-memory-mb", "none"]) as daemon, sync.connect(daemon.unix) as executor:
        assert executor.execute("() => 1", limits=Limits(memory_mb=1.7e308)).failure is None
