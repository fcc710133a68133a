"""What becomes of a run when its connection does not last."""

from __future__ import annotations

import json
import threading

import anyio
import anyio.to_thread
import pytest

from tooltoolexec import AddressError, ConnectError, ConnectionLostError, RefusedError, connect
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import (
    VERSION,
    Done,
    Failure,
    Outcome,
    Refused,
    Report,
    Started,
    Status,
    Unknown,
    Welcome,
)

from .daemon import FakeDaemon, Peer, refuse

pytestmark = pytest.mark.anyio


def finish(peer: Peer) -> None:
    peer.start()
    peer.done("fresh")


def take_and_die(peer: Peer) -> None:
    peer.receive_execute()


def start_and_die(peer: Peer) -> None:
    peer.start()


def know_nothing(peer: Peer) -> None:
    question = peer.receive()
    assert isinstance(question, Outcome)
    peer.send(Unknown(id=question.id))


def know_it_was_killed(peer: Peer) -> None:
    question = peer.receive()
    assert isinstance(question, Outcome)
    peer.send(Done(id=question.id, failure=Failure(kind="timeout", message="late")))


async def test_a_spare_that_ends_before_started_is_retried_once_under_the_same_id(daemon: FakeDaemon) -> None:
    ids = []

    @daemon.script
    def first(peer: Peer) -> None:
        ids.append(peer.receive_execute().id)

    @daemon.script
    def second(peer: Peer) -> None:
        peer.start()
        ids.append(peer.request.id)
        peer.done("fresh")

    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.result == "fresh"
    assert ids == [run.id, run.id]


async def test_the_retry_happens_only_once_and_then_the_outcome_is_asked(daemon: FakeDaemon) -> None:
    for script in (take_and_die, take_and_die, know_nothing):
        daemon.script(script)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.failure is not None
    assert (run.failure.kind, run.error) == ("crashed", texts.CRASHED)
    assert not daemon.scripts


async def test_a_duplicate_run_after_a_retry_asks_for_the_outcome(daemon: FakeDaemon) -> None:
    for script in (take_and_die, refuse("duplicate_run"), know_it_was_killed):
        daemon.script(script)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.failure is not None
    assert run.failure.kind == "timeout"


async def test_a_duplicate_run_without_a_retry_is_refused(daemon: FakeDaemon) -> None:
    daemon.script(refuse("duplicate_run"))
    async with connect(daemon.address) as executor:
        with pytest.raises(RefusedError):
            await executor.execute("1")


async def test_a_connection_that_ends_after_started_is_never_retried(daemon: FakeDaemon) -> None:
    daemon.script(start_and_die)
    daemon.script(know_it_was_killed)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.error == "late"


