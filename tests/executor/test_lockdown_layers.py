"""The layers one by one: what they find out about a machine, and how they tell of what it cannot give."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tooltoolexec_executor.lockdown import Lockdown, State, capabilities, cgroup, identity, landlock
from tooltoolexec_executor.lockdown.layers import ImpossibleError, meaning

DAEMON = 4242


@pytest.mark.parametrize(
    ("abi", "words"),
    [
        (1, [0x1FFF]), (2, [0x3FFF]), (3, [0x7FFF]), (4, [0x7FFF, 3]), (5, [0xFFFF, 3]), (6, [0xFFFF, 3, 3]),
        (7, [0xFFFF, 3, 3]), (99, [0xFFFF, 3, 3]),
    ],
)  # fmt: skip
def test_landlock_denies_all_that_a_kernel_knows_and_nothing_that_it_does_not(abi: int, words: list[int]) -> None:
    assert landlock.attribute_of(abi) == words


def test_a_zygote_has_a_user_that_no_account_has() -> None:
    """The range of systemd's users for one service is 61184 to 65519."""
    assert {identity.own_uid(pid) for pid in range(1, 9000)} == set(range(61184, 65184))


def test_who_is_not_root_gets_no_user_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ImpossibleError, match="not root"):
        identity.take()


@pytest.mark.parametrize(
    ("missing", "part"),
    [(1 << 7, "root without CAP_SETUID"), (1 << 5 | 1 << 6, "root without CAP_SETGID and CAP_KILL")],
)
def test_a_root_that_could_not_signal_its_workers_keeps_its_user(
    missing: int, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(capabilities, "effective", lambda: (1 << 41) - 1 & ~missing)
    with pytest.raises(ImpossibleError, match=f"^{part}$"):
        identity.take()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EPERM, "x"), "not permitted (EPERM)"),
        (OSError(errno.ENOSYS, "x"), "this kernel has no such call, or a filter around this process hides it (ENOSYS)"),
        (OSError(errno.EIO, "x"), "Input/output error (EIO)"),
        (ImpossibleError("not root"), "not root"),
        (RuntimeError("Unable to find libseccomp"), "RuntimeError: Unable to find libseccomp"),
    ],
)
def test_why_a_layer_is_impossible_is_said_in_a_few_words(error: Exception, text: str) -> None:
    assert meaning(error) == text


def test_a_filter_that_cannot_be_built_is_a_missing_layer_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    lockdown = Lockdown()
    (missing,) = [layer for layer in lockdown.missing() if layer.name == "seccomp"]
    assert missing.required
    assert missing.state is State.IMPOSSIBLE
    assert "pyseccomp" in missing.why


CHECK = """
import json, os, sys
from tooltoolexec_executor.lockdown import Lockdown, process, seccomp
def refuse(*_):
    raise OSError(1, "refused")
def end(*_):
    os._exit(9)
{patch}
lockdown = Lockdown()
lockdown.check()
print(json.dumps([[layer.name, layer.why] for layer in lockdown.missing()]), flush=True)
lockdown.apply()
print("applied", flush=True)
"""


def checked(patch: str) -> tuple[list[list[str]], str]:
    """What a check finds missing when a layer is broken like this, and what came of `apply` then."""
    script = CHECK.format(patch=patch)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    first, _, rest = ran.stdout.partition("\n")
    return json.loads(first), rest.strip()


def test_a_check_finds_nothing_missing_where_nothing_is() -> None:
    assert checked("") == ([], "applied")


def test_a_layer_that_the_kernel_refuses_is_found_by_the_check_and_left_out_by_apply() -> None:
    assert checked("process.close_memory = refuse") == ([["not_dumpable", "not permitted (EPERM)"]], "applied")
    assert checked("seccomp.Filter.load = refuse") == ([["seccomp", "not permitted (EPERM)"]], "applied")


def test_a_check_whose_process_ends_early_lets_nothing_be_left_out() -> None:
    script = CHECK.format(patch="process.forgo_privileges = end")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    assert ran.stdout == ""
    assert "RuntimeError: the process that tried out the lock-down ended at no_new_privs" in ran.stderr


