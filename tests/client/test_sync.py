"""The blocking twins."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from tooltoolexec import ConnectError, ConnectionLostError, Provider, Run, Tool, sync

from .daemon import FakeDaemon, Peer

user: ContextVar[str] = ContextVar("user", default="nobody")


def ask_and_finish(peer: Peer) -> None:
    peer.start()
    peer.done(json.loads(peer.ask("store", "who"))["result"])


def who() -> str:
    return user.get()


async def who_async() -> str:
    return user.get()


STORE = [Provider("store", [who])]


def test_a_blocking_run_calls_plain_and_async_tools(daemon: FakeDaemon) -> None:
    user.set("ada")
    with sync.connect(daemon.address) as executor:
        for tool in (who, who_async):
            daemon.script(ask_and_finish)
            assert executor.execute("1", [Provider("store", [Tool(tool, "who")])]).result == "ada"


def test_it_blocks_inside_a_running_event_loop(daemon: FakeDaemon) -> None:
    daemon.script(ask_and_finish)

    async def notebook_cell() -> Run:
        with sync.connect(daemon.address) as executor:
            return executor.execute("1", STORE)

    assert asyncio.run(notebook_cell()).ok


def test_several_threads_use_one_executor(daemon: FakeDaemon) -> None:
    results: list[object] = []
    for _ in range(20):
        daemon.script(ask_and_finish)
    with sync.connect(daemon.address) as executor:
        threads = [
            threading.Thread(target=lambda: results.append(executor.execute("1", STORE).result)) for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert results == ["nobody"] * 20


def test_nothing_at_the_address_is_a_connect_error() -> None:
    with pytest.raises(ConnectError), sync.connect("unix:/nonexistent/socket"):
        pass


def test_an_error_in_the_body_comes_out_as_it_was_raised(daemon: FakeDaemon) -> None:
    with pytest.raises(KeyError), sync.connect(daemon.address):
        raise KeyError


def test_an_executor_outside_its_with_is_a_value_error(daemon: FakeDaemon) -> None:
    executor = sync.connect(daemon.address)
    with pytest.raises(ValueError, match="not open"):
        executor.execute("1")


def test_an_interrupt_of_the_caller_ends_the_run_and_comes_out_promptly(daemon: FakeDaemon) -> None:
    hung_up = threading.Event()

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        peer.wait_for_hang_up()
        hung_up.set()

    with sync.connect(daemon.address) as executor:
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            executor.execute("1")
        assert time.monotonic() - began < 2
        assert hung_up.wait(5)
        daemon.script(ask_and_finish)
        assert executor.execute("1", STORE).ok


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, SystemExit])
def test_a_tool_that_raises_what_ends_a_loop_fails_only_its_call(
    daemon: FakeDaemon, error: type[BaseException]
) -> None:
    """No user interrupts the background thread, so there it is the tool's own doing."""

    async def ends() -> None:
        raise error

    answers: list[str] = []

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        answers.append(peer.ask("store", "ends"))
        peer.done(1)

    with sync.connect(daemon.address) as executor:
        assert executor.execute("1", [Provider("store", [ends])]).result == 1
        daemon.script(ask_and_finish)
        assert executor.execute("1", STORE).ok
    assert json.loads(answers[0]) == {"error": "ends failed (internal error)"}


def test_closing_under_a_running_call_is_a_lost_connection_there(daemon: FakeDaemon) -> None:
    started = threading.Event()
    errors: list[BaseException] = []

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        started.set()
        peer.wait_for_hang_up()

    def run() -> None:
        try:
            executor.execute("1")
        except BaseException as error:
            errors.append(error)

    with sync.connect(daemon.address) as executor:
        thread = threading.Thread(target=run)
        thread.start()
        assert started.wait(10)
    thread.join(10)
    assert [type(error) for error in errors] == [ConnectionLostError]


def test_an_executor_opened_before_a_fork_says_so_in_the_child(daemon: FakeDaemon) -> None:
    with sync.connect(daemon.address) as executor:
        pid = os.fork()
        if pid == 0:
            try:
                executor.execute("1")
            except ValueError as error:
                os._exit(0 if "before a fork" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_an_executor_nobody_closed_does_not_keep_the_process(daemon: FakeDaemon) -> None:
    script = f"from tooltoolexec import sync; sync.connect({daemon.address!r}).__enter__()"
    subprocess.run([sys.executable, "-c", script], timeout=20, check=True)
