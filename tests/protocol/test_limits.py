"""Limits: what may be asked, what is granted, and how a refusal reads."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from tooltoolexec_protocol import limits
from tooltoolexec_protocol.limits import (
    DEFAULTS,
    LIMIT_NAMES,
    MAXIMA,
    MIB,
    EffectiveLimits,
    LimitError,
    Limits,
    settle,
)

NONE = EffectiveLimits(**dict.fromkeys(LIMIT_NAMES, math.inf))


def test_the_defaults_are_the_promised_ones() -> None:
    assert dataclasses.asdict(DEFAULTS) == {
        "wall_s": 30, "cpu_s": 10, "memory_mb": 128, "payload_bytes": 4 * 1024 * 1024, "log_bytes": 256 * 1024,
        "calls": 1000,
    }  # fmt: skip


def test_the_wires_own_bounds_are_the_promised_ones() -> None:
    assert limits.HELLO_BYTES == 16 * 1024
    assert limits.REQUEST_BYTES == 8 * MIB
    assert limits.ANSWER_BYTES == 64 * MIB
    assert limits.FRAME_BYTES == 193 * MIB
    assert limits.VALUE_DEPTH == 500


def test_no_default_is_over_its_maximum() -> None:
    assert settle({}, DEFAULTS, MAXIMA) == DEFAULTS


def test_what_is_asked_wins_over_the_default() -> None:
    assert settle({"wall_s": 1.5, "calls": 0}, DEFAULTS, MAXIMA) == dataclasses.replace(DEFAULTS, wall_s=1.5, calls=0)


def test_a_default_over_the_maximum_is_cut_to_it() -> None:
    maxima = dataclasses.replace(MAXIMA, wall_s=5.0)
    assert settle({}, DEFAULTS, maxima).wall_s == 5.0


def test_the_maximum_itself_may_be_asked() -> None:
    assert settle(dataclasses.asdict(MAXIMA), DEFAULTS, MAXIMA) == MAXIMA


def test_no_bound_may_be_asked_where_there_is_no_maximum() -> None:
    assert settle(dataclasses.asdict(NONE), DEFAULTS, NONE) == NONE


@pytest.mark.parametrize(
    ("name", "asked", "text"),
    [
        ("wall_s", 601, "The limit wall_s of 601 is over this executor's maximum of 600."),
        ("wall_s", 600.5, "The limit wall_s of 600.5 is over this executor's maximum of 600."),
        ("cpu_s", math.inf, "The limit cpu_s of none is over this executor's maximum of 120."),
        ("memory_mb", 4096.0, "The limit memory_mb of 4096 is over this executor's maximum of 1024."),
        (
            "payload_bytes",
            2.0**30,
            "The limit payload_bytes of 1073741824 is over this executor's maximum of 33554432.",
        ),
        ("calls", 1_000_000, "The limit calls of 1000000 is over this executor's maximum of 100000."),
    ],
)
def test_a_refusal_names_the_limit_what_was_asked_and_the_maximum(name: str, asked: float, text: str) -> None:
    with pytest.raises(LimitError) as caught:
        settle({name: asked}, DEFAULTS, MAXIMA)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_every_limit_has_a_maximum(name: str) -> None:
    with pytest.raises(LimitError, match=rf"^The limit {name} of none is over"):
        settle({name: math.inf}, DEFAULTS, MAXIMA)


def test_the_first_limit_in_the_order_of_the_fields_is_refused() -> None:
    with pytest.raises(LimitError, match="wall_s"):
        settle({"calls": math.inf, "wall_s": math.inf}, DEFAULTS, MAXIMA)


@pytest.mark.parametrize("name", LIMIT_NAMES)
@pytest.mark.parametrize("value", [-1, -math.inf, math.nan, True, False, "3", [], b""])
def test_a_limit_that_is_no_positive_number_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^limit {name} must be a positive number, not "):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["wall_s", "cpu_s", "memory_mb", "payload_bytes"])
def test_nothing_runs_within_no_time_or_no_room(name: str) -> None:
    with pytest.raises(ValueError, match=r"must be a positive number, not 0$"):
        Limits(**{name: 0})


@pytest.mark.parametrize("name", LIMIT_NAMES)
@pytest.mark.parametrize("value", [None, 1, 1.5, math.inf])
def test_a_positive_number_infinity_and_none_are_limits(name: str, value: Any) -> None:
    assert getattr(Limits(**{name: value}), name) == value


def test_a_run_may_have_no_calls_and_no_logs() -> None:
    assert Limits(calls=0, log_bytes=0) == Limits(log_bytes=0, calls=0)


def test_limits_are_left_out_unless_given() -> None:
    assert set(dataclasses.asdict(Limits()).values()) == {None}
