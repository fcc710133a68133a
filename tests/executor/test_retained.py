"""How long the daemon lets a worker be that says its run is retained, over a bare socket in the worker's place."""

from __future__ import annotations

import signal
import socket
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from tooltoolexec_executor import runs
from tooltoolexec_executor.runs import Runs
from tooltoolexec_executor.worker.courier import RETAINED
from tooltoolexec_executor.worker.watchdog import COMPUTING, PARKED
from tooltoolexec_executor.workers import Worker
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import Done, Failure, encode

ID = "0" * 32
WALL_S, IDLE_S = 10.0, 60.0
UNUSED_S = IDLE_S + WALL_S + runs._RETAINED_GRACE_S


class Killable(Worker):
    """Its process is gone as soon as it is killed."""

    def kill(self) -> None:
        super().kill()
        if not self.has_ended.is_set():
            self.ended(signal.SIGKILL)


Script = Callable[[socket.socket], Awaitable[None]]


def attended(script: Script, idle_s: float | None = IDLE_S) -> tuple[Runs, float, list[bytes]]:
    """What becomes of a run whose worker's end of the control socket `script` has, after how long, and its states."""
    known = Runs()
    run = known.add(ID, "me", {}, EffectiveLimits(wall_s=WALL_S))
    assert run is not None
    run.retained_idle_s = idle_s
    states: list[bytes] = []

    async def attend() -> float:
        control, end = socket.socketpair()
        begun = trio.current_time()
        with end:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(script, end)
                await known.attend(run, Killable(control), states.append)
                nursery.cancel_scope.cancel()
        return trio.current_time() - begun

    lasted = trio.run(attend, clock=trio.testing.MockClock(autojump_threshold=0))
    return known, lasted, states


def outcome(known: Runs) -> str:
    (kind,) = known.tally.runs
    return str(kind)


async def retain_once(end: socket.socket) -> None:
    end.send(RETAINED + PARKED + COMPUTING)
    await trio.sleep_forever()


def test_one_that_says_so_once_is_ended_when_it_ought_to_have_ended_unused() -> None:
    known, lasted, states = attended(retain_once)
    assert lasted == pytest.approx(UNUSED_S, abs=0.1)
    assert outcome(known) == "ok"  # It had worked.
    assert states == [PARKED, COMPUTING]


def test_one_whose_client_asked_for_no_handles_gets_no_time_by_it() -> None:
    known, lasted, _states = attended(retain_once, idle_s=None)
    assert lasted == pytest.approx(WALL_S + runs._GRACE_S, abs=0.1)
    assert outcome(known) == "timeout"


def test_one_that_says_so_for_ever_is_ended_after_an_hour() -> None:
    async def in_use(end: socket.socket) -> None:
        while True:
            end.send(RETAINED)
            await trio.sleep(1)

    known, lasted, _states = attended(in_use)
    assert lasted == pytest.approx(runs._RETAINED_S, abs=0.1)
    assert outcome(known) == "ok"


def test_what_it_reports_after_that_it_worked_changes_nothing() -> None:
    async def report(end: socket.socket) -> None:
        failure = Failure(kind="memory", message="m")
        end.send(RETAINED + frame(encode(Done(id=ID, failure=failure))))
        await trio.sleep_forever()

    known, lasted, _states = attended(report)
    assert lasted < 1
    assert outcome(known) == "ok"
