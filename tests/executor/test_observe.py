"""The HTTP side: who asks properly is answered, whoever else is there, and nobody harms the daemon by it."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from prometheus_client.openmetrics import parser

from serving import PATIENCE_S, ServedDaemon, children_of, descriptor_count, until, wait_until, workers_of
from tooltoolexec import connect
from tooltoolexec_executor import observe

from .watching import WatchedDaemon, watched

pytestmark = pytest.mark.anyio

PATHS = ("/metrics", "/healthz", "/readyz")
EXCHANGE_S = 0.3
SHORT = f"from tooltoolexec_executor import observe\nobserve._EXCHANGE_S = {EXCHANGE_S}"
CROWD = 200
ONLY_ONE_WORKER = """
from tooltoolexec_executor.workers import Worker, WorkerGoneError

async def ready(worker, ready=Worker.ready, ready_ones=[]):
    await ready(worker)
    if ready_ones:
        raise WorkerGoneError("there was one already")
    ready_ones.append(worker)

Worker.ready = ready
"""
WELL_FORMED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedDaemon]:
    with watched(tmp_path_factory.mktemp("watched"), ["--workers", "2", "--warm", "2"]) as daemon:
        wait_until(lambda: daemon.ask("/readyz")[0].status == 200, "a first worker")
        yield daemon
        assert "defect" not in "".join(daemon.served.log)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedDaemon]:
    with watched(tmp_path_factory.mktemp("impatient"), preparation=SHORT) as daemon:
        yield daemon


def speak(daemon: WatchedDaemon, data: bytes, *, end: bool = False) -> bytes:
    """All that is answered to some bytes."""
    with socket.create_connection(("127.0.0.1", daemon.port), PATIENCE_S) as connection:
        connection.sendall(data)
        if end:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("path", PATHS)
def test_head_is_answered_as_get_without_a_body(daemon: WatchedDaemon, path: str) -> None:
    got, body = daemon.ask(path)
    head, nothing = daemon.ask(path, method="HEAD")
    assert (got.status, head.status) == (200, 200)
    assert body
    assert not nothing
    assert int(got.headers["Content-Length"]) == len(body)
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert abs(int(head.headers["Content-Length"]) - len(body)) < 100  # The numbers in it may have changed.


@pytest.mark.parametrize(("path", "status"), [("/healthz", "ok"), ("/readyz", "ready")])
def test_the_probes_answer_in_json(daemon: WatchedDaemon, path: str, status: str) -> None:
    answer, body = daemon.ask(path)
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(body) == {"status": status}


def test_a_query_is_passed_over(daemon: WatchedDaemon) -> None:
    assert daemon.ask("/healthz?verbose=1")[0].status == 200


@pytest.mark.parametrize("path", ["/", "/metrics/", "//metrics", "/METRICS", "/debug", "/../etc/passwd", "*"])
def test_other_paths_are_not_found(daemon: WatchedDaemon, path: str) -> None:
    assert daemon.ask(path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"])
@pytest.mark.parametrize("path", PATHS)
def test_other_methods_are_not_allowed(daemon: WatchedDaemon, path: str, method: str) -> None:
    answer, _body = daemon.ask(path, method=method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_a_scraper_that_prefers_openmetrics_gets_it(daemon: WatchedDaemon) -> None:
    answer, text = daemon.ask("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    families = parser.text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    assert "tooltoolexec_runs" in {family.name for family in families}
    plain, _text = daemon.ask("/metrics", headers={"Accept": "nonsense;;q=\xff"})
    assert plain.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize(
    "junk",
    [
        b"\r\n\r\n" * 100 + b"junk\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
        b"\xff\xfe /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_junk_is_told_so_and_no_more(daemon: WatchedDaemon, junk: bytes) -> None:
    try:
        answer = speak(daemon, junk, end=True)
    except ConnectionError:
        answer = b""  # It stopped reading before we stopped talking.
    assert not answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")), answer
    assert b"Traceback" not in answer
    assert daemon.ask("/healthz")[0].status == 200


def test_one_connection_gets_one_answer(daemon: WatchedDaemon) -> None:
    assert speak(daemon, WELL_FORMED * 3).count(b"HTTP/1.1 200") == 1


def test_a_client_that_has_sent_its_end_already_is_answered(daemon: WatchedDaemon) -> None:
    assert speak(daemon, WELL_FORMED, end=True).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("said", [b"", b"GET /hea", b"GET /healthz HTTP/1.1\r\nHost: a\r\n"])
def test_a_client_that_stands_still_is_dropped(impatient: WatchedDaemon, said: bytes) -> None:
    assert speak(impatient, said) == b""  # To the end, which does not come from this side.
    assert impatient.ask("/healthz")[0].status == 200


@pytest.mark.parametrize("said", [b"", WELL_FORMED])
def test_a_client_that_drips_is_dropped(impatient: WatchedDaemon, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", impatient.port), PATIENCE_S) as connection:
        begun = time.monotonic()
        connection.sendall(said)
        with pytest.raises(ConnectionError):  # noqa: PT012 - which byte it is does not matter
            while time.monotonic() < begun + PATIENCE_S:
                connection.sendall(b"G")
                time.sleep(EXCHANGE_S / 10)
    assert time.monotonic() - begun >= EXCHANGE_S


async def test_a_silent_crowd_keeps_nobody_out_and_holds_few_descriptors(daemon: WatchedDaemon) -> None:
    pid = daemon.served.pid
    before = descriptor_count(pid)
    with ExitStack() as stack:
        for _ in range(CROWD):
            stack.enter_context(socket.create_connection(("127.0.0.1", daemon.port), PATIENCE_S))
        async with connect(daemon.served.unix) as executor:
            for path in PATHS:
                assert (await anyio.to_thread.run_sync(daemon.ask, path))[0].status == 200
            assert (await executor.execute("() => 1")).result == 1
        assert descriptor_count(pid) < before + observe._CONNECTIONS + 20
    await until(lambda: descriptor_count(pid) <= before + 6, "the end of the crowd's descriptors")


def test_a_crowd_that_asks_is_answered(daemon: WatchedDaemon) -> None:
    answers: list[int] = []

    def ask() -> None:
        answers.extend(daemon.ask("/metrics")[0].status for _ in range(CROWD // 20))

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert answers == [200] * CROWD


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="there is no IPv6 here")
def test_an_address_of_ipv6_is_logged_as_one_writes_it(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, ["--metrics", "[::1]:0"]) as served:
        wait_until(lambda: '"observable"' in "".join(served.log), "the line in the log")
        (line,) = [json.loads(line) for line in served.log if '"observable"' in line]
    host, _, port = line["address"].rpartition(":")
    assert host == "[::1]"
    assert int(port) > 0


def test_before_the_first_worker_it_lives_and_is_not_ready(tmp_path: Path) -> None:
    # The process that would fork workers stands still.
    preparation = "from tooltoolexec_executor import launch\nlaunch.command = lambda _control: ['/bin/sleep', '60']"
    with watched(tmp_path, preparation=preparation) as daemon:
        answer, body = daemon.ask("/readyz")
        assert (answer.status, json.loads(body)) == (503, {"status": "no workers"})
        assert daemon.ask("/healthz")[0].status == 200
        assert daemon.ask("/metrics")[0].status == 200


def test_between_two_zygotes_it_is_not_ready(tmp_path: Path) -> None:
    with watched(tmp_path, ["--workers", "2", "--warm", "1"]) as daemon:
        wait_until(lambda: daemon.ask("/readyz")[0].status == 200, "a first worker")
        (zygote,) = children_of(daemon.served.pid)
        os.kill(zygote, signal.SIGKILL)
        wait_until(lambda: daemon.ask("/readyz")[0].status == 503, "the end of readiness")
        wait_until(lambda: daemon.ask("/readyz")[0].status == 200, "readiness again")


def test_with_workers_that_cannot_start_any_more_it_is_not_ready(tmp_path: Path) -> None:
    with watched(tmp_path, ["--workers", "2", "--warm", "1"], preparation=ONLY_ONE_WORKER) as daemon:
        wait_until(lambda: daemon.ask("/readyz")[0].status == 200, "a first worker")
        (worker,) = workers_of(daemon.served.pid)
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: daemon.ask("/readyz")[0].status == 503, "the end of readiness")
        assert daemon.counts("worker_deaths_total")["unready"] >= 3


async def test_a_daemon_that_drains_lives_and_is_not_ready(tmp_path: Path) -> None:
    with watched(tmp_path, ["--grace-s", "10"]) as daemon:
        async with connect(daemon.served.unix) as executor, anyio.create_task_group() as group:
            wait_until(lambda: daemon.ask("/readyz")[0].status == 200, "a first worker")
            group.start_soon(lambda: executor.execute("async () => new Promise(() => setTimeout(() => {}, 9000))"))
            await until(lambda: daemon.value("runs_computing") + daemon.value("runs_parked") == 1, "the run")
            daemon.served.process.send_signal(signal.SIGTERM)
            await until(lambda: daemon.ask("/readyz")[0].status == 503, "the drain")
            assert json.loads(daemon.ask("/readyz")[1]) == {"status": "draining"}
            assert daemon.ask("/healthz")[0].status == 200
            assert daemon.value("draining") == 1
            group.cancel_scope.cancel()


async def test_a_rotation_does_not_end_readiness(tmp_path: Path) -> None:
    preparation = "from tooltoolexec_executor import supervise\nsupervise._DUE_FORKS = 5"
    with watched(tmp_path, ["--workers", "2", "--warm", "1"], preparation=preparation) as daemon:
        wait_until(lambda: daemon.ask("/readyz")[0].status == 200, "a first worker")
        answers: set[int] = set()
        async with connect(daemon.served.unix) as executor:
            with anyio.fail_after(PATIENCE_S):
                while daemon.value("zygotes_started_total") < 4:
                    assert (await executor.execute("() => 1")).result == 1
                    answers.add(daemon.ask("/readyz")[0].status)
        assert answers == {200}


def test_a_defect_of_an_answer_shows_no_traceback(tmp_path: Path) -> None:
    preparation = "from tooltoolexec_executor import tally\ntally.Distribution.total = property(lambda _: 1 / 0)"
    preparation += "\ntally.Distribution.total = tally.Distribution.total.setter(lambda *_: None)"
    with watched(tmp_path, preparation=preparation) as daemon:
        assert speak(daemon, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n") == b""
        assert daemon.ask("/healthz")[0].status == 200
        wait_until(lambda: "ZeroDivisionError" in "".join(daemon.served.log), "the line in the log")
