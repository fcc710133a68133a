"""The package is exchanged under a daemon that runs: no worker of it ever runs other code than the daemon's."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import anyio
import pytest

import tooltoolexec_executor
import tooltoolexec_protocol
from serving import BareClient, ServedDaemon, children_of, kill_hard, until, wait_until, workers_of
from tooltoolexec import RefusedError, connect
from tooltoolexec_executor import supervise
from tooltoolexec_executor.fingerprint import fingerprint
from tooltoolexec_protocol.messages import OLDEST_VERSION, VERSION, Hello

pytestmark = pytest.mark.anyio

OURS = version("tooltoolexec")
UPGRADED = f"tooltoolexec was upgraded from {OURS} to 9.8.7 under this daemon. Restart it."
EXCHANGED = f"The code of tooltoolexec {OURS} was exchanged under this daemon. Restart it."
REMOVED = f"tooltoolexec {OURS} was removed under this daemon. Restart it once it is there again."
WARM = 2
CRASHES = 3
# A zygote is due after these few crashes.
PREPARATION = """
import sys
sys.path.insert(0, {site!r})
from tooltoolexec_executor import supervise
assert supervise.__file__.startswith({site!r})
supervise._DUE_CRASHES = {crashes}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Installation:
    """A copy of what a daemon runs, in a folder of its own."""

    def __init__(self, site: Path) -> None:
        self.site = site
        for package in (tooltoolexec_executor, tooltoolexec_protocol):
            assert package.__file__
            source = Path(package.__file__).parent
            shutil.copytree(source, site / source.name, ignore=shutil.ignore_patterns("__pycache__"))

    def change(self, file: str = "tooltoolexec_executor/worker/main.py", text: str = "# other code\n") -> None:
        with (self.site / file).open("a") as code:
            code.write(text)

    def upgrade(self) -> None:
        self.change()
        information = self.site / "tooltoolexec-9.8.7.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tooltoolexec\nVersion: 9.8.7\n")

    @contextmanager
    def daemon(self, folder: Path) -> Iterator[ServedDaemon]:
        """One that runs it, with its warm workers."""
        preparation = PREPARATION.format(site=str(self.site), crashes=CRASHES)
        with ServedDaemon(folder, ["--warm", str(WARM), "--workers", "4"], preparation=preparation) as daemon:
            wait_until(lambda: len(workers_of(daemon.pid)) >= WARM, "the warm workers")
            yield daemon


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "site")


def errors_of(daemon: ServedDaemon) -> list[str]:
    lines = [json.loads(line) for line in daemon.log if line.startswith("{")]
    return [line["event"] for line in lines if line["level"] == "error"]


def crash_one(daemon: ServedDaemon) -> None:
    """Crash a worker if there is one; it may end by itself first."""
    for worker in workers_of(daemon.pid)[:1]:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGSEGV)


async def crash_workers(daemon: ServedDaemon, until_said: str) -> None:
    """Crash idle workers, as long as it takes."""
    with anyio.fail_after(30):
        while until_said not in errors_of(daemon):
            crash_one(daemon)
            await anyio.sleep(0.02)


def said_at_its_end(daemon: ServedDaemon) -> str:
    """The last line of a daemon that ends by itself, with the status of one that could not start."""
    assert daemon.process.wait(15) == 2
    daemon._reader.join(15)
    return daemon.log[-1].strip()


async def test_a_zygote_that_is_due_stays_where_its_successor_would_run_other_code(
    installation: Installation, tmp_path: Path
) -> None:
    with installation.daemon(tmp_path) as daemon:
        (zygote,) = children_of(daemon.pid)
        installation.upgrade()
        await crash_workers(daemon, UPGRADED)
        async with connect(daemon.unix) as executor:
            for _ in range(3 * CRASHES):  # Each would be a reason to try again, and so would each worker after it.
                crash_one(daemon)
                run = await executor.execute("() => 1")
                assert run.result == 1 or (run.failure is not None and run.failure.kind == "crashed")
        assert children_of(daemon.pid) == [zygote]
        assert errors_of(daemon).count(UPGRADED) == 1


