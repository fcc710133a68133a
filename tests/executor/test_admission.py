"""The two bounds on runs under way, and the queue before them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing

from tooltoolexec_executor.admission import Admission, Bounds, OverloadedError, Place


def on_a_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        trio.run(test)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def entered(admission: Admission) -> Place:
    place = admission.try_enter("a client")
    assert place is not None
    return place


def test_no_more_than_the_bound_are_let_in() -> None:
    admission = Admission(Bounds(2, 5, 5, math.inf))
    first, _second = entered(admission), entered(admission)
    assert admission.try_enter("a client") is None
    first.leave()
    entered(admission)


def test_a_parked_run_makes_room_for_another() -> None:
    admission = Admission(Bounds(1, 5, 5, math.inf))
    entered(admission).park()
    assert (admission.computing, admission.parked) == (0, 1)
    entered(admission)


def test_past_the_bound_a_run_that_parks_keeps_its_place() -> None:
    admission = Admission(Bounds(1, 1, 5, math.inf))
    entered(admission).park()
    second = entered(admission)
    second.park()
    assert (admission.computing, admission.parked) == (1, 1)
    second.resume()
    second.leave()
    assert (admission.computing, admission.parked) == (0, 1)


def test_a_run_that_goes_on_is_not_held_up_and_the_next_waits_until_there_is_room() -> None:
    admission = Admission(Bounds(1, 5, 5, math.inf))
    first = entered(admission)
    first.park()
    second = entered(admission)
    first.resume()
    assert admission.computing == 2
    second.leave()
    assert admission.try_enter("a client") is None
    first.leave()
    entered(admission)


@pytest.mark.parametrize("steps", ["leave", "park leave", "park resume leave", "park park resume resume leave"])
def test_whatever_a_run_did_nothing_is_left_of_it(steps: str) -> None:
    admission = Admission(Bounds(1, 1, 0, math.inf))
    for _ in range(3):
        place = entered(admission)
        for step in steps.split():
            getattr(place, step)()
        assert (admission.computing, admission.parked) == (0, 0)


@on_a_loop
async def test_a_place_that_comes_free_goes_to_who_waits_longest() -> None:
    admission = Admission(Bounds(1, 5, 5, math.inf))
    first = entered(admission)
    order: list[int] = []

    async def wait(number: int) -> None:
        place = await admission.enter("a client")
        order.append(number)
        place.leave()

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(wait, number)
            await trio.testing.wait_all_tasks_blocked()
        assert admission.queued == 3
        first.park()
    assert order == [0, 1, 2]


@on_a_loop
async def test_a_full_queue_is_overloaded_at_once() -> None:
    admission = Admission(Bounds(1, 5, 0, math.inf))
    entered(admission)
    with pytest.raises(OverloadedError):
        await admission.enter("a client")


def test_time_in_the_queue_is_bounded() -> None:
    async def wait() -> None:
        admission = Admission(Bounds(1, 5, 5, 7.0))
        entered(admission)
        begun = trio.current_time()
        with pytest.raises(OverloadedError):
            await admission.enter("a client")
        assert trio.current_time() == begun + 7.0
        assert admission.queued == 0

    trio.run(wait, clock=trio.testing.MockClock(autojump_threshold=0))


@on_a_loop
async def test_one_cancelled_together_with_its_turn_passes_it_on() -> None:
    admission = Admission(Bounds(1, 5, 5, math.inf))
    first = entered(admission)
    got: list[Any] = []

    async def wait(scope: trio.CancelScope) -> None:
        with scope:
            got.append(await admission.enter("a client"))
            got[-1].leave()

    scope = trio.CancelScope()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, scope)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(wait, trio.CancelScope())
        await trio.testing.wait_all_tasks_blocked()
        first.leave()
        scope.cancel()
    assert len(got) in (1, 2)  # Trio may deliver either first.
    assert (admission.computing, admission.queued) == (0, 0)
