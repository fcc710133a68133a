# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""The daemon, its zygote and its parent end in every way: nobody waits for ever and nothing stays behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import anyio
import pytest

from serving import (
    PATIENCE_S,
    TOKEN,
    BareClient,
    Family,
    ServedDaemon,
    children_of,
    descriptor_count,
    kill_hard,
    until,
    wait_until,
    workers_of,
)
from tooltoolexec import Executor, ExecutorError, Limits, Run, connect, local, sync
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import Calls, Done, Logs, Started

from .conftest import StartDaemon
from .test_worker_faults import STORE, WAITS, Gate, reports, runs_fine

pytestmark = pytest.mark.anyio


# Many runs.


@pytest.mark.parametrize("place", ["embedded", "unix", "tcp"])
async def test_200_runs_at_once_against_4_workers_all_finish_and_none_is_mixed_up(
    start_daemon: StartDaemon, place: str
) -> None:
    results: dict[int, Run] = {}

    async def one(executor: Executor, number: int) -> None:
        async def dispatch(_provider: str, tool: str, args: str) -> str:
            assert args == f"[{number}]"
            return f'{{"result":"{tool}{number}"}}'

        code = f"async () => {{ console.log('log {number}'); return [{number}, await store.a({number}), await store.b({number})] }}"
        results[number] = await executor.execute(code, STORE, dispatch=dispatch)

    opened = local(workers=4) if place == "embedded" else connect(getattr(start_daemon("--workers", "4"), place))
    async with opened as executor:
        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(one, executor, number)
        await reports(executor, lambda report: report.running_now == 0)  # A client has its outcome a moment before.
        status = await executor.status()
    assert sorted(results) == list(range(200))
    for number, run in results.items():
        assert (run.failure, run.result, run.logs) == (None, [number, f"a{number}", f"b{number}"], [f"log {number}"])
    assert len({run.id for run in results.values()}) == 200
    assert (status.queued_now, status.runs) == (0, {"ok": 200})


@pytest.mark.parametrize("place", ["embedded", "unix", "tcp"])
async def test_past_a_queue_of_8_the_rest_is_overloaded_and_nothing_hangs(
    start_daemon: StartDaemon, place: str
) -> None:
    if place == "embedded":
        opened = local(workers=4, parked=0, queue=8)
    else:
        opened = connect(getattr(start_daemon("--workers", "4", "--parked", "0", "--queue", "8"), place))
    runs: list[Run] = []
    async with opened as executor:
        gate = Gate()

        async def one() -> None:
            runs.append(await executor.execute(WAITS, STORE, dispatch=gate.dispatch))

        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(one)
            await until(lambda: len(runs) == 88, "88 refusals")
            gate.opened.set()
        assert Counter(run.error for run in runs) == {None: 12, texts.OVERLOADED: 88}
        assert Counter(run.failure.kind for run in runs if run.failure) == {"overloaded": 88}
        await runs_fine(executor)
        await reports(executor, lambda report: report.running_now == 0)  # A client has its outcome a moment before.


async def test_a_run_that_waits_too_long_in_the_queue_is_overloaded(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "0", "--queue-s", "0.05")
    async with connect(daemon.unix) as executor:
        await reports(executor, lambda report: report.idle_now > 0)
        gate = Gate()
        async with anyio.create_task_group() as group:

            async def busy() -> None:
                await executor.execute(WAITS, STORE, dispatch=gate.dispatch)

            group.start_soon(busy)
            await until(lambda: gate.entered == 1, "the run")
            run = await executor.execute("async () => 1")
            assert (run.failure and run.failure.kind, run.error) == ("overloaded", texts.OVERLOADED)
            gate.opened.set()
        await runs_fine(executor)


