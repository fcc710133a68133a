"""One run over a healthy connection."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

import anyio
import pytest

from tooltoolexec import Limits, RefusedError, connect, logs
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import Failure, Stats

from .daemon import FakeDaemon, Peer, refuse

pytestmark = pytest.mark.anyio


def finish(peer: Peer) -> None:
    peer.start()
    peer.done(1)


async def one(provider: str, tool: str, args_json: str) -> str:
    return json.dumps({"result": [provider, tool, args_json]})


async def test_a_run_has_its_result_logs_warnings_and_stats(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.log(("log", "one"), ("warn", "[warn] two"))
        tagged = {"__executor_binary_v1__": "Uint8Array", "data": "AQID"}
        peer.done({"a": [tagged]}, warnings=["careful"], stats=Stats(calls=3))

    async with connect(daemon.address) as executor:
        run = await executor.execute("code", labels={"who": "me"}, limits=Limits(wall_s=float("inf"), calls=7))
    assert run.ok
    assert run.result == {"a": [b"\1\2\3"]}
    assert (run.error, run.failure, run.record, run.retained) == (None, None, None, None)
    assert run.logs == ["one", "[warn] two"]
    assert run.warnings == ["careful"]
    assert run.stats.calls == 3
    request = daemon.peers[0].request
    assert run.id == request.id
    assert request.labels == {"who": "me"}
    assert request.limits.asked() == {"wall_s": float("inf"), "calls": 7}
    assert request.dispatch is False


async def test_a_failure_keeps_the_logs_and_raises_nothing(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.log(("log", "before"))
        peer.done(failure=Failure(kind="program", message="boom", name="Error", line=1, column=2))

    async with connect(daemon.address) as executor:
        run = await executor.execute("code")
    assert not run.ok
    assert (run.result, run.error, run.logs) == (None, "boom", ["before"])
    assert run.failure is not None
    assert (run.failure.kind, run.failure.line) == ("program", 1)


async def test_a_refusal_after_the_request_raises_refused_with_its_code(daemon: FakeDaemon) -> None:
    daemon.script(refuse("not_allowed"))
    async with connect(daemon.address) as executor:
        with pytest.raises(RefusedError) as caught:
            await executor.execute("code")
    assert caught.value.code == "not_allowed"


async def test_a_thousand_calls_in_one_frame_keep_order_and_identity(daemon: FakeDaemon) -> None:
    started: list[int] = []

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        number = json.loads(args_json)[0]
        started.append(number)
        if number % 3 == 0:
            await anyio.lowlevel.checkpoint()
        return json.dumps({"result": number})

    answers: dict[int, str] = {}

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call(*[(n, "s", "t", f"[{n}]") for n in range(1000)])
        answers.update(peer.answers(1000))
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("code", dispatch=dispatch)
    assert started == list(range(1000))
    assert answers == {n: json.dumps({"result": n}) for n in range(1000)}


async def test_a_slow_call_does_not_hold_back_the_others(daemon: FakeDaemon) -> None:
    release = anyio.Event()

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        if tool == "slow":
            await release.wait()
        elif tool == "last":
            release.set()
        return json.dumps({"result": tool})

    order: list[int] = []

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call((1, "s", "slow", "[]"), (2, "s", "quick", "[]"))
        order.extend(peer.answers(1))
        peer.call((3, "s", "last", "[]"))
        order.extend(peer.answers(2))
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("code", dispatch=dispatch)
    assert order[0] == 2
    assert sorted(order) == [1, 2, 3]


async def test_a_peer_that_sends_many_calls_before_it_reads_is_no_deadlock(daemon: FakeDaemon) -> None:
    size = 20_000
    count = 0

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        return json.dumps({"result": "x" * size})

    @daemon.script
    def script(peer: Peer) -> None:
        nonlocal count
        peer.start()
        for n in range(500):  # 10 MB each way: far more than both sockets hold.
            peer.call((n, "s", "t", json.dumps(["y" * size])))
        count = len(peer.answers(500))
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("code", dispatch=dispatch)
    assert count == 500


@pytest.mark.parametrize("kind", ["async", "plain", "plain_async"])
async def test_on_log_gets_each_line_in_order_before_execute_returns(daemon: FakeDaemon, kind: str) -> None:
    seen: list[tuple[str, str]] = []

    async def slowly(level: str, text: str) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append((level, text))

    def at_once(level: str, text: str) -> None:
        seen.append((level, text))

    def at_once_slowly(level: str, text: str) -> Awaitable[None]:
        return slowly(level, text)

    on_log: Any = {"async": slowly, "plain": at_once, "plain_async": at_once_slowly}[kind]

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        for n in range(20):
            peer.log(("log", str(n)))
        peer.done()

    async with connect(daemon.address) as executor:
        run = await executor.execute("code", on_log=on_log)
    assert seen == [("log", str(n)) for n in range(20)]
    assert run.logs == [str(n) for n in range(20)]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_failing_on_log_is_one_warning_and_never_ends_the_run(daemon: FakeDaemon, is_async: bool) -> None:
    async def fail_later(level: str, text: str) -> None:
        raise ValueError("no")

    def fail(level: str, text: str) -> None:
        raise ValueError("no")

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.log(("log", "a"), ("log", "b"))
        peer.done(5)

    async with connect(daemon.address) as executor:
        run = await executor.execute("code", on_log=fail_later if is_async else fail)
    assert run.result == 5
    assert run.warnings == ["on_log raised ValueError: no"]


@pytest.mark.parametrize(
    "options",
    [{"gate": object()}, {"runtime": object()}],
    ids=lambda options: next(iter(options)),
)
async def test_an_option_of_a_later_version_is_a_value_error(daemon: FakeDaemon, options: dict[str, Any]) -> None:
    async with connect(daemon.address) as executor:
        with pytest.raises(ValueError, match=r"is not available in this version\."):
            await executor.execute("code", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"code": b"1"},
        {"providers": [5]},
        {"dispatch": 5},
        {"limits": {"wall_s": 1}},
        {"labels": {"a": 1}},
        {"on_log": 1},
        {"outbound": 1},
        {"providers": [{"name": 5}]},
        {"providers": [{"name": "a", "tools": "abc"}]},
    ],
    ids=str,
)
async def test_a_wrong_type_is_a_type_error_and_sends_nothing(daemon: FakeDaemon, options: dict[str, Any]) -> None:
    async with connect(daemon.address) as executor:
        with pytest.raises(TypeError):
            await executor.execute(**{"code": "1", **options})
        daemon.script(finish)
        assert (await executor.execute("1")).result == 1


async def test_a_request_larger_than_the_daemon_reads_is_a_value_error(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        with pytest.raises(ValueError, match="over the limit of 8388608 bytes"):
            await executor.execute("x" * (8 * 1024 * 1024))


async def test_labels_too_long_for_the_logs_are_a_value_error(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        with pytest.raises(ValueError, match="The labels of 4097 characters are over the limit of 4096"):
            await executor.execute("1", labels={"a": "x" * 4096})


async def test_a_worker_that_makes_up_log_lines_cannot_fill_the_hosts_memory(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_MOST_UNASKED", 1000)

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        for _ in range(50):
            peer.log(("log", "x" * 99))
        peer.done()

    seen: list[str] = []

    async def on_log(_level: str, text: str) -> None:
        seen.append(text)

    async with connect(daemon.address) as executor:
        run = await executor.execute("code", on_log=on_log)
    assert len(run.logs) == len(seen) == 10
    assert run.warnings == ["The executor sent more log text than the run may have; the rest was dropped."]


async def test_an_executor_outside_its_async_with_is_a_value_error(daemon: FakeDaemon) -> None:
    executor = connect(daemon.address)
    with pytest.raises(ValueError, match="not open"):
        await executor.execute("1")


async def test_an_error_inside_the_async_with_comes_out_as_it_was_raised(daemon: FakeDaemon) -> None:
    with pytest.raises(KeyError):
        async with connect(daemon.address):
            raise KeyError("mine")


async def test_a_hundred_runs_at_once_keep_their_answers_apart(daemon: FakeDaemon) -> None:
    def script(peer: Peer) -> None:
        peer.start()
        peer.done(json.loads(peer.ask("s", "t", json.dumps([peer.request.code])))["result"])

    results: dict[str, Any] = {}
    for _ in range(100):
        daemon.script(script)
    async with connect(daemon.address) as executor, anyio.create_task_group() as group:

        async def run(code: str) -> None:
            results[code] = (await executor.execute(code, dispatch=one)).result

        for n in range(100):
            group.start_soon(run, str(n))
    assert results == {str(n): ["s", "t", f'["{n}"]'] for n in range(100)}


async def test_a_run_without_dispatch_answers_a_call_as_not_found(daemon: FakeDaemon) -> None:
    answers: list[str] = []

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        answers.append(peer.ask("s", "nope"))
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("code", providers=[{"name": "s", "tools": ["nope"]}])
    assert json.loads(answers[0]) == {"error": texts.compose(texts.TOOL_NOT_FOUND, tool="nope")}


async def test_lone_surrogates_and_nul_cross_both_ways(daemon: FakeDaemon) -> None:
    odd = "a\0\ud800b"
    got: list[str] = []

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.log(("log", odd))
        got.append(peer.ask(odd, odd, odd))
        peer.done(odd)

    async def echo(provider: str, tool: str, args_json: str) -> str:
        assert provider == tool == args_json == odd
        return odd

    async with connect(daemon.address) as executor:
        run = await executor.execute(odd, dispatch=echo)
    assert run.result == odd
    assert run.logs == [odd]
    assert got == [odd]
    assert daemon.peers[0].request.code == odd
