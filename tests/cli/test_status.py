"""`tooltoolexec status`: once, and once a second while somebody watches."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.daemon import FakeDaemon, Peer
from serving import ServedDaemon
from tooltoolexec.cli import watch
from tooltoolexec_protocol.messages import Report

from .conftest import Command, launch

QUIET = Report(
    server="tooltoolexec 1.0", pid=7, uptime_s=3700, workers=4, idle_now=2, running_now=3, queued_now=1, queue=5,
    parked_now=1, parked=9, connections_now=6, runs={"ok": 8, "timeout": 1},
)  # fmt: skip
BUSY = Report(
    server="tooltoolexec 1.0", pid=7, uptime_s=3700, workers=4, idle_now=2, running_now=3, queued_now=1, queue=5,
    draining=True, refused={"draining": 2, "busy": 1},
)  # fmt: skip
TABLE = """\
daemon   tooltoolexec 1.0, process 7, up 1 h 1 min
runs     2 of 4 computing, 1 of 9 waiting for tools
workers  2 idle and ready
queue    1 of 5
clients  6 connections without a run
ended    8 ok, 1 timeout
"""
BUSY_TABLE = """\
daemon   tooltoolexec 1.0, process 7, up 1 h 1 min
state    draining: it takes no more runs
runs     3 of 4 computing, 0 waiting for tools
workers  2 idle and ready
queue    1 of 5
clients  0 connections without a run
ended    none yet
refused  1 busy, 2 draining
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(tmp_path)
    yield fake
    fake.close()


@pytest.fixture
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_PERIOD_S", 0.01)


fast = pytest.mark.usefixtures("_fast")


def answer(daemon: FakeDaemon, *reports: Report | None) -> None:
    """Answer each question with the next report; None hangs up."""

    def script_of(report: Report | None) -> None:
        @daemon.script
        def script(peer: Peer) -> None:
            peer.receive()
            if report is not None:
                peer.send(report)
                peer.wait_for_hang_up()

    for report in reports:
        script_of(report)


@pytest.mark.parametrize(("report", "table"), [(QUIET, TABLE), (BUSY, BUSY_TABLE)])
def test_it_is_a_table_of_what_is_the_case(report: Report, table: str, daemon: FakeDaemon, command: Command) -> None:
    answer(daemon, report)
    assert command("status", "--connect", daemon.address) == (0, table, "")


def test_json_has_every_field(daemon: FakeDaemon, command: Command) -> None:
    answer(daemon, BUSY)
    found = json.loads(command("status", "--connect", daemon.address, "--json").out)
    assert found == {name: getattr(BUSY, name) for name in BUSY.__struct_fields__}


@fast
def test_a_pipe_gets_a_line_each_time(daemon: FakeDaemon, command: Command) -> None:
    answer(daemon, QUIET, BUSY)
    ended = command("status", "--connect", daemon.address, "--watch", "--count", "2")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line[9:] for line in lines] == [
        "2 of 4 computing; 1 of 9 parked; 1 of 5 queued; 2 idle; 6 connections; ended: 8 ok, 1 timeout",
        (
            "draining; 3 of 4 computing; 0 parked; 1 of 5 queued; 2 idle; 0 connections; ended: none; "
            "refused: 1 busy, 2 draining"
        ),
    ]
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)


@fast
def test_json_is_an_object_each_time_also_without_an_answer(daemon: FakeDaemon, command: Command) -> None:
    answer(daemon, QUIET, None, BUSY)
    ended = command("status", "--connect", daemon.address, "--watch", "--count", "3", "--json")
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [sorted(each) == sorted(QUIET.__struct_fields__) for each in found] == [True, False, True]
    assert found[1] == {"error": "The daemon closed the connection instead of an answer."}


