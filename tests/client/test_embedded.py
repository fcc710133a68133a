"""The daemon as a child process, with a stand-in that has no V8."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from tooltoolexec import ConnectError, Executor, ExecutorError, Limits, Provider, Tool, embedded, local, sync

pytestmark = pytest.mark.anyio
STANDIN = Path(__file__).parent / "standin"


@pytest.fixture(autouse=True)
def standin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(STANDIN))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_run_goes_to_the_child_and_the_child_ends_with_the_executor() -> None:
    async with local() as executor:
        pid = (await executor.execute("pid")).result
        run = await executor.execute("call", [Provider("store", [Tool(lambda: "ada", "who")])])
        assert run.result == {"result": "ada"}
        assert is_running(pid)
    assert not is_running(pid)


async def test_options_reach_the_child_with_no_bound_as_null_and_without_what_is_left_out() -> None:
    async with local(workers=2, queue=0, maxima=Limits(wall_s=math.inf, calls=5)) as executor:
        config = (await executor.execute("config")).result
    assert config == {"workers": 2, "queue": 0, "maxima": {"wall_s": None, "calls": 5}}


async def test_a_child_that_ends_at_start_is_told_with_its_status() -> None:
    with pytest.raises(ConnectError, match="ended with status 13"):
        async with local(workers=13):
            pass


async def test_a_child_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_DRAIN_S", 0.1)
    async with local(workers=14) as executor:
        pid = (await executor.execute("pid")).result
    assert not is_running(pid)


async def test_a_child_that_was_killed_is_told_at_the_next_run() -> None:
    async with local() as executor:
        os.kill((await executor.execute("pid")).result, signal.SIGKILL)
        with anyio.fail_after(5):
            while not executor.has_ended:  # noqa: ASYNC110 - a child's end is no event of the loop.
                await anyio.sleep(0.001)
        with pytest.raises(ConnectError, match="ended with status -9"):
            await executor.execute("pid")


async def test_a_missing_executor_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)  # type: ignore[attr-defined]
    with pytest.raises(ExecutorError, match=r"pip install 'tooltoolexec\[executor\]'"):
        async with local():
            pass


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"workers": "2"}, TypeError),
        ({"workers": 0}, ValueError),
        ({"queue": -1}, ValueError),
        ({"defaults": {}}, TypeError),
        ({"threads": 0}, ValueError),
    ],
    ids=str,
)
def test_a_wrong_option_is_told_before_anything_starts(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        local(**options)


async def test_cancelling_while_a_run_goes_on_closes_in_good_order() -> None:
    with anyio.fail_after(5):
        async with local() as executor:
            pid = (await executor.execute("pid")).result
            with anyio.move_on_after(0.05) as scope:
                await executor.execute("wait")
            assert scope.cancelled_caught
            with anyio.CancelScope() as outer:
                outer.cancel()
                await anyio.lowlevel.checkpoint()
    assert not is_running(pid)


def test_the_blocking_twin() -> None:
    with sync.local(workers=3) as executor:
        assert executor.execute("config").result == {"workers": 3}


def run_script(text: str) -> str:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40, check=False)
    # asyncio's debug mode remarks on a slow machine; that is no warning of ours.
    remarks = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, remarks) == (0, [])
    return done.stdout


def test_the_module_level_execute_keeps_one_child_until_exit() -> None:
    pids = run_script("from tooltoolexec import execute\nprint(execute('pid').result, execute('pid').result)").split()
    assert pids[0] == pids[1]
    assert not is_running(int(pids[0]))


def test_the_module_level_execute_replaces_a_child_that_was_killed_between_runs() -> None:
    first, second = run_script(
        "import os\n"
        "from tooltoolexec import execute\n"
        "pid = execute('pid').result\n"
        "os.kill(pid, 9)\n"
        "print(pid, execute('pid').result)"
    ).split()
    assert first != second


def test_a_forked_child_starts_its_own_and_the_parents_goes_on() -> None:
    parent, child, parent_again = run_script(
        "import os\n"
        "from tooltoolexec import execute\n"
        "print(execute('pid').result, flush=True)\n"
        "if (pid := os.fork()) == 0:\n"
        "    print(execute('pid').result, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print(execute('pid').result)"
    ).split()
    assert parent == parent_again != child


def test_a_forked_child_does_not_keep_the_parents_daemon_alive() -> None:
    pid = run_script(
        "import os, time\n"
        "from tooltoolexec import execute\n"
        "pid = execute('pid').result\n"
        "if os.fork() == 0:\n"
        "    os.close(1), os.close(2)\n"
        "    time.sleep(20)\n"
        "    os._exit(0)\n"
        "print(pid, flush=True)\n"
        "os._exit(0)"
    )
    for _ in range(500):
        if not is_running(int(pid)):
            return
        time.sleep(0.01)
    raise AssertionError("the daemon is still there")


def test_the_module_level_execute_from_several_threads_starts_one_child() -> None:
    pids = run_script(
        "import threading\n"
        "from tooltoolexec import execute\n"
        "found = set()\n"
        "threads = [threading.Thread(target=lambda: found.add(execute('pid').result)) for _ in range(8)]\n"
        "[t.start() for t in threads]\n"
        "[t.join() for t in threads]\n"
        "print(*found)"
    ).split()
    assert len(pids) == 1


def test_an_executor_is_made_by_local() -> None:
    assert isinstance(local(), Executor)