def test_a_layer_that_fails_only_later_ends_the_worker() -> None:
    """What a check found possible is never left out."""
    patch = (
        "real = Lockdown.check\n"
        "def check(self):\n    real(self)\n    self._steps['seccomp'] = refuse\n"
        "Lockdown.check = check"
    )
    assert checked(patch) == ([], "")


class Tree:
    """A control group file system as a daemon in /service sees it."""

    def __init__(self, root: Path, path: str = "service", members: str = f"{DAEMON}\n") -> None:
        self.root = root / "cgroup"
        self.group = self.root / path
        self.group.mkdir(parents=True)
        (self.root / "cgroup.controllers").write_text("cpu memory pids\n")
        self.own = root / "own"
        self.own.write_text(f"0::/{path}\n")
        (self.group / "cgroup.controllers").write_text("memory pids\n")
        (self.group / "cgroup.procs").write_text(members)
        (self.group / "cgroup.type").write_text("domain\n")

    def enter(self) -> str:
        return cgroup.enter(daemon=DAEMON, root=self.root, own=self.own)


@pytest.fixture
def _delegated(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its attribute, which not every file system of a test has."""
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"1" if Path(path).name == "service" else b"0")


@pytest.mark.usefixtures("_delegated")
def test_a_delegated_group_is_divided_between_the_daemon_and_its_workers(tmp_path: Path) -> None:
    tree = Tree(tmp_path, members=f"{DAEMON}\n{os.getpid()}\n")
    assert tree.enter() == f"at most {cgroup.MOST_PROCESSES} processes and threads, in service/workers"
    assert (tree.group / "daemon" / "cgroup.procs").read_text() == str(DAEMON)
    assert (tree.group / "workers" / "cgroup.procs").read_text() == str(os.getpid())
    assert (tree.group / "workers" / "pids.max").read_text() == str(cgroup.MOST_PROCESSES)


@pytest.mark.usefixtures("_delegated")
@pytest.mark.parametrize("name", ["daemon", "workers"])
def test_the_next_zygote_finds_the_group_divided_already(name: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path, members="")
    (tree.group / "workers").mkdir()
    tree.own.write_text(f"0::/service/{name}\n")
    assert tree.enter().endswith("service/workers")
    assert (tree.group / "workers" / "cgroup.procs").read_text() == str(os.getpid())
    assert not (tree.group / "daemon" / "cgroup.procs").exists()


@pytest.mark.usefixtures("_delegated")
@pytest.mark.parametrize(
    ("spoil", "part"),
    [
        (lambda tree: (tree.group / "cgroup.procs").write_text(f"{DAEMON}\n7\n"), "holds other processes as well"),
        (lambda tree: (tree.group / "cgroup.controllers").write_text("memory\n"), "pids is not delegated"),
        (lambda tree: (tree.root / "cgroup.controllers").unlink(), "no control groups of version 2"),
        (lambda tree: tree.own.write_text("4:memory:/x\n"), "no control groups of version 2"),
        (lambda tree: tree.own.unlink(), "the kernel has no control groups"),
        (lambda tree: tree.own.write_text(f"0::/{tree.group.rename(tree.group.with_name('x')).name}"), "not delegated"),
    ],
)  # fmt: skip
def test_a_group_that_is_not_the_daemons_to_divide_is_left_alone(spoil: object, part: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert callable(spoil)
    spoil(tree)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ImpossibleError, match=part):
        tree.enter()
    assert sorted(tmp_path.rglob("*")) == before


def test_the_root_of_a_namespace_is_the_daemons_but_the_true_root_is_not(tmp_path: Path) -> None:
    tree = Tree(tmp_path, path="")
    assert tree.enter().endswith("in workers")
    for made in ("daemon", "workers"):
        for file in (tree.group / made).iterdir():
            file.unlink()
        (tree.group / made).rmdir()
    (tree.group / "cgroup.type").unlink()
    with pytest.raises(ImpossibleError, match="not delegated"):
        tree.enter()
