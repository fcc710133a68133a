"""What a run meets while its daemon restarts: it is tried again, seldom enough and never once it has begun."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tooltoolexec import ConnectError, ConnectionLostError, RefusedError, connect, patience
from tooltoolexec.embedded import local
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import Done, Failure, Outcome, Refused, Started, Unknown

from .daemon import FakeDaemon, Peer, refuse

pytestmark = pytest.mark.anyio
TRIES = len(patience.PAUSES_S)


@pytest.fixture
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSES_S", (0.001,) * TRIES)


short_pauses = pytest.mark.usefixtures("_short_pauses")


def finish(peer: Peer) -> None:
    peer.start()
    peer.done("fresh")


async def end_spares(daemon: FakeDaemon) -> None:
    """Have the next run open a connection of its own, and none be opened meanwhile."""
    with anyio.fail_after(10):
        while daemon.accepted < 2:  # noqa: ASYNC110 - the daemon is a thread.
            await anyio.sleep(0.001)
    await anyio.wait_all_tasks_blocked()
    for peer in daemon.peers:
        with contextlib.suppress(OSError):  # Closed already.
            peer.sock.shutdown(2)


def test_the_pauses_are_those_that_are_promised() -> None:
    assert patience.PAUSES_S == (0.1, 0.2, 0.4, 0.8, 1.6)


@short_pauses
async def test_a_run_refused_by_a_draining_daemon_is_sent_again_under_its_id(daemon: FakeDaemon) -> None:
    ids = []

    def drain(peer: Peer) -> None:
        ids.append(peer.receive_execute().id)
        peer.send(Refused(code="draining", message=texts.DRAINING))

    daemon.script(drain)
    daemon.script(drain)
    daemon.script(finish)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.result == "fresh"
    assert ids == [run.id, run.id]


@short_pauses
async def test_a_daemon_that_drains_for_ever_is_a_failure_after_so_many_tries(daemon: FakeDaemon) -> None:
    asked = []

    def drain(peer: Peer) -> None:
        asked.append(peer.receive_execute())
        peer.send(Refused(code="draining", message=texts.DRAINING))

    for _ in range(3 * TRIES):
        daemon.script(drain)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.failure is not None
    assert (run.failure.kind, run.error, run.logs, run.result) == ("shutdown", texts.SHUTDOWN, [], None)
    assert len(asked) == TRIES + 1


@short_pauses
async def test_a_daemon_that_drains_and_then_is_gone_is_that_failure_too(daemon: FakeDaemon) -> None:
    def drain(peer: Peer) -> None:
        daemon.stop_listening()
        refuse("draining")(peer)

    daemon.script(drain)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.failure is not None
    assert run.failure.kind == "shutdown"


@short_pauses
async def test_a_greeting_refused_as_draining_is_tried_again(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        await end_spares(daemon)
        greetings = 0

        def greeting(peer: Peer) -> None:
            nonlocal greetings
            greetings += 1
            if greetings > 2:
                peer.greet()
            else:
                peer.receive()
                peer.send(Refused(code="draining", message=texts.DRAINING))

        daemon.greeting = greeting
        daemon.script(finish)
        assert (await executor.execute("1")).result == "fresh"


@short_pauses
async def test_a_started_run_is_never_sent_again_whatever_is_said(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.receive_execute()
        peer.send(Started(id=peer.request.id, queued_s=0))
        peer.send(Refused(code="draining", message="after the start"))

    daemon.script(finish)
    async with connect(daemon.address) as executor:
        with pytest.raises(RefusedError, match="after the start"):
            await executor.execute("1")
    assert len(daemon.scripts) == 1


@short_pauses
async def test_connections_closed_before_the_greeting_are_tried_again(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        await end_spares(daemon)
        left = [Peer.hang_up] * 3

        def greeting(peer: Peer) -> None:
            if left:
                left.pop()(peer)
            else:
                peer.greet()

        daemon.greeting = greeting
        daemon.script(finish)
        assert (await executor.execute("1")).result == "fresh"


@short_pauses
async def test_a_daemon_that_never_greets_again_is_a_connect_error_after_so_many_tries(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        await end_spares(daemon)
        daemon.greeting = Peer.hang_up
        before = daemon.accepted
        with pytest.raises(ConnectError, match="instead of a greeting"):
            await executor.execute("1")
        # And one that is to become a spare, which is not this run's and tried once.
        assert TRIES + 1 <= daemon.accepted - before <= TRIES + 2


async def test_a_daemon_that_listens_again_gets_the_run(daemon: FakeDaemon, tmp_path: Path) -> None:
    async with connect(daemon.address) as executor:
        daemon.close()
        (tmp_path / "d.sock").unlink()
        successors: list[FakeDaemon] = []

        async def start_again() -> None:
            await anyio.sleep(0.05)
            successors.append(FakeDaemon(tmp_path))
            successors[0].script(finish)

        async with anyio.create_task_group() as group:
            group.start_soon(start_again)
            assert (await executor.execute("1")).result == "fresh"
    successors[0].close()


async def test_a_refused_tcp_connection_is_tried_again(tcp_daemon: FakeDaemon) -> None:
    port = int(tcp_daemon.address.rpartition(":")[2])
    async with connect(tcp_daemon.address) as executor:
        tcp_daemon.close()
        successors: list[FakeDaemon] = []

        async def start_again() -> None:
            await anyio.sleep(0.05)
            successors.append(FakeDaemon(None, port=port))
            successors[0].script(finish)

        async with anyio.create_task_group() as group:
            group.start_soon(start_again)
            assert (await executor.execute("1")).result == "fresh"
    successors[0].close()


@short_pauses
async def test_the_question_for_an_outcome_waits_for_the_successor(daemon: FakeDaemon, tmp_path: Path) -> None:
    asked = []

    @daemon.script
    def start_and_end(peer: Peer) -> None:
        peer.start()

        greetings = 0

        def greeting(fresh: Peer) -> None:
            nonlocal greetings
            greetings += 1
            if greetings > 2:
                fresh.greet()

        daemon.greeting = greeting

    daemon.script(refuse("draining"))

    @daemon.script
    def tell(peer: Peer) -> None:
        question = peer.receive()
        assert isinstance(question, Outcome)
        asked.append(question.id)
        peer.send(Done(id=question.id, failure=Failure(kind="memory", message="too much")))

    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.error == "too much"
    assert asked == [run.id]


@short_pauses
async def test_a_lost_spare_and_a_draining_daemon_and_a_duplicate_ask_for_the_outcome(daemon: FakeDaemon) -> None:
    def know_nothing(peer: Peer) -> None:
        peer.receive()
        peer.send(Unknown(id=peer_ids[0]))

    peer_ids = []

    def die(peer: Peer) -> None:
        peer_ids.append(peer.receive_execute().id)

    for script in (die, refuse("draining"), refuse("duplicate_run"), know_nothing):
        daemon.script(script)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.error == texts.CRASHED
    assert not daemon.scripts


@short_pauses
async def test_a_duplicate_after_draining_alone_is_refused(daemon: FakeDaemon) -> None:
    daemon.script(refuse("draining"))
    daemon.script(refuse("duplicate_run"))
    async with connect(daemon.address) as executor:
        with pytest.raises(RefusedError) as caught:
            await executor.execute("1")
    assert caught.value.code == "duplicate_run"


@pytest.mark.parametrize("code", ["busy", "forbidden", "unauthorized", "shutdown"])
async def test_other_refusals_are_told_at_once(daemon: FakeDaemon, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSES_S", (60,))
    daemon.script(refuse(code))
    async with connect(daemon.address) as executor:
        with pytest.raises(RefusedError) as caught:
            await executor.execute("1")
    assert caught.value.code == code


async def test_what_no_restart_explains_is_told_at_once(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSES_S", (60,))
    async with connect(daemon.address, connect_timeout_s=0.1) as executor:
        await end_spares(daemon)
        for greeting, part in (
            ((lambda peer: peer.send_raw(b"HTTP/1.1")), "does not speak this protocol"),
            (Peer.wait_for_hang_up, "within 0.1 s"),
        ):
            daemon.greeting = greeting
            with pytest.raises(ConnectError, match=part):
                await executor.execute("1")


async def test_neither_opening_nor_status_tries_again(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSES_S", (60,))
    async with connect(daemon.address) as executor:
        daemon.close()
        with pytest.raises(ConnectError):
            await executor.status()
    with pytest.raises(ConnectError):
        async with connect(daemon.address):
            pass


@pytest.mark.parametrize("ends_by", ["cancelling", "closing the executor"])
async def test_a_pause_ends_with_its_run(daemon: FakeDaemon, ends_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSES_S", (60,))
    was_refused = threading.Event()

    @daemon.script
    def drain(peer: Peer) -> None:
        refuse("draining")(peer)
        peer.wait_for_hang_up()
        was_refused.set()

    errors: list[BaseException] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group, connect(daemon.address) as executor:

            async def run() -> None:
                try:
                    await executor.execute("1")
                except ConnectionLostError as error:
                    errors.append(error)

            group.start_soon(run)
            await anyio.to_thread.run_sync(was_refused.wait)
            await anyio.wait_all_tasks_blocked()
            if ends_by == "cancelling":
                group.cancel_scope.cancel()
    assert len(errors) == (0 if ends_by == "cancelling" else 1)


async def test_an_embedded_daemon_that_has_ended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "standin"))
    monkeypatch.setattr(patience, "PAUSES_S", (60,))
    async with local() as executor:
        pid = (await executor.execute("pid")).result
        os.kill(pid, 9)
        with pytest.raises(ConnectError, match="ended with status -9"):
            await executor.execute("pid")


@short_pauses
async def test_a_question_for_an_outcome_that_is_cut_off_is_put_again(daemon: FakeDaemon) -> None:
    asked = []

    def cut_off(peer: Peer) -> None:
        question = peer.receive()
        assert isinstance(question, Outcome)
        asked.append(question.id)

    def answer(peer: Peer) -> None:
        cut_off(peer)
        peer.send(Unknown(id=asked[-1]))

    for script in (Peer.start, cut_off, cut_off, answer):
        daemon.script(script)
    async with connect(daemon.address) as executor:
        run = await executor.execute("1")
    assert run.failure is not None
    assert run.failure.kind == "crashed"
    assert asked == [run.id] * 3