async def test_a_run_nobody_knows_is_crashed_and_keeps_its_logs(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.log(("log", "last words"))

    daemon.script(know_nothing)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.failure is not None
    assert run.failure.kind == "crashed"
    assert run.logs == ["last words"]


@pytest.mark.parametrize("answer", ["hang up", "refuse", "garbage", "another run"])
async def test_a_daemon_that_cannot_be_asked_is_a_lost_connection(daemon: FakeDaemon, answer: str) -> None:
    @daemon.script
    def second(peer: Peer) -> None:
        peer.start()

    @daemon.script
    def third(peer: Peer) -> None:
        peer.receive()
        if answer == "refuse":
            peer.send(Refused(code="no", message="no"))
        elif answer == "garbage":
            peer.send_raw(b"garbage")
        elif answer == "another run":
            peer.send(Done(id="f" * 32))

    async with connect(daemon.address) as executor:
        with pytest.raises(ConnectionLostError):
            await executor.execute("1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xff",
        b'{"type":"done"}',
        b'{"type":"done","id":5}',
        b'{"type":"done","id":"ffffffffffffffffffffffffffffffff"}',
        b'{"type":"done","id":"ID","failure":7}',
        b'{"type":"done","id":"ID","failure":{"kind":1,"message":"x"}}',
        b'{"type":"done","id":"ID","warnings":[1]}',
        b'{"type":"done","id":"ID","stats":{"calls":"x"}}',
        b'{"type":"done","id":"ID","stats":{"calls":1e400}}',
        b'{"type":"done","id":"ID","result":' + b"[" * 600 + b"]" * 600 + b"}",
        b'{"type":"done","id":"ID","result":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"done","id":"ID","result":NaN}',
        b'{"type":"calls","calls":[[1,2,3,4]]}',
        b'{"type":"calls","calls":[["1","a","b","c"]]}',
        b'{"type":"calls","calls":[[1,"a","b"]]}',
        b'{"type":"logs","lines":[["log"]]}',
        b'{"type":"started","id":"ID","queued_s":1}',
        b'{"type":"execute","id":"ID","code":""}',
        b'{"type":"unheard_of"}',
        b'{"type":["done"]}',
    ],
    ids=lambda body: ascii(body[:40]),
)
async def test_hostile_bytes_end_the_connection_and_the_outcome_is_asked(daemon: FakeDaemon, body: bytes) -> None:
    seen_hang_up = threading.Event()

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.send_raw(body.replace(b"ID", peer.request.id.encode()))
        peer.wait_for_hang_up()
        seen_hang_up.set()

    daemon.script(know_nothing)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
        assert run.failure is not None
        assert run.failure.kind == "crashed"
    assert seen_hang_up.wait(10)


