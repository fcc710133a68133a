"""Runs through the embedded executor that need no other arrangement: bounds at their ends, and how runs are counted."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tooltoolexec import Limits, Provider
from tooltoolexec.sync import BlockingExecutor, local

NONE = Limits(
    wall_s=math.inf, cpu_s=math.inf, memory_mb=math.inf, payload_bytes=math.inf, log_bytes=math.inf, calls=math.inf
)


@pytest.fixture(scope="module")
def executor() -> Iterator[BlockingExecutor]:
    with local(maxima=NONE) as opened:
        yield opened


@pytest.mark.parametrize("name", Limits.__dataclass_fields__)
@pytest.mark.parametrize("value", [math.inf, 1e300, 40 * 86400.0])
def test_a_limit_may_be_none_or_beyond_any_clock(executor: BlockingExecutor, name: str, value: float) -> None:
    program = "async () => { await new Promise((done) => setTimeout(done, 5)); return 1 }"
    run = executor.execute(program, limits=Limits(**{name: value}))
    assert (run.error, run.result) == (None, 1)


def test_an_empty_line_costs_a_byte_of_the_log(executor: BlockingExecutor) -> None:
    run = executor.execute("() => { for (let i = 0; i < 1000; i++) console.log('') }", limits=Limits(log_bytes=50))
    assert run.logs == [""] * 50 + ["950 more log lines were dropped: the run logs at most 50 bytes."]


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("async () => { return 1", (1, 23)),
        ("async () => {\n  f(", (2, 5)),
        ("async () => `\n\nx", (3, 2)),
    ],
)
def test_a_program_that_ends_too_early_fails_at_its_end(
    executor: BlockingExecutor, code: str, place: tuple[int, int]
) -> None:
    failure = executor.execute(code).failure
    assert failure is not None
    assert failure.kind == "syntax"
    assert failure.line is not None
    assert failure.line <= place[0]
    if failure.message == "Unexpected end of input":
        assert (failure.line, failure.column) == place


@pytest.mark.parametrize("code", ["1); (2", "1)); ((2", "1) }); ((x) => { return (2", "async () => 1\n); (1"])
def test_text_that_closes_a_bracket_it_did_not_open_is_a_syntax_failure(executor: BlockingExecutor, code: str) -> None:
    failure = executor.execute(code).failure
    assert failure is not None
    assert failure.kind == "syntax"


def test_a_tool_may_name_its_parameters_as_it_likes(executor: BlockingExecutor) -> None:
    def tool(function: int = 0, self: int = 0, args: int = 0) -> list[int]:
        return [function, self, args]

    providers = [Provider("s", [tool], positional_args=False)]
    assert executor.execute("() => s.tool({ function: 1, self: 2, args: 3 })", providers).result == [1, 2, 3]


def test_a_program_does_not_learn_a_hosts_types(executor: BlockingExecutor) -> None:
    class SecretThing:
        pass

    def tool() -> Any:
        return SecretThing()

    run = executor.execute(
        "async () => { try { await s.tool() } catch (e) { return e.message } }", [Provider("s", [tool])]
    )
    assert "JSON form" in run.result
    assert "SecretThing" not in run.result


def test_runs_are_counted_by_how_they_ended() -> None:
    codes = ("() => 1", "() => { throw 'x'.repeat(300000) }", "new Promise(() => {})", "x = ;")
    with local() as own:
        for code in codes:
            own.execute(code)
        # A run is counted when its worker is gone, which is a moment after its outcome.
        while sum((counts := own.status().runs).values()) < len(codes):
            pass
    assert counts == {"ok": 1, "program": 1, "stalled": 1, "syntax": 1}


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_zygote_that_hangs_is_replaced_and_no_run_waits_for_it() -> None:
    with local(workers=2) as own:
        assert own.execute("() => 1").result == 1
        (zygote,) = children(own.status().pid)
        os.kill(zygote, signal.SIGSTOP)
        outcomes = [own.execute("async () => 1", limits=Limits(wall_s=2)) for _ in range(8)]
        assert outcomes[-1].result == 1
        assert {run.error for run in outcomes} <= {None, "The worker ended unexpectedly."}
        assert zygote not in children(own.status().pid)
