"""SIGTERM, restarts, and what the service manager is told: no work that could end is lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from serving import PATIENCE_S, TOKEN, BareClient, Certificates, ServedDaemon, children_of, until, wait_until
from tooltoolexec import Executor, Run, connect, local
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import Done, Execute, Outcome, Refused, Report, Started, Status, Unknown

from .conftest import StartDaemon

pytestmark = pytest.mark.anyio

STORE = [{"name": "store"}]
WAITS = "async () => await store.wait()"
RAW_WAITS = "async () => await __dispatch('a', 'b', '')"
BUSY = "async () => { console.log('busy'); for (;;); }"


@pytest.mark.parametrize("place", ["unix", "tls"])
async def test_a_drain_loses_no_run_that_ends_in_time_and_the_rest_get_shutdown(
    start_daemon: StartDaemon, place: str
) -> None:
    """Twenty programs run when SIGTERM comes: twelve go on when they are let, eight wait for ever."""
    daemon = start_daemon("--grace-s", "2")
    let_go = anyio.Event()
    called = 0
    runs: list[Run] = []

    async def dispatch(_provider: str, _tool: str, args: str) -> str:
        nonlocal called
        called += 1
        await (let_go.wait() if int(args.strip("[]")) < 12 else anyio.sleep_forever())
        return f'{{"result": {args}}}'

    async def one(executor: Executor, number: int) -> None:
        runs.append(await executor.execute(f"async () => (await store.wait({number}))[0]", STORE, dispatch=dispatch))

    async with daemon.connect(place) as executor, anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, executor, number)
        await until(lambda: called == 20, "all run")
        os.kill(daemon.pid, signal.SIGTERM)
        await until(lambda: '"draining"' in "".join(daemon.log), "the drain")
        let_go.set()
    assert Counter(run.failure.kind if run.failure else "ok" for run in runs) == {"ok": 12, "shutdown": 8}
    assert sorted(run.result for run in runs if run.failure is None) == list(range(12))
    assert {run.error for run in runs if run.failure} == {texts.SHUTDOWN}
    await anyio.to_thread.run_sync(daemon.process.wait, PATIENCE_S)
    assert daemon.process.returncode == 0


def test_a_daemon_without_runs_is_gone_at_once(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--grace-s", "1000")
    os.kill(daemon.pid, signal.SIGTERM)
    assert daemon.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_now(start_daemon: StartDaemon, second: signal.Signals) -> None:
    daemon = start_daemon("--grace-s", "1000")
    with BareClient(daemon.unix) as client:
        client.execute(BUSY)
        assert isinstance(client.receive(), Started)
        os.kill(daemon.pid, signal.SIGTERM)
        wait_until(lambda: '"draining"' in "".join(daemon.log), "the drain")
        os.kill(daemon.pid, second)
        while not isinstance(done := client.receive(), Done):
            pass
        assert (done.failure and done.failure.kind) == "shutdown"
    assert daemon.process.wait(PATIENCE_S) == 0


def test_while_it_drains_runs_are_refused_and_everything_else_is_answered(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "0", "--grace-s", "1000")
    with ExitStack() as stack:
        running, queued, idle = (stack.enter_context(BareClient(daemon.unix)) for _ in range(3))
        request = running.execute(RAW_WAITS)
        assert isinstance(running.receive(), Started)
        queued.execute("() => 1")
        idle.greet()
        with BareClient(daemon.unix) as asker:
            asker.greet()

            def report() -> Report:
                asker.send(Status())
                answer = asker.receive()
                assert isinstance(answer, Report)
                return answer

            wait_until(lambda: report().queued_now == 1, "one waits")
        os.kill(daemon.pid, signal.SIGTERM)
        # Whoever waits, or might be about to send a run, is told to go elsewhere with it.
        for told in (queued, idle):
            assert told.refusal() == Refused(code="draining", message=texts.DRAINING)
        with BareClient(daemon.unix) as late:
            late.execute("() => 1")
            assert late.refusal().code == "draining"
        with BareClient(daemon.unix) as asker:
            asker.greet()
            asker.send(Status())
            answer = asker.receive()
            assert isinstance(answer, Report)
            assert answer.draining
            asker.send(Outcome(id=os.urandom(16).hex()))
            assert isinstance(asker.receive(), Unknown)
            running.socket.close()  # Its run is cancelled, and with the last run the drain is over.
            assert daemon.process.wait(PATIENCE_S) == 0
    assert request.id in "".join(daemon.log)


def embedded_daemon() -> int:
    """The process of this one's embedded daemon."""
    return next(pid for pid in children_of(os.getpid()) if b"embedded" in Path(f"/proc/{pid}/cmdline").read_bytes())