@fast
def test_a_daemon_that_goes_away_is_told_and_asked_again(
    daemon: FakeDaemon, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    successors: list[FakeDaemon] = []

    @daemon.script
    def answer_and_go(peer: Peer) -> None:
        peer.receive()
        daemon.stop_listening()
        (tmp_path / "d.sock").unlink()
        peer.send(QUIET)

    seen: list[str] = []
    real = watch._Lines.show_gone

    def show_gone(view: watch._Lines, reason: str) -> None:
        real(view, reason)
        seen.append(reason)
        if len(seen) == 2:
            successors.append(FakeDaemon(tmp_path))
            answer(successors[0], BUSY)

    monkeypatch.setattr(watch._Lines, "show_gone", show_gone)
    ended = command("status", "--connect", daemon.address, "--watch", "--count", "4")
    successors[0].close()
    first, second, third, fourth = (line[9:] for line in ended.out.splitlines())
    assert first.startswith("2 of 4 computing")
    assert second == third == f"no answer: Cannot connect to {daemon.address}: No such file or directory"
    assert fourth.startswith("draining")
    assert (ended.code, ended.err) == (0, "")


def test_nothing_at_the_first_time_ends_it(command: Command, tmp_path: Path) -> None:
    ended = command("status", "--connect", f"unix:{tmp_path}/none.sock", "--watch")
    assert ended.is_one_line("No such file", "Start a daemon there")


@pytest.mark.parametrize("words", [["--count", "2"], ["--watch", "--count", "0"], ["--watch", "--count", "x"]])
def test_a_count_is_of_what_is_watched(words: list[str], command: Command) -> None:
    assert command("status", "--connect", "unix:/none", *words).is_one_line("--count")


@pytest.mark.parametrize("format_", [[], ["--json"]])
def test_ctrl_c_is_the_way_to_leave(format_: list[str], served: ServedDaemon) -> None:
    with launch("status", "--connect", served.unix, "--watch", *format_) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
        assert process.wait(20) == 0


def screen(written: bytes) -> list[str]:
    """What a terminal shows after that: the few commands that are used, and nothing else."""
    lines, row = [""], 0
    for part in re.split(r"(\x1b\[\d*[AJ]|\r|\n)", written.decode()):
        if part.startswith("\x1b") and part.endswith("A"):
            row -= int(part[2:-1])
            assert row >= 0
        elif part == "\x1b[J":
            lines = [*lines[:row], ""]
        elif part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part not in ("", "\r"):
            assert "\x1b" not in part
            lines[row] += part
    return lines


def on_a_terminal(size: tuple[int, int], *words: str, term: str = "xterm") -> bytes:
    """Everything that the command writes to a terminal of `size` (rows, columns) on its standard output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environment = {name: text for name, text in os.environ.items() if name not in ("LINES", "COLUMNS")}
    with launch(*words, stdout=theirs, stderr=subprocess.DEVNULL, stdin=theirs, env=environment | {"TERM": term}):
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # Linux's way to say that the other end is gone.
            while data := os.read(ours, 65536):
                written += data
    os.close(ours)
    return written


def test_a_terminal_sees_one_table_that_changes_in_place(daemon: FakeDaemon) -> None:
    answer(daemon, BUSY, None, QUIET)
    written = on_a_terminal((24, 80), "status", "--connect", daemon.address, "--watch", "--count", "3")
    assert screen(written) == [*TABLE.splitlines(), ""]
    assert b"draining: it takes no more runs" in written
    assert b"gone     The daemon closed the connection instead of an answer." in written


@pytest.mark.parametrize("size", [(24, 30), (4, 80)])
def test_a_small_terminal_is_not_overflown(daemon: FakeDaemon, size: tuple[int, int]) -> None:
    answer(daemon, QUIET, QUIET)
    shown = screen(on_a_terminal(size, "status", "--connect", daemon.address, "--watch", "--count", "2"))
    rows, columns = size
    assert shown == [*(line[: columns - 1] for line in TABLE.splitlines()[: rows - 1]), ""]


def test_a_terminal_that_cannot_erase_gets_lines(daemon: FakeDaemon) -> None:
    answer(daemon, QUIET)
    words = ["status", "--connect", daemon.address, "--watch", "--count", "1"]
    assert b"\x1b" not in on_a_terminal((24, 200), *words, term="dumb")


def test_it_asks_about_once_a_second(daemon: FakeDaemon) -> None:
    answer(daemon, QUIET, QUIET)
    begun = time.monotonic()
    with launch("status", "--connect", daemon.address, "--watch", "--count", "2") as process:
        out, _ = process.communicate(timeout=30)
    assert len(out.splitlines()) == 2
    assert time.monotonic() - begun >= 1
