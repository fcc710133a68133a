"""Clients cannot use up the descriptors that workers need."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from tooltoolexec_executor.config import Config
from tooltoolexec_executor.descriptors import make_room
from tooltoolexec_executor.errors import StartError

SMALL = Config(workers=4, parked=4, warm=2, connections=1000)


@pytest.fixture(autouse=True)
def _limit_as_before() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def pretend(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> list[tuple[int, int]]:
    """Put these limits in place of this process's; gives what is set."""
    was_set: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, limits: was_set.append(limits))
    return was_set


def test_the_limit_is_raised_as_far_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    was_set = pretend(monkeypatch, 256, 5000)
    assert make_room(SMALL) == (1000, 4)
    assert was_set == [(5000, 5000)]


def test_connections_get_what_the_workers_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 256, 256)
    room = make_room(SMALL)
    assert room.parked == 4
    assert 16 <= room.connections <= 256 - 3 * 10


def test_where_room_is_scarce_fewer_runs_can_be_parked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pretend(monkeypatch, 106, 106)
    assert make_room(SMALL) == (18, 2)
    assert "room for 2 parked runs, not 4" in caplog.text


def test_too_few_for_the_workers_is_told_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 64, 64)
    with pytest.raises(StartError, match=r"64 descriptors.*ulimit -n"):
        make_room(SMALL)


def test_where_nothing_bounds_them_the_settings_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert make_room(SMALL) == (1000, 4)


def test_those_who_watch_take_none_of_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 256, 256)
    watched = Config(workers=4, parked=4, warm=2, connections=1000, metrics="127.0.0.1:9464")
    assert make_room(SMALL).connections - make_room(watched).connections >= 32


def test_over_tls_each_connection_and_each_run_counts_with_the_sockets_that_the_daemon_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, 256, 256)
    secured = make_room(Config(workers=4, parked=4, warm=2, connections=1000, tls_cert="c", tls_key="k"))
    assert secured.parked == 4
    assert 64 + 5 * (4 + 4) + 3 * 2 + 3 * secured.connections <= 256