async def test_a_spare_that_breaks_the_protocol_is_not_retried(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.receive_execute()
        peer.send_raw(b"{}")

    daemon.script(know_nothing)
    async with connect(daemon.address) as executor:
        assert (await executor.execute("1")).error == texts.CRASHED
    assert not daemon.scripts


async def test_a_frame_too_large_is_refused_before_its_body(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.sock.sendall(b"\xff\xff\xff\xff")
        peer.wait_for_hang_up()

    daemon.script(know_nothing)
    async with connect(daemon.address) as executor:
        assert (await executor.execute("1")).error == texts.CRASHED


async def test_an_idle_spare_that_hung_up_is_dropped_and_costs_no_retry(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        daemon.peers[0].sock.shutdown(2)
        daemon.script(finish)
        assert (await executor.execute("1")).result == "fresh"


async def test_at_most_two_spares_are_kept(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        for n in range(5):
            daemon.script(finish)
            await executor.execute(str(n))
        with anyio.fail_after(10):
            while daemon.accepted < 7:  # noqa: ASYNC110 - the daemon is a thread.
                await anyio.sleep(0.001)
        await anyio.wait_all_tasks_blocked()
        assert daemon.accepted == 7


async def test_nothing_at_the_address_is_a_connect_error(tmp_path: object) -> None:
    with pytest.raises(ConnectError, match="No such file"):
        async with connect(f"unix:{tmp_path}/none.sock"):
            pass


async def test_nothing_at_a_tcp_port_is_a_connect_error() -> None:
    with pytest.raises(ConnectError, match="refused"):
        async with connect("tcp://127.0.0.1:1"):
            pass


async def test_a_silent_peer_is_a_connect_error_after_the_deadline(daemon: FakeDaemon) -> None:
    daemon.greeting = Peer.wait_for_hang_up
    with pytest.raises(ConnectError, match=r"within 0\.05 s"):
        async with connect(daemon.address, connect_timeout_s=0.05):
            pass


async def test_a_peer_that_speaks_something_else_is_a_connect_error(daemon: FakeDaemon) -> None:
    daemon.greeting = lambda peer: peer.send_raw(b"HTTP/1.1 400 Bad Request")
    with pytest.raises(ConnectError, match="does not speak this protocol"):
        async with connect(daemon.address):
            pass


async def test_a_refused_greeting_is_refused_with_its_code(daemon: FakeDaemon) -> None:
    def greeting(peer: Peer) -> None:
        peer.receive()
        peer.send(Refused(code="unauthorized", message="who are you"))

    daemon.greeting = greeting
    with pytest.raises(RefusedError, match="who are you") as caught:
        async with connect(daemon.address):
            pass
    assert caught.value.code == "unauthorized"


@pytest.mark.parametrize("version", [0, VERSION + 1])
async def test_a_version_this_client_does_not_speak_is_refused(daemon: FakeDaemon, version: int) -> None:
    def greeting(peer: Peer) -> None:
        peer.receive()
        peer.send(Welcome(version=version))
        peer.wait_for_hang_up()

    daemon.greeting = greeting
    with pytest.raises(RefusedError, match="version") as caught:
        async with connect(daemon.address):
            pass
    assert caught.value.code == "version"


def test_texts_that_are_no_address_are_told_at_once() -> None:
    with pytest.raises(AddressError):
        connect("http://example.org")


async def test_status_asks_the_daemon(daemon: FakeDaemon) -> None:
    report = Report(server="x", pid=1, uptime_s=1, workers=2, idle_now=1, running_now=0, queued_now=0, queue=5)

    @daemon.script
    def script(peer: Peer) -> None:
        assert isinstance(peer.receive(), Status)
        peer.send(report)

    async with connect(daemon.address) as executor:
        assert await executor.status() == report


async def test_closing_the_executor_ends_other_tasks_runs(daemon: FakeDaemon) -> None:
    started = threading.Event()

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        started.set()
        peer.wait_for_hang_up()

    async with anyio.create_task_group() as group, connect(daemon.address) as executor:

        async def run() -> None:
            with pytest.raises(ConnectionLostError, match="closed while the run"):
                await executor.execute("1")

        group.start_soon(run)
        await anyio.to_thread.run_sync(started.wait)


@pytest.mark.parametrize("while_waiting", ["for a worker", "for the program", "for a tool"])
async def test_a_cancelled_run_is_seen_by_the_peer_at_once(daemon: FakeDaemon, while_waiting: str) -> None:
    reached, hung_up = threading.Event(), threading.Event()
    cancelled = []

    @daemon.script
    def script(peer: Peer) -> None:
        peer.receive_execute()
        if while_waiting != "for a worker":
            peer.send(Started(id=peer.request.id, queued_s=0))
        if while_waiting == "for a tool":
            peer.call((1, "s", "t", "[]"))
        else:
            reached.set()
        peer.wait_for_hang_up()
        hung_up.set()

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        reached.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append(tool)
            raise
        return json.dumps({})

    async with connect(daemon.address) as executor:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: executor.execute("1", dispatch=dispatch))
            await anyio.to_thread.run_sync(reached.wait)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(hung_up.wait, 5)
        await anyio.wait_all_tasks_blocked()
        assert cancelled == (["t"] if while_waiting == "for a tool" else [])
        daemon.script(finish)
        assert (await executor.execute("1")).result == "fresh"


async def test_a_run_goes_over_tcp(tcp_daemon: FakeDaemon) -> None:
    tcp_daemon.script(finish)
    async with connect(tcp_daemon.address) as executor:
        assert (await executor.execute("1")).result == "fresh"


async def test_a_cancelled_run_over_tcp_is_reset_although_the_window_is_full(tcp_daemon: FakeDaemon) -> None:
    is_full, was_reset = threading.Event(), threading.Event()

    @tcp_daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call(*[(n, "s", "t", "[]") for n in range(20)])
        assert is_full.wait(10)
        try:  # What had arrived before the reset is gone with it, so this sees no clean end.
            while peer.sock.recv(1 << 20):
                pass
        except ConnectionResetError:
            was_reset.set()

    answered = 0

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        nonlocal answered
        answered += 1
        return json.dumps({"result": "x" * 4_000_000})

    async with connect(tcp_daemon.address) as executor, anyio.create_task_group() as group:
        group.start_soon(lambda: executor.execute("1", dispatch=dispatch))
        with anyio.fail_after(10):
            while answered < 20:  # noqa: ASYNC110 - counted by the dispatch.
                await anyio.sleep(0.001)
        group.cancel_scope.cancel()
    is_full.set()
    assert was_reset.wait(10)