async def test_an_embedded_daemon_drains_as_well() -> None:
    """A service manager that stops a service sends SIGTERM to all its processes, the embedded daemon among them."""
    release = anyio.Event()

    async def dispatch(_provider: str, _tool: str, _args: str) -> str:
        os.kill(embedded_daemon(), signal.SIGTERM)
        await anyio.sleep(0.2)
        release.set()
        return '{"result": 7}'

    async with local() as executor:
        run = await executor.execute(WAITS, STORE, dispatch=dispatch)
    assert run.result == 7


def test_a_slow_client_gets_its_result_during_the_drain(start_daemon: StartDaemon) -> None:
    """Its worker has ended; over TLS the daemon still has what that said."""
    daemon = start_daemon("--grace-s", "20")
    with BareClient(daemon.tls, daemon.certificates.client()) as client:
        client.greet(TOKEN)
        client.send(Execute(id=os.urandom(16).hex(), code="() => 'x'.repeat(4_000_000)"))
        assert isinstance(client.receive(), Started)
        wait_until(lambda: '"run ended"' in "".join(daemon.log), "the worker has ended", within_s=5)
        os.kill(daemon.pid, signal.SIGTERM)
        wait_until(lambda: '"draining"' in "".join(daemon.log), "the drain")
        with pytest.raises(subprocess.TimeoutExpired):
            daemon.process.wait(4)  # Longer than closing may take.
        done = client.receive()
        assert isinstance(done, Done)
        assert done.result == "x" * 4_000_000
    assert daemon.process.wait(PATIENCE_S) == 0


# Restarts.


class Restartable:
    """A daemon at one address that can be replaced by another."""

    def __init__(self, tmp_path: Path) -> None:
        self._folder = tmp_path
        self.daemon = ServedDaemon(tmp_path, ["--grace-s", "5"])

    async def restart(self) -> None:
        os.kill(self.daemon.pid, signal.SIGTERM)
        await anyio.to_thread.run_sync(self.daemon.process.wait, PATIENCE_S)
        self.daemon = await anyio.to_thread.run_sync(ServedDaemon, self._folder, ["--grace-s", "5"])


async def test_a_restarted_daemon_serves_the_same_executor(tmp_path: Path) -> None:
    """With runs before, during and after it: none fails, none runs twice."""
    place = Restartable(tmp_path)
    entered: Counter[int] = Counter()
    runs: dict[int, Run] = {}

    async def dispatch(_provider: str, _tool: str, args: str) -> str:
        entered[int(args.strip("[]"))] += 1
        await anyio.sleep(0.05)
        return f'{{"result": {args}}}'

    async def steadily(executor: Executor, numbers: range) -> None:
        for number in numbers:
            code = f"async () => (await store.wait({number}))[0]"
            runs[number] = await executor.execute(code, STORE, dispatch=dispatch)

    try:
        async with connect(place.daemon.unix) as executor, anyio.create_task_group() as group:
            for first in range(4):
                group.start_soon(steadily, executor, range(first * 15, first * 15 + 15))
            await until(lambda: len(runs) >= 8, "some runs")
            await place.restart()
    finally:
        place.daemon.close()
    assert {number: run.error for number, run in runs.items() if run.error} == {}
    assert {number: run.result for number, run in runs.items()} == {number: number for number in range(60)}
    assert set(entered.values()) == {1}


async def test_an_idle_executor_does_not_notice_a_restart(tmp_path: Path) -> None:
    place = Restartable(tmp_path)
    try:
        async with connect(place.daemon.unix) as executor:
            assert (await executor.execute("() => 1")).result == 1
            await place.restart()
            for number in range(3):
                assert (await executor.execute(f"() => {number}")).result == number
    finally:
        place.daemon.close()


