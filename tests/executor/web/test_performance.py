"""performance.now counts from the run's beginning and never goes back."""

from __future__ import annotations

from .both import holds, of_all, probe


def test_it_is_shaped_as_in_node() -> None:
    probe(
        of_all(
            "typeof performance.now()",
            "typeof performance.timeOrigin",
            "performance.now() >= 0",
            "Object.prototype.toString.call(performance)",
            "Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000",
            "new Performance()",
            "performance.now.length",
        )
    )


def test_it_grows_with_the_clock_and_never_goes_back() -> None:
    holds(
        {
            "const times = []; for (let i = 0; i < 1e5; i++) times.push(performance.now());"
            "return times.every((time, i) => i === 0 || time >= times[i - 1])": True,
            "const before = performance.now(); await new Promise((resolve) => setTimeout(resolve, 20));"
            "return performance.now() - before >= 19": True,
        }
    )


def test_the_run_begins_at_nought() -> None:
    """And not when its worker became ready."""
    holds({"performance.now() < 1000": True})
