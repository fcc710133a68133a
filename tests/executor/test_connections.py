"""The bounds on connections, in all and of one client."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from tooltoolexec_executor.connections import Connections, TooManyError


def test_one_client_cannot_take_the_places_of_others() -> None:
    connections = Connections(10, 2)
    connections.take("a")
    connections.take("a")
    with pytest.raises(TooManyError):
        connections.take("a")
    connections.take("b")
    assert connections.now == 3


def test_a_seat_is_given_back_once_however_often_it_is_left() -> None:
    connections = Connections(10, 1)
    seat = connections.take("a")
    seat.leave()
    seat.leave()
    assert connections.now == 0
    connections.take("a")


def test_a_seat_that_moves_counts_for_its_new_client_alone() -> None:
    connections = Connections(10, 1)
    seat = connections.take("ip:1")
    seat.move("token:a")
    connections.take("ip:1").leave()
    with pytest.raises(TooManyError):
        connections.take("token:a")
    seat.leave()
    connections.take("token:a")


def test_a_seat_that_may_not_move_still_counts_where_it_was() -> None:
    connections = Connections(10, 1)
    connections.take("token:a")
    seat = connections.take("ip:1")
    with pytest.raises(TooManyError):
        seat.move("token:a")
    with pytest.raises(TooManyError):
        connections.take("ip:1")
    seat.leave()
    connections.take("ip:1")
    assert connections.now == 2


def test_past_the_bound_in_all_one_waits_until_a_seat_is_left() -> None:
    async def scenario() -> None:
        connections = Connections(1, 1)
        seat = connections.take("a")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connections.wait_for_room)
            await trio.testing.wait_all_tasks_blocked()
            assert nursery.child_tasks
            seat.leave()
            with trio.fail_after(5):
                await trio.testing.wait_all_tasks_blocked()
            assert not nursery.child_tasks

    trio.run(scenario)


def test_nothing_is_kept_of_clients_that_are_gone() -> None:
    connections = Connections(10, 5)
    for number in range(1000):
        connections.take(f"ip:{number}").leave()
    assert not connections._of