@pytest.mark.parametrize(("exchange", "text"), [("upgrade", UPGRADED), ("change", EXCHANGED)])
async def test_a_daemon_whose_zygote_ended_ends_where_the_next_would_run_other_code(
    installation: Installation, tmp_path: Path, exchange: str, text: str
) -> None:
    with installation.daemon(tmp_path) as daemon:
        getattr(installation, exchange)()
        kill_hard(children_of(daemon.pid)[0])
        assert said_at_its_end(daemon) == f"tooltoolexec: {text}"


async def test_a_zygote_that_was_kept_is_the_last(installation: Installation, tmp_path: Path) -> None:
    with installation.daemon(tmp_path) as daemon:
        installation.upgrade()
        await crash_workers(daemon, UPGRADED)
        kill_hard(children_of(daemon.pid)[0])
        assert said_at_its_end(daemon) == f"tooltoolexec: {UPGRADED}"


async def test_new_code_that_cannot_even_start_under_the_old_daemon_is_known_for_what_it_is(
    installation: Installation, tmp_path: Path
) -> None:
    with installation.daemon(tmp_path) as daemon:
        installation.change("tooltoolexec_executor/zygote.py", "raise SystemExit('no such option')\n")
        kill_hard(children_of(daemon.pid)[0])
        assert said_at_its_end(daemon) == f"tooltoolexec: {EXCHANGED}"


async def test_an_upgrade_taken_back_is_none(installation: Installation, tmp_path: Path) -> None:
    with installation.daemon(tmp_path) as daemon:
        file = installation.site / "tooltoolexec_executor" / "worker" / "main.py"
        code = file.read_text()
        installation.change()
        await crash_workers(daemon, EXCHANGED)
        file.write_text(code)
        (zygote,) = children_of(daemon.pid)
        kill_hard(zygote)
        await until(lambda: zygote not in children_of(daemon.pid), "the zygote's end")
        async with connect(daemon.unix) as executor:
            assert (await executor.execute("() => 1")).result == 1


def test_a_package_that_is_not_there_is_told_of_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.version", nothing)
    assert supervise._exchange() == REMOVED


def test_a_fingerprint_is_of_the_code_and_not_of_its_times(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = ("tooltoolexec_executor", "tooltoolexec_protocol")
    monkeypatch.setattr("tooltoolexec_executor.fingerprint._ROOTS", [installation.site / name for name in packages])
    before = fingerprint()
    for file in installation.site.rglob("*.py"):
        os.utime(file, (0, 0))
    assert fingerprint() == before
    installation.change("tooltoolexec_executor/runtime/run.js", "//")
    changed = fingerprint()
    assert changed != before
    file = installation.site / "tooltoolexec_protocol" / "limits.py"
    file.rename(file.with_stem("limitz"))  # In the same place of the order.
    assert fingerprint() not in (before, changed)


def test_a_daemon_names_its_own_and_the_clients_version_to_a_client_of_the_future(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path) as daemon, BareClient(daemon.unix) as client:
        client.send(Hello(version=VERSION + 8, oldest_version=VERSION + 7))
        refusal = client.refusal()
    assert refusal.code == "version"
    assert f"protocol versions {OLDEST_VERSION} to {VERSION}" in refusal.message
    assert f"the client {VERSION + 7} to {VERSION + 8}" in refusal.message


async def test_a_client_hears_both_versions_from_a_daemon_of_the_future(tmp_path: Path) -> None:
    # That daemon speaks later versions only; all that it needs to do for an old client is in the greeting.
    preparation = (
        "from tooltoolexec_protocol import messages\n"
        f"messages.VERSION, messages.OLDEST_VERSION = {VERSION + 8}, {VERSION + 7}"
    )
    with ServedDaemon(tmp_path, preparation=preparation) as daemon, pytest.raises(RefusedError) as refused:
        async with connect(daemon.unix):
            pass
    assert refused.value.code == "version"
    assert f"protocol versions {VERSION + 7} to {VERSION + 8}, the client {OLDEST_VERSION} to {VERSION}" in str(
        refused.value
    )
