"""What the watchdog says of a run that is out of time: whether it computed, or waited and its loop was late to tell."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any, Never, cast

import pytest

from tooltoolexec_executor.handover import Facts
from tooltoolexec_executor.worker.channel import Channel
from tooltoolexec_executor.worker.courier import Courier
from tooltoolexec_executor.worker.loop import Loop
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_executor.worker.watchdog import Watchdog

WALL_S = 1.0


class EndedError(Exception):
    """The run was ended, by its kind and detail; or, without them, it goes on."""


def ended_with(*, wall_s: float, is_parked: bool) -> tuple[Any, ...]:
    """What the watchdog's first look ends in, `wall_s` after the run began."""

    def fail(kind: str, _message: str, *, detail: object) -> Never:
        raise EndedError(kind, detail)

    def deliver(*, isolate_rests: bool) -> Never:
        assert not isolate_rests
        raise EndedError

    courier = SimpleNamespace(settled_at=None, used_at=None, cpu_s=0.0, wall_s=wall_s, fail=fail, deliver=deliver)
    loop = SimpleNamespace(is_parked=is_parked, is_leaving=False, resumed_at=0.0)
    client, connection = socket.socketpair()
    daemon, control = socket.socketpair()
    with client, connection, daemon, control:
        watchdog = Watchdog(
            facts=Facts(id="0" * 32, queued_s=0, wall_s=WALL_S, cpu_s=1, memory_mb=1),
            connection=connection,
            control=control,
            channel=cast("Channel", None),
            courier=cast("Courier", courier),
            loop=cast("Loop", loop),
            gauge=cast("MemoryGauge", SimpleNamespace(growth=lambda: 0)),
        )
        with pytest.raises(EndedError) as ended:
            watchdog.watch()
    return ended.value.args


def test_a_run_that_computes_is_ended_at_once_and_said_to_compute() -> None:
    assert ended_with(wall_s=WALL_S + 0.001, is_parked=False) == ("timeout", {"state": "computing"})


def test_a_run_that_waits_is_left_to_its_loop_which_knows_the_calls() -> None:
    assert ended_with(wall_s=WALL_S + 0.3, is_parked=True) == ()


def test_a_run_that_waits_and_whose_loop_is_late_is_said_to_wait() -> None:
    assert ended_with(wall_s=WALL_S + 1, is_parked=True) == ("timeout", {"state": "waiting"})