# The service manager.

SERVE = "import os; os.environ['LISTEN_PID'] = str(os.getpid()); from tooltoolexec_executor.cli import serve; serve()"


def start(manager: socket.socket | None, passed: list[socket.socket], *options: str) -> subprocess.Popen[str]:
    """A daemon as systemd starts it."""

    def place_descriptors() -> None:
        copies = [os.dup(each.fileno()) for each in passed]
        for number, copy in enumerate(copies):
            os.dup2(copy, 3 + number, inheritable=True)

    environment = {**os.environ, "TOOLTOOLEXEC_TOKENS": f"tests={TOKEN}"}
    if manager is not None:
        environment["NOTIFY_SOCKET"] = manager.getsockname()
    if passed:
        environment["LISTEN_FDS"] = str(len(passed))
    return subprocess.Popen(
        [sys.executable, "-c", SERVE, *options],
        env=environment,
        preexec_fn=place_descriptors if passed else None,  # noqa: PLW1509 - no other thread holds a lock here
        pass_fds=range(3, 3 + len(passed)),
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def manager(tmp_path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(tmp_path / "notify"))
    listening.settimeout(PATIENCE_S)
    return listening


def test_the_service_manager_is_told_when_it_serves_reloads_and_ends(manager: socket.socket, tmp_path: Path) -> None:
    with manager, start(manager, [], "--listen", f"unix:{tmp_path}/s") as process:
        assert manager.recv(100) == b"READY=1"
        with BareClient(f"unix:{tmp_path}/s") as client:
            client.execute("() => 1")
            assert isinstance(client.receive(), Started)
        process.send_signal(signal.SIGHUP)
        assert manager.recv(100).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
        assert manager.recv(100) == b"READY=1"
        process.send_signal(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_passed_sockets_wait_for_the_next_daemon(tmp_path: Path) -> None:
    """Nobody is refused while one daemon takes over from another: the socket stays, and so do those who connect."""
    certificates = Certificates(tmp_path)
    tls = [f"--tls-cert={certificates.cert}", f"--tls-key={certificates.key}"]
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0)) as tcp:
        unix.bind(str(tmp_path / "s"))
        (tmp_path / "s").chmod(0o600)
        unix.listen()
        addresses = [f"unix:{tmp_path}/s", f"tls://127.0.0.1:{tcp.getsockname()[1]}"]
        with start(None, [unix, tcp], *tls) as first, BareClient(addresses[0]) as running:
            assert first.stderr is not None
            running.execute(RAW_WAITS)
            assert isinstance(running.receive(), Started)
            first.send_signal(signal.SIGTERM)
            while '"draining"' not in first.stderr.readline():
                pass
            with BareClient(addresses[0]) as early:
                running.socket.close()
                first.stderr.read()
                assert first.wait(PATIENCE_S) == 0
                with start(None, [unix, tcp], *tls) as second:
                    early.greet()
                    with BareClient(addresses[1], certificates.client()) as remote:
                        remote.greet(TOKEN)
                        remote.send(Execute(id=os.urandom(16).hex(), code="() => 1"))
                        assert isinstance(remote.receive(), Started)
                    second.send_signal(signal.SIGINT)
                    assert second.stderr is not None
                    second.stderr.read()
        assert (tmp_path / "s").exists()


def test_a_passed_unix_socket_that_everybody_may_connect_to_takes_a_flag(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "s"))
        (tmp_path / "s").chmod(0o666)
        unix.listen()
        with start(None, [unix]) as process:
            assert process.stderr is not None
            said = process.stderr.read()
            assert process.wait(PATIENCE_S) == 2
    assert "666 lets every user of this machine connect" in said


def test_passed_sockets_follow_the_same_rules(tmp_path: Path) -> None:
    with socket.create_server(("0.0.0.0", 0)) as tcp, start(None, [tcp]) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(PATIENCE_S) == 2
    assert "in the clear to other machines" in said
    assert len(said.splitlines()) == 1


def test_a_descriptor_that_is_no_listening_socket_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as silent, start(None, [silent]) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(PATIENCE_S) == 2
    assert "is no listening socket" in said
    assert len(said.splitlines()) == 1
