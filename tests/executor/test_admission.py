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


# Bounds of one client.


def test_one_client_has_no_more_runs_under_way_than_one_may_parked_ones_among_them() -> None:
    admission = Admission(Bounds(10, 10, 5, math.inf, per_client=2))
    first, second = admission.try_enter("a"), admission.try_enter("a")
    assert first is not None
    assert second is not None
    first.park()
    assert admission.try_enter("a") is None
    assert admission.try_enter("b") is not None
    first.leave()
    assert admission.try_enter("a") is not None


@on_a_loop
async def test_runs_of_others_pass_those_of_a_client_that_has_enough() -> None:
    admission = Admission(Bounds(2, 0, 5, math.inf, per_client=1))
    order: list[str] = []

    async def wait(client: str) -> None:
        place = await admission.enter(client)
        order.append(client)
        place.leave()

    held = [admission.try_enter(client) for client in ("a", "b")]
    async with trio.open_nursery() as nursery:
        for client in ("a", "c"):
            nursery.start_soon(wait, client)
            await trio.testing.wait_all_tasks_blocked()
        assert held[1] is not None
        held[1].leave()
        await trio.testing.wait_all_tasks_blocked()
        assert order == ["c"]
        assert held[0] is not None
        held[0].leave()
    assert order == ["c", "a"]
    assert (admission.computing, admission.queued) == (0, 0)
    assert not admission._running_of
    assert not admission._waiting_of


@on_a_loop
async def test_one_client_has_its_part_of_the_queue_alone() -> None:
    admission = Admission(Bounds(1, 0, 5, math.inf, queue_per_client=1))
    held = entered(admission)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admission.enter, "a")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(OverloadedError):
            await admission.enter("a")
        nursery.start_soon(admission.enter, "b")
        await trio.testing.wait_all_tasks_blocked()
        assert admission.queued == 2
        nursery.cancel_scope.cancel()
    assert admission.queued == 0
    held.leave()
    assert admission.computing == 0


@on_a_loop
async def test_other_bounds_let_in_who_waits_and_turn_nobody_out() -> None:
    admission = Admission(Bounds(1, 0, 5, math.inf))
    held = entered(admission)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admission.enter, "a")
        await trio.testing.wait_all_tasks_blocked()
        admission.change(Bounds(2, 0, 5, math.inf))
    assert admission.computing == 2
    admission.change(Bounds(1, 0, 5, math.inf))
    assert admission.computing == 2
    held.leave()
    assert admission.try_enter("b") is None


@on_a_loop
async def test_until_empty_waits_for_the_last_run_computing_or_parked() -> None:
    admission = Admission(Bounds(2, 2, 5, math.inf))
    first, second = entered(admission), entered(admission)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admission.until_empty)
        second.park()
        first.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert nursery.child_tasks
        second.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert not nursery.child_tasks