async def test_the_place_of_a_run_that_timed_out_comes_back(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1", "--parked", "0", "--queue", "0")
    async with connect(daemon.unix) as executor:
        for _ in range(3):
            run = await executor.execute("async () => { for (;;); }", limits=Limits(wall_s=0.05))
            assert run.failure is not None
            assert run.failure.kind == "timeout"
            await reports(executor, lambda report: report.running_now == 0)  # A client has its outcome a moment before.
        await runs_fine(executor)


# The zygote.


@pytest.mark.parametrize("place", ["unix", "tcp"])
async def test_a_killed_zygote_is_replaced_and_its_runs_are_crashed(daemon: ServedDaemon, place: str) -> None:
    async with connect(getattr(daemon, place)) as executor:
        await runs_fine(executor)
        gate = Gate()
        runs: list[Run] = []

        async def one() -> None:
            runs.append(await executor.execute(WAITS, STORE, dispatch=gate.dispatch))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            await until(lambda: gate.entered == 1, "the run")
            family = Family(daemon.pid)
            kill_hard(children_of(daemon.pid)[0])
        assert [(run.failure and run.failure.kind, run.error) for run in runs] == [("crashed", texts.CRASHED)]
        assert family.ends_within(1)
        await runs_fine(executor)
    await until(lambda: len(workers_of(daemon.pid)) >= 2, "two warm workers")
    assert len(children_of(daemon.pid)) == 1


async def test_runs_that_queue_while_the_zygote_is_killed_are_served_by_the_next(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "8", "--warm", "1")
    async with connect(daemon.unix) as executor:
        await runs_fine(executor)
        kinds: list[str] = []

        async def one() -> None:
            run = await executor.execute("async () => 1")
            kinds.append(run.failure.kind if run.failure else "result")

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(one)
            kill_hard(children_of(daemon.pid)[0])
        assert len(kinds) == 20
        assert set(kinds) <= {"result", "crashed"}
        assert "result" in kinds


async def test_a_stopped_zygote_is_replaced_at_its_deadline(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--warm", "1", preparation="import tooltoolexec_executor.supervise as s; s._ANSWER_S = 0.3")
    async with connect(daemon.unix) as executor:
        await runs_fine(executor)
        await until(lambda: len(workers_of(daemon.pid)) >= 1, "a warm worker")
        family = Family(daemon.pid)
        os.kill(children_of(daemon.pid)[0], signal.SIGSTOP)
        with anyio.fail_after(10):
            for _ in range(3):
                await runs_fine(executor)
        assert family.ends_within(2)


async def test_a_zygote_that_cannot_start_backs_off_and_the_queue_is_answered(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--queue-s", "0.2", preparation="import tooltoolexec_executor.supervise as s; s._PASSED_ON = (); s.sys.executable = '/bin/false'")  # fmt: skip
    async with connect(daemon.unix) as executor:
        run = await executor.execute("async () => 1")
        assert run.failure is not None
        assert run.failure.kind == "overloaded"
    assert len(daemon.log) < 30


# The daemon's end.


@pytest.mark.parametrize("state", ["idle", "busy", "waiting"])
async def test_a_daemon_killed_hard_leaves_no_process_one_second_later(daemon: ServedDaemon, state: str) -> None:
    code, last = {
        "idle": ("async () => 1", Done),
        "busy": ("async () => { console.log('busy'); for (;;); }", Logs),
        "waiting": ("async () => await __dispatch('a', 'b', '')", Calls),
    }[state]
    with BareClient(daemon.unix) as client:
        client.execute(code)
        assert isinstance(client.receive(), Started)
        assert isinstance(client.receive(), last)
        wait_until(lambda: len(workers_of(daemon.pid)) >= 2, "workers")
        family = Family(daemon.pid)
        assert family.size >= (2 if state == "idle" else 3)  # An idle daemon's last worker may be ending just now.
        kill_hard(daemon.pid)
        assert family.ends_within(1)
        while client.receive() is not None:
            pass


PARENT = """
import anyio, sys
from tooltoolexec import local
async def dispatch(provider, tool, args):
    print("called", flush=True)
    await anyio.sleep_forever()
async def main():
    async with local(workers=2) as executor:
        await executor.execute(sys.argv[1], [{"name": "store"}], dispatch=dispatch,
                               on_log=lambda level, text: print(text, flush=True))
anyio.run(main)
"""


@pytest.mark.parametrize("program", ["async () => { console.log('busy'); for (;;); }", WAITS])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_parent_of_local_ending_takes_everything_with_it(program: str, number: signal.Signals) -> None:
    command = [sys.executable, "-c", PARENT, program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:  # noqa: ASYNC220 - it returns at once
        assert parent.stdout is not None
        assert await anyio.to_thread.run_sync(parent.stdout.readline) in ("busy\n", "called\n")
        family = Family(parent.pid)
        assert family.size >= 3
        parent.send_signal(number)
        assert family.ends_within(1)


@pytest.mark.parametrize("place", ["unix", "tcp"])
@pytest.mark.parametrize("program", ["async () => { console.log('started'); for (;;); }", WAITS])
async def test_sigint_gives_running_runs_shutdown(daemon: ServedDaemon, place: str, program: str) -> None:
    gate = Gate()
    started = anyio.Event()
    runs: list[Run] = []
    async with connect(getattr(daemon, place)) as executor:

        async def dispatch(provider: str, tool: str, args: str) -> str:
            started.set()
            return await gate.dispatch(provider, tool, args)

        async def one() -> None:
            run = await executor.execute(program, STORE, dispatch=dispatch, on_log=lambda _level, _text: started.set())
            runs.append(run)

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            await started.wait()
            os.kill(daemon.pid, signal.SIGINT)
        assert [(run.failure and run.failure.kind, run.error) for run in runs] == [("shutdown", texts.SHUTDOWN)]
        await anyio.to_thread.run_sync(daemon.process.wait, PATIENCE_S)
        assert daemon.process.returncode == 0
        with pytest.raises(ExecutorError):
            await executor.execute("async () => 1")
    assert not daemon.path.exists()


@pytest.mark.parametrize(
    "program",
    ["async () => { __dispatch('a', 'b', ''); await 0; for (;;); }", "async () => await __dispatch('a', 'b', '')"],
)
def test_a_signal_to_the_whole_group_ends_its_runs_in_good_order(tmp_path: Path, program: str) -> None:
    """That is what Ctrl-C at a terminal does: workers hear it too."""
    # Of its own, so that what goes to the group does not reach the tests.
    with ServedDaemon(tmp_path, ["--workers", "2", "--warm", "2"], preparation="import os; os.setsid()") as daemon:
        with BareClient(daemon.unix) as client:
            client.execute(program)
            assert isinstance(client.receive(), Started)
            wait_until(lambda: len(workers_of(daemon.pid)) >= 2, "an idle worker beside it")
            os.killpg(daemon.pid, signal.SIGINT)
            done = client.receive()
            while isinstance(done, Calls):
                done = client.receive()
            assert isinstance(done, Done)
            assert (done.failure and done.failure.kind) == "shutdown"
        daemon.process.wait(PATIENCE_S)
    log = "".join(daemon.log)
    assert '"error"' not in log
    assert "idle worker ended" not in log


async def test_sigint_gives_queued_runs_shutdown(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--workers", "1")
    gate = Gate()
    runs: list[Run] = []
    async with connect(daemon.unix) as executor:

        async def one() -> None:
            runs.append(await executor.execute(WAITS, STORE, dispatch=gate.dispatch))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(one)
            await reports(executor, lambda report: report.queued_now == 3)
            os.kill(daemon.pid, signal.SIGINT)
        assert [run.error for run in runs] == [texts.SHUTDOWN] * 4


# Its sockets.


def serve(*listen: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from tooltoolexec_executor.cli import serve; serve()"]
    options = [part for address in listen for part in ("--listen", address)]
    environment = {**os.environ, "TOOLTOOLEXEC_TOKENS": f"tests={TOKEN}"}
    return subprocess.run(
        [*command, *options], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_a_live_unix_socket_is_refused_in_one_line(daemon: ServedDaemon) -> None:
    refused = serve(f"unix:{daemon.path}")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert "another daemon listens there" in refused.stderr
    with sync.connect(daemon.unix) as executor:
        assert executor.execute("async () => 1").result == 1


def test_a_live_tcp_port_is_refused_in_one_line(daemon: ServedDaemon) -> None:
    refused = serve(daemon.tcp)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert daemon.tcp in refused.stderr


def test_a_stale_unix_socket_is_taken_over(start_daemon: StartDaemon, tmp_path: Path) -> None:
    stale = tmp_path / "stale.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(stale))
        left_behind.listen()
    assert stale.is_socket()
    with subprocess.Popen(
        [sys.executable, "-c", "from tooltoolexec_executor.cli import serve; serve()", "--listen", f"unix:{stale}"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert '"listening"' in process.stderr.readline()
        try:
            assert stat.S_IMODE(stale.stat().st_mode) == 0o600
            with sync.connect(f"unix:{stale}") as executor:
                assert executor.execute("async () => 1").result == 1
        finally:
            process.terminate()
            process.stderr.read()
    assert not stale.exists()


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    refused = serve(f"unix:{other}")
    assert refused.returncode == 2
    assert re.search("no socket", refused.stderr)
    assert other.read_text() == "mine"


def test_tcp_beyond_loopback_is_refused() -> None:
    refused = serve("tcp://0.0.0.0:0")
    assert refused.returncode == 2
    assert "127.0.0.1" in refused.stderr


# The blocking twins and processes.


def script(text: str, *, timeout: float = 40) -> subprocess.CompletedProcess[str]:
    """Run a program that must work in a process of its own, warnings being errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_execute_works_before_and_after_a_fork_and_in_each_child_on_its_own() -> None:
    done = script(
        """
        import os, sys
        from tooltoolexec import execute, Provider
        def whoami(): return os.getpid()
        def mine(): return execute("async () => await host.whoami()", [Provider("host", [whoami])]).result == os.getpid()
        assert mine()
        children = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                ok = mine() and mine()
                sys.exit(0 if ok else 1)
            children.append(pid)
        assert mine()
        assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0, 0, 0]
        assert mine()
        print("fine")
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)


def test_a_prefork_server_imports_before_it_forks_and_executes_after() -> None:
    done = script(
        """
        import os
        from tooltoolexec import execute
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                os._exit(0 if execute("async () => 1").result == 1 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        print("fine")
        """
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_a_childs_exit_leaves_the_parents_executor_alone() -> None:
    done = script(
        """
        import os
        from tooltoolexec import sync
        with sync.local() as executor:
            assert executor.execute("async () => 1").result == 1
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            assert executor.execute("async () => 1").result == 1
        print("fine")
        """
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_a_forked_child_does_not_keep_the_embedded_daemon_of_a_killed_parent_alive() -> None:
    program = """
        import os, sys, time
        from tooltoolexec import execute
        assert execute("async () => 1").result == 1
        if os.fork() == 0:
            print("child", flush=True)
            sys.stdin.read()
            os._exit(0)
        time.sleep(60)
        """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        daemon = next(pid for pid in children_of(parent.pid) if children_of(pid))
        family = Family(daemon)
        pidfd = os.pidfd_open(daemon)
        parent.kill()
        family._pidfds.append(pidfd)
        assert family.ends_within(1)


def test_ctrl_c_ends_the_run_and_raises_keyboard_interrupt() -> None:
    program = """
        import os, signal, sys, time
        from tooltoolexec import execute
        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            return 1
        from tooltoolexec import Provider
        for code in ("async () => { host.interrupt(); for (;;); }", "async () => { host.interrupt(); await new Promise(r => setTimeout(r, 1e6)) }"):
            begun = time.monotonic()
            try:
                execute(code, [Provider("host", [interrupt])])
            except KeyboardInterrupt:
                assert time.monotonic() - begun < 5
            else:
                raise AssertionError("not interrupted")
            assert execute("async () => 2").result == 2
        print("fine")
        """
    done = script(program)
    assert (done.stdout, done.stderr) == ("fine\n", "")


async def test_the_blocking_execute_works_inside_a_running_loop() -> None:
    def greet(name: str) -> str:
        return f"hello {name}"

    from tooltoolexec import Provider, execute  # noqa: PLC0415

    assert execute("async () => await host.greet('ada')", [Provider("host", [greet])]).result == "hello ada"


def test_a_hundred_runs_leave_the_daemon_as_it_was(daemon: ServedDaemon) -> None:
    def threads() -> int:
        return len(list(Path(f"/proc/{daemon.pid}/task").iterdir()))

    with sync.connect(daemon.unix) as executor:
        assert executor.execute("async () => 1").result == 1
    wait_until(lambda: len(workers_of(daemon.pid)) == 2, "two warm workers")
    wait_until(lambda: executor_sockets(daemon) == 0, "no connection")
    before = (descriptor_count(daemon.pid), threads())
    with sync.connect(daemon.unix) as executor:
        for number in range(100):
            code = ["async () => 1", "async () => { throw 1 }", "async ("][number % 3]
            executor.execute(code)
    wait_until(lambda: len(workers_of(daemon.pid)) == 2, "two warm workers again")
    wait_until(lambda: (descriptor_count(daemon.pid), threads()) == before, "the state of before")


def executor_sockets(daemon: ServedDaemon) -> int:
    """How many connections the daemon's Unix socket has accepted and still holds."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    return sum(line.endswith(str(daemon.path)) for line in lines) - 1
