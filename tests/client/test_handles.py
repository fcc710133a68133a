"""Handles over connections that a scripted daemon ends, floods, or answers with nonsense."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tooltoolexec import (
    BlockingHandle,
    ExecutorError,
    Handle,
    HandleError,
    HandleReleased,
    Provider,
    Run,
    connect,
    sync,
)
from tooltoolexec_protocol.messages import VERSION, Done, Hello, Invoke, Refused, Returns, Unknown, Welcome

from .daemon import FakeDaemon, Peer

pytestmark = pytest.mark.anyio

TOKEN = {"__executor_handle_v1__": "1"}


def greet(peer: Peer) -> None:
    assert isinstance(peer.receive(), Hello)
    peer.send(Welcome(version=VERSION, features=["handles"]))


@pytest.fixture
def retaining(daemon: FakeDaemon) -> FakeDaemon:
    daemon.greeting = greet
    return daemon


def retain(peer: Peer, result: Any = TOKEN) -> None:
    peer.start()
    assert peer.request.retain_handles
    peer.done(result, retained=True)


def invocation(peer: Peer) -> tuple[int, str, str]:
    message = peer.receive()
    assert isinstance(message, Invoke)
    (only,) = message.invocations
    return only


def answer(peer: Peer, envelope: str) -> None:
    peer.send(Returns(returns=[(invocation(peer)[0], envelope)]))


def answering(*envelopes: str) -> Callable[[Peer], None]:
    """A worker that retains its run and answers so, one call after the other."""

    def script(peer: Peer) -> None:
        retain(peer)
        for envelope in envelopes:
            answer(peer, envelope)
        peer.wait_for_hang_up()

    return script


async def test_a_call_is_an_invocation_and_its_return_the_value(retaining: FakeDaemon) -> None:
    seen: list[tuple[int, str, str]] = []

    @retaining.script
    def script(peer: Peer) -> None:
        retain(peer, {"f": TOKEN, "no": [{**TOKEN, "more": 1}, {"__executor_handle_v1__": 1}]})
        for _ in range(2):
            seen.append(invocation(peer))
            peer.send(Returns(returns=[(99, '{"result":"to nobody"}'), (seen[-1][0], '{"result":["v"]}')]))
        peer.wait_for_hang_up()

    async with connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        assert run.result["no"] == [{**TOKEN, "more": 1}, {"__executor_handle_v1__": 1}]
        handle = run.result["f"]
        assert isinstance(handle, Handle)
        assert (handle.id, repr(handle)) == ("1", "<Handle 1>")
        assert run.retained is not None
        async with run.retained:
            assert await handle(1, b"\1") == ["v"]
            assert await handle() == ["v"]
    tagged = '{"__executor_binary_v1__":"Uint8Array","data":"AQ=="}'
    assert [call[1:] for call in seen] == [("1", f"[1,{tagged}]"), ("1", "[]")]
    assert seen[0][0] != seen[1][0]


@pytest.mark.parametrize(
    ("envelope", "message"),
    [
        ('{"error":"boom"}', "boom"),
        ('{"error":7}', "7"),
        ("[]", "The dispatch answered outside the result envelope."),
        ("nonsense", "The function's answer is malformed: "),
        ('{"result":' + "[" * 501 + "]" * 501 + "}", "The function's answer is malformed: "),
        ("[" * 100_000, "The function's answer is malformed: "),
    ],
)
async def test_an_error_and_what_is_no_envelope_raise_and_the_handle_lives_on(
    retaining: FakeDaemon, envelope: str, message: str
) -> None:
    retaining.script(answering(envelope, '{"result":1}'))
    async with connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        with pytest.raises(HandleError) as raised:
            await run.result()
        assert str(raised.value).startswith(message)
        assert await run.result() == 1


def hang_up(peer: Peer) -> None:
    peer.hang_up()


def refuse(peer: Peer) -> None:
    peer.send(Refused(code="released", message="the reason"))


def break_the_protocol(peer: Peer) -> None:
    peer.send_raw(b'{"type":"started"}')


@pytest.mark.parametrize(
    ("end", "reason"),
    [(hang_up, "its run's isolate has ended"), (refuse, "the reason"), (break_the_protocol, "The started message is")],
)
async def test_whatever_ends_the_connection_releases_the_handles(
    retaining: FakeDaemon, end: Callable[[Peer], None], reason: str
) -> None:
    @retaining.script
    def script(peer: Peer) -> None:
        retain(peer)
        invocation(peer)
        end(peer)

    async with connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        assert run.retained is not None
        for _ in range(2):  # One that waits, and one that comes later.
            with pytest.raises(HandleReleased) as raised:
                await run.result()
            assert str(raised.value).startswith(f"The handle was released: {reason}")
        assert run.retained.closed


async def test_a_second_done_is_no_message_of_a_retained_run(retaining: FakeDaemon) -> None:
    @retaining.script
    def script(peer: Peer) -> None:
        retain(peer)
        peer.send_raw(f'{{"type":"done","id":"{peer.request.id}"}}'.encode())
        peer.wait_for_hang_up()

    async with connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        with pytest.raises(HandleReleased):
            await run.result()


async def test_a_run_that_is_retained_unasked_is_lost(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.done(1, retained=True)
        peer.wait_for_hang_up()

    @daemon.script
    def outcome(peer: Peer) -> None:
        peer.receive()
        peer.send(Unknown(id=daemon.peers[0].request.id))

    async with connect(daemon.address) as executor:
        run = await executor.execute("code")
    assert run.failure is not None
    assert run.failure.kind == "crashed"


async def test_a_connection_that_breaks_before_the_outcome_releases_what_tools_got(retaining: FakeDaemon) -> None:
    handles: list[Handle] = []

    async def give(handle: Handle) -> None:
        handles.append(handle)

    @retaining.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.ask("store", "give", '[{"__executor_handle_v1__":"3"}]')
        peer.hang_up()

    @retaining.script
    def outcome(peer: Peer) -> None:
        peer.receive()
        peer.send(Done(id=retaining.peers[0].request.id, result=TOKEN))

    async with connect(retaining.address) as executor:
        run = await executor.execute("code", [Provider("store", [give])], retain_handles=True)
        assert run.retained is None
        for handle in (*handles, run.result):
            with pytest.raises(HandleReleased):
                await handle()
    assert [handle.id for handle in handles] == ["3"]


async def test_a_daemon_without_the_feature_is_asked_for_nothing(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        with pytest.raises(ExecutorError, match=r"^This daemon cannot retain handles\. Update it, or leave "):
            await executor.execute("code", retain_handles=True)


async def test_closing_hangs_up_and_takes_the_waiting_with_it(retaining: FakeDaemon) -> None:
    hung_up = threading.Event()

    @retaining.script
    def script(peer: Peer) -> None:
        retain(peer)
        peer.wait_for_hang_up()
        hung_up.set()

    async with connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        assert run.retained is not None
        with pytest.raises(TypeError, match="async with"):
            run.retained.close()
        with pytest.raises(TypeError, match=r"`async with`"), run.retained:
            pass
        await run.retained.aclose()
        await run.retained.aclose()
        assert run.retained.closed
        assert await anyio.to_thread.run_sync(hung_up.wait, 10)


async def test_an_executor_that_closes_wakes_those_who_wait_for_a_handle(retaining: FakeDaemon) -> None:
    retaining.script(answering())
    reasons: list[str] = []

    async def call(run: Run) -> None:
        try:
            await run.result()
        except HandleReleased as error:
            reasons.append(str(error))

    async with anyio.create_task_group() as group, connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        group.start_soon(call, run)
        await anyio.wait_all_tasks_blocked()
    assert reasons == ["The handle was released: its run's isolate has ended"]


async def test_arguments_larger_than_a_frame_are_refused_before_they_are_sent(
    retaining: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tooltoolexec_protocol.limits.ANSWER_BYTES", 100)
    retaining.script(answering('{"result":1}'))
    async with connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        with pytest.raises(ValueError, match=r"^The arguments of \d+ bytes are over the limit of 100 bytes\.$"):
            await run.result("x" * 100)
        assert await run.result("x" * 10) == 1


async def test_a_large_call_goes_out_although_the_socket_is_full(retaining: FakeDaemon) -> None:
    text = "x" * 3_000_000

    @retaining.script
    def script(peer: Peer) -> None:
        retain(peer)
        for _ in range(3):
            number, _handle_id, args = invocation(peer)
            peer.send(Returns(returns=[(number, f'{{"result":{len(args)}}}')]))
        peer.wait_for_hang_up()

    sizes: list[int] = []

    async def call(run: Run) -> None:
        sizes.append(await run.result(text))

    async with connect(retaining.address) as executor:
        run = await executor.execute("code", retain_handles=True)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(call, run)
    assert sizes == [len(text) + 4] * 3


@pytest.mark.parametrize("value", [1, None, "yes"])
async def test_the_option_is_a_bool(retaining: FakeDaemon, value: Any) -> None:
    async with connect(retaining.address) as executor:
        with pytest.raises(TypeError, match="retain_handles is True or False"):
            await executor.execute("code", retain_handles=value)


# The blocking twin.


def test_in_blocking_code_a_handle_is_called_and_closed_without_await(retaining: FakeDaemon) -> None:
    @retaining.script
    def script(peer: Peer) -> None:
        retain(peer, {"deep": [TOKEN]})
        answer(peer, '{"result":{"__executor_handle_v1__":"2"}}')
        answer(peer, '{"error":"boom"}')
        answer(peer, '{"result":"by id"}')
        peer.wait_for_hang_up()

    with sync.connect(retaining.address) as executor:
        run = executor.execute("code", retain_handles=True)
        assert run.retained is not None
        with run.retained as isolate:
            second = run.result["deep"][0](1)
            assert isinstance(second, BlockingHandle)
            assert (second.id, repr(second)) == ("2", "<BlockingHandle 2>")
            with pytest.raises(HandleError, match=r"^boom$"):
                second()
            assert isolate.handle("7")() == "by id"
        assert isolate.closed
        with pytest.raises(HandleReleased):
            second()
    with pytest.raises(HandleReleased):
        second()
    isolate.close()  # Once more does nothing.


def test_a_blocking_call_of_a_dead_isolate_raises(retaining: FakeDaemon) -> None:
    @retaining.script
    def script(peer: Peer) -> None:
        retain(peer)
        invocation(peer)

    with sync.connect(retaining.address) as executor:
        run = executor.execute("code", retain_handles=True)
        with pytest.raises(HandleReleased):
            run.result()
