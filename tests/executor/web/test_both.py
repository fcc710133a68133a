"""The harness of this folder: what it keeps apart, and that it can fail."""

from __future__ import annotations

import pytest

from . import both


def test_values_that_json_would_lose_are_kept_apart() -> None:
    both.holds(
        {
            "undefined": both.UNDEFINED,
            "null": None,
            "-0": {"number": "-0"},
            "0": 0,
            "NaN": {"number": "NaN"},
            "10n": {"bigint": "10"},
            "new Uint8Array([1, 2])": {"Uint8Array": [1, 2]},
            "new Map([[1, undefined]])": {"Map": [[1, both.UNDEFINED]]},
            "const a = 1; return { a }": both.plain(a=1),
            "null.x": both.thrown("TypeError"),
            "throw 3; return 1": {"thrown": 3},
        }
    )


def test_a_probe_that_differs_from_its_literal_fails() -> None:
    with pytest.raises(AssertionError, match="2 of 3 differ"):
        both.holds({"1 + 1": 2, "1 + 2": 4, "1 === 1": 1})


def test_a_difference_from_node_is_found_and_must_be_one_where_it_is_declared() -> None:
    probes = {"which": "typeof process", "same": "1"}
    with pytest.raises(AssertionError, match="which"):
        both.probe(probes)
    both.probe(probes, differing={"which": ("undefined", "programs have no process")})
    with pytest.raises(AssertionError, match="does not differ"):
        both.probe(probes, differing={"same": (1, "not true")})
