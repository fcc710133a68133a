# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""Limits of logs and calls, and the console as a run's caller sees it: section 11."""

from __future__ import annotations

import json
import math

import pytest

from tooltoolexec import Executor, Limits
from tooltoolexec_protocol import texts

from .hosts import identity, kind_of, raw, run, value_of

pytestmark = pytest.mark.anyio


async def test_past_the_calls_limit_a_call_rejects_and_the_run_goes_on(executor: Executor) -> None:
    host = identity()
    code = "async () => { const r = []; for (let i = 0; i < 5; i++) r.push(await store.f(i).catch(e => e.message)); try { await __dispatch('s', 't', '') } catch (e) { r.push(e.message) } return r }"
    outcome = await run(executor, code, host, limits=Limits(calls=2))
    refused = "The run allows 2 tool calls."
    assert outcome.result == [0, 1, refused, refused, refused, refused]
    assert (len(host.calls), outcome.stats.calls) == (2, 2)


async def test_a_run_may_have_no_calls_at_all(executor: Executor) -> None:
    code = "async () => { try { await store.f() } catch (e) { return e.message } }"
    assert await value_of(executor, code, identity(), limits=Limits(calls=0)) == "The run allows 0 tool calls."


async def test_the_default_is_a_thousand_calls(executor: Executor) -> None:
    code = "async () => { const r = await Promise.allSettled(Array.from({ length: 1001 }, (_, i) => store.f(i))); return [r[999].value, r[1000].reason.message] }"
    assert await value_of(executor, code, identity()) == [999, "The run allows 1000 tool calls."]


async def test_past_log_bytes_lines_are_dropped_and_one_last_line_says_how_many(executor: Executor) -> None:
    code = "async () => { for (let i = 0; i < 30; i++) console.log('x'.repeat(10)); return 1 }"
    outcome = await run(executor, code, limits=Limits(log_bytes=100))
    assert outcome.result == 1
    kept = [line for line in outcome.logs if line == "x" * 10]
    assert 8 <= len(kept) <= 10
    assert len(outcome.logs) == len(kept) + 1
    dropped = 30 - len(kept)
    assert outcome.logs[-1] == texts.compose(texts.DROPPED_LINES, n=dropped, m=100)
    assert f"{dropped} more log lines were dropped" in outcome.logs[-1]
    assert "{" not in outcome.logs[-1]


async def test_the_last_line_comes_with_a_failure_too(executor: Executor) -> None:
    code = "async () => { for (let i = 0; ; i++) console.log('line', i) }"
    outcome = await run(executor, code, limits=Limits(log_bytes=100, wall_s=0.1))
    assert kind_of(outcome) == "timeout"
    assert outcome.logs[0] == "line 0"
    assert "more log lines were dropped" in outcome.logs[-1]


async def test_a_hundred_kilobytes_line_works(executor: Executor) -> None:
    outcome = await run(executor, "async () => console.log('é'.repeat(50_000))")
    assert outcome.logs == ["é" * 50_000]


async def test_65000_lines_cost_no_time_to_speak_of(executor: Executor) -> None:
    outcome = await run(executor, "async () => { for (let i = 0; i < 65000; i++) console.log('line ' + i); return 1 }")
    assert outcome.result == 1
    assert outcome.logs[:2] == ["line 0", "line 1"]
    total = len(outcome.logs) - 1
    assert outcome.logs[-1].startswith(f"{65000 - total} more log lines were dropped")
    assert outcome.stats.wall_s < 5


async def test_logs_hold_any_text(executor: Executor) -> None:
    outcome = await run(
        executor, "async () => { console.log('a\\0b', '\\ud800', '\\u{1F600}'); console.log('two\\nlines') }"
    )
    assert outcome.logs == ["a\0b \ud800 \U0001f600", "two\nlines"]


async def test_levels_have_their_marks_and_on_log_gets_each_line_while_the_program_runs(executor: Executor) -> None:
    seen: list[tuple[str, str]] = []
    seen_at_call: list[int] = []

    async def dispatch(_provider: str, _tool: str, _args: str) -> str:
        seen_at_call.append(len(seen))
        return json.dumps({"result": 1})

    code = "async () => { console.log('a'); console.warn('b'); console.error('c'); console.assert(false, 'd'); await store.f(); console.info('e') }"
    outcome = await run(executor, code, dispatch=dispatch, on_log=lambda level, text: seen.append((level, text)))
    assert [text for _level, text in seen] == outcome.logs
    assert outcome.logs[0] == "a"
    assert outcome.logs[1] == "[warn] b"
    assert outcome.logs[2] == "[error] c"
    assert outcome.logs[3].startswith("[error] ")
    assert [level for level, _text in seen][:3] == ["log", "warn", "error"]
    assert seen_at_call == [4]


async def test_logs_of_a_busy_program_arrive_while_it_computes(executor: Executor) -> None:
    code = "async () => { console.log('early'); for (;;); }"
    seen: list[str] = []
    outcome = await run(executor, code, on_log=lambda _level, text: seen.append(text), limits=Limits(wall_s=0.2))
    assert (kind_of(outcome), seen) == ("timeout", ["early"])


@pytest.mark.parametrize("field", ["wall_s", "cpu_s", "memory_mb", "payload_bytes"])
@pytest.mark.parametrize("value", [0, -1, math.nan, "1", True])
def test_a_limit_that_is_no_positive_number_is_refused_before_anything_is_sent(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        Limits(**{field: value})  # type: ignore[arg-type]


async def test_stats_tell_what_the_run_used(executor: Executor) -> None:
    outcome = await run(executor, "async () => { for (let i = 0; i < 3; i++) await store.f(i); return new Uint8Array(1e5) }", raw('{"result":1}'))  # fmt: skip
    stats = outcome.stats
    assert stats.calls == 3
    assert stats.cpu_s > 0
    assert 0 < stats.wall_s < 5
    assert stats.queued_s >= 0
    assert stats.memory_peak_bytes > 0
    assert stats.bytes_sent > 100
    assert stats.bytes_received > 0
