"""What a daemon's own workers are like: who they are, what they find around them, and what is missing is told."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from serving import PATIENCE_S, ServedDaemon, children_of, end_within, wait_until, workers_of
from tooltoolexec import Limits
from tooltoolexec.sync import connect

NO_SECCOMP = """
import errno, pyseccomp
rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, 22))
rules.load()
"""
NO_SECCOMP_HERE = "seccomp is impossible here: not permitted (EPERM)"
IS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        patch.setenv("LANG", "de_DE.UTF-8")
        patch.setenv("LC_ALL", "de_DE.UTF-8")
        patch.setenv("SECRET", "hunter2")
        with ServedDaemon(tmp_path_factory.mktemp("daemon")) as served:
            yield served


def worker_of(daemon: ServedDaemon) -> int:
    """A worker that is locked down: it has made its isolate, which has a thread."""
    found: list[int] = []

    def look() -> bool:
        found[:] = [worker for worker in workers_of(daemon.pid) if threads_of(worker) > 1]
        return bool(found)

    wait_until(look, "a worker is locked down")
    return found[0]


def threads_of(pid: int) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    return 0


def facts_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_a_worker_has_no_privilege_and_a_filter(daemon: ServedDaemon) -> None:
    facts = facts_of(worker_of(daemon))
    assert [int(facts[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")] == [0] * 4
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a worker a user of its own")
def test_a_worker_of_roots_has_a_user_of_its_own_and_no_group(daemon: ServedDaemon) -> None:
    facts = facts_of(worker_of(daemon))
    (zygote,) = children_of(daemon.pid)
    user = str(61184 + zygote % 4000)
    assert facts["Uid"].split() == facts["Gid"].split() == [user] * 4
    assert facts["Groups"] == ""


@pytest.mark.skipif(not IS_ROOT, reason="an ordinary user may be refused a namespace")
def test_a_worker_of_roots_has_no_network(daemon: ServedDaemon) -> None:
    worker = worker_of(daemon)
    for kind in ("net", "ipc"):
        assert Path(f"/proc/{worker}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink()
    lines = Path(f"/proc/{worker}/net/dev").read_text().splitlines()
    assert [line.split(":")[0].strip() for line in lines[2:]] in ([], ["lo"])


@pytest.mark.skipif(not IS_ROOT, reason="a worker's environment is closed to its own user")
def test_a_worker_has_an_empty_environment(daemon: ServedDaemon) -> None:
    (zygote,) = children_of(daemon.pid)
    for pid in (zygote, worker_of(daemon)):
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""


def test_a_program_finds_utc_and_american_english_whatever_the_host_has(daemon: ServedDaemon) -> None:
    code = """() => [new Date(0).getTimezoneOffset(), Intl.DateTimeFormat().resolvedOptions().timeZone,
        Intl.DateTimeFormat().resolvedOptions().locale, (1234.5).toLocaleString(), new Date(0).toString()]"""
    with connect(daemon.unix) as executor:
        found = executor.execute(code).result
    epoch = "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)"
    assert found == [0, "UTC", "en-US", "1,234.5", epoch]


@pytest.mark.skipif(not IS_ROOT, reason="a worker's environment is closed to its own user")
def test_the_linkers_path_is_wiped_out_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/hunter2")
    with ServedDaemon(tmp_path) as served:
        assert b"hunter2" not in Path(f"/proc/{worker_of(served)}/environ").read_bytes()


def test_a_worker_ends_with_its_zygote_though_it_is_somebody_else(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path) as served:
        worker_of(served)
        workers = [os.pidfd_open(worker) for worker in workers_of(served.pid)]
        assert workers
        (zygote,) = children_of(served.pid)
        os.kill(zygote, signal.SIGKILL)
        assert end_within(workers, PATIENCE_S)


def test_a_missing_layer_is_told_once_with_what_it_means_and_programs_still_run(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, preparation=NO_SECCOMP) as served:
        with connect(served.unix) as executor:
            assert executor.execute("() => 1 + 1").result == 2
        text = "".join(served.log)
    assert text.count("seccomp") == 1
    (line,) = [line for line in text.splitlines() if "seccomp" in line]
    assert line == (
        f"tooltoolexec: workers run without a layer of their lock-down. {NO_SECCOMP_HERE}. Code that breaks out of V8 "
        "could make any system call: open files, connect, start programs."
    )


@pytest.mark.parametrize("way", ["option", "variable", "file"])
def test_a_daemon_that_requires_the_lock_down_does_not_start_without(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--require-sandbox"] if way == "option" else []
    if way == "variable":
        monkeypatch.setenv("TOOLTOOLEXEC_REQUIRE_SANDBOX", "1")
    if way == "file":
        (tmp_path / "c.toml").write_text("require_sandbox = true")
        options = ["--config", str(tmp_path / "c.toml")]
    program = f"{NO_SECCOMP}\nfrom tooltoolexec_executor.cli import serve\nserve()"
    words = [sys.executable, "-c", program, "--listen", f"unix:{tmp_path}/s", *options]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=50, check=False)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    told = [line for line in ran.stderr.splitlines() if line.startswith("tooltoolexec:")]
    assert told == [
        f"tooltoolexec: --require-sandbox, but {NO_SECCOMP_HERE}",
        "tooltoolexec: Workers cannot start on this machine; the line before says why.",
    ]
    assert not (tmp_path / "s").exists()


def test_a_daemon_that_requires_the_lock_down_starts_where_it_can_be_had(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, ["--require-sandbox"]) as served, connect(served.unix) as executor:
        assert executor.execute("() => 1 + 1").result == 2
        assert not re.search("lock-down|sandbox", "".join(served.log))


def test_without_a_compiler_programs_run_and_their_limits_hold(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, ["--jitless"]) as served, connect(served.unix) as executor:
        code = "() => { let n = 0; for (let i = 0; i < 1e5; i++) n += /a(b|c)*d/.test('abcbcd') ? 1 : 0; return n }"
        assert executor.execute(code).result == 100_000
        busy = executor.execute("() => { while (true); }", limits=Limits(wall_s=0.1))
        assert busy.failure is not None
        assert busy.failure.kind == "timeout"


def test_without_a_compiler_a_worker_has_no_memory_to_write_code_into(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, ["--jitless", "--warm", "1"]) as daemon:
        worker = worker_of(daemon)
        mappings = Path(f"/proc/{worker}/maps").read_text()
        assert "libmini_racer.so" in mappings
        assert not [line for line in mappings.splitlines() if line.split()[1].startswith(("rwx", "-wx"))]
        with connect(daemon.unix) as executor:
            assert executor.execute("() => [3, 1, 2].sort()").result == [1, 2, 3]
