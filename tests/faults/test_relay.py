"""TLS ends in the daemon: bounded memory, and every kind of end passes through as what it is."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from serving import PATIENCE_S, TOKEN, BareClient, ServedDaemon, descriptor_count, wait_until, workers_of
from tooltoolexec import Limits, connect, sync
from tooltoolexec_protocol.messages import Answers, Calls, Done, Execute, Started

from .conftest import StartDaemon

pytestmark = pytest.mark.anyio

ANSWER_BYTES = 40 * 1024 * 1024
GROWTH_BYTES = 8 * 1024 * 1024
WAITS = "async () => await __dispatch('a', 'b', '')"
SPINS = "async () => { __dispatch('a', 'b', ''); await 0; for (;;); }"


def memory_of(pid: int, what: str) -> int:
    """`VmRSS` or `VmHWM`, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:"))


@pytest.mark.parametrize("direction", ["answer", "calls"])
def test_a_relay_of_forty_megabytes_keeps_the_daemons_memory_bounded(start_daemon: StartDaemon, direction: str) -> None:
    daemon = start_daemon("--max-memory-mb", "1024", "--max-payload-bytes", str(64 * 1024 * 1024))
    program, limits = {
        "answer": ("async () => (await store.get()).length", {"memory_mb": 512}),
        "calls": (
            "async () => { for (let i = 0; i < 10; i++) await store.put('x'.repeat(4 * 1024 * 1024 - 100)); return 1 }",
            {"memory_mb": 512},
        ),
    }[direction]
    with sync.connect(daemon.tls, token=TOKEN, ca=str(daemon.certificates.ca)) as executor:
        assert executor.execute("() => 1").result == 1
        before = memory_of(daemon.pid, "VmHWM")
        big = '{"result":"' + "x" * ANSWER_BYTES + '"}'
        answers = {"get": big, "put": '{"result":1}'}
        run = executor.execute(
            program, [{"name": "store"}], dispatch=lambda _p, tool, _a: answers[tool], limits=Limits(**limits)
        )
    assert run.error is None
    assert run.result == (ANSWER_BYTES if direction == "answer" else 1)
    assert memory_of(daemon.pid, "VmHWM") - before < GROWTH_BYTES


def running(daemon: ServedDaemon, program: str) -> tuple[BareClient, socket.socket]:
    """A client whose program runs over TLS, and a duplicate of its TCP socket."""
    client = BareClient(daemon.tls, daemon.certificates.client())
    plain = socket.socket(fileno=os.dup(client.socket.fileno()))
    client.greet(TOKEN)
    client.send(Execute(id=os.urandom(16).hex(), code=program))
    assert isinstance(client.receive(), Started)
    assert isinstance(client.receive(), Calls)
    return client, plain


@pytest.mark.parametrize("program", [WAITS, SPINS])
@pytest.mark.parametrize("end", ["reset", "close", "half-close"])
def test_a_client_that_goes_ends_its_worker(start_daemon: StartDaemon, program: str, end: str) -> None:
    daemon = start_daemon("--warm", "1")
    client, plain = running(daemon, program)
    with client, plain:
        if end == "half-close":
            plain.shutdown(socket.SHUT_WR)
        else:
            if end == "reset":
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.socket.close()
            plain.close()
        wait_until(lambda: '"cancelled"' in "".join(daemon.log), "the run's end", within_s=5)


def test_a_client_that_goes_is_noticed_behind_answers_that_nobody_reads(start_daemon: StartDaemon) -> None:
    """The worker spins, so the relay is full: the hang-up comes after bytes that cannot be passed on."""
    daemon = start_daemon("--warm", "1")
    client, plain = running(daemon, SPINS)
    filler = Answers(answers=[(1, '{"result":"' + "x" * 4_000_000 + '"}')])
    sending = threading.Thread(target=_send_ignoring_the_end, args=(client, filler))
    sending.start()
    wait_until(lambda: _is_full(plain), "the way is full")
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    plain.shutdown(socket.SHUT_RDWR)
    sending.join(PATIENCE_S)
    client.socket.close()
    plain.close()
    wait_until(lambda: '"cancelled"' in "".join(daemon.log), "the run's end", within_s=5)


def _send_ignoring_the_end(client: BareClient, message: Answers) -> None:
    with suppress(OSError):
        client.send(message)


def _is_full(connection: socket.socket) -> bool:
    """Whether bytes wait in the sending buffer, and it stays so."""

    def unsent() -> int:
        return int(struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0])

    first = unsent()
    time.sleep(0.1)
    return first > 0 and unsent() == first


def test_a_worker_that_is_killed_is_an_end_without_an_outcome(start_daemon: StartDaemon) -> None:
    daemon = start_daemon("--warm", "1")
    with sync.connect(daemon.tls, token=TOKEN, ca=str(daemon.certificates.ca)) as executor:

        def dispatch(_provider: str, _tool: str, _args: str) -> str:
            for worker in workers_of(daemon.pid):
                os.kill(worker, 9)
            return '{"result":1}'

        run = executor.execute("async () => { await store.x(); for (;;); }", [{"name": "store"}], dispatch=dispatch)
    assert (run.failure and run.failure.kind) == "crashed"


def test_a_worker_that_dies_with_bytes_unread_is_an_end_as_well(start_daemon: StartDaemon) -> None:
    """The system then reports the end of its socket as an error."""
    daemon = start_daemon("--warm", "1")
    client, plain = running(daemon, SPINS)
    with client, plain:
        busy = max(workers_of(daemon.pid), key=_cpu_ticks)
        client.send(Answers(answers=[(1, '{"result":1}')]))
        time.sleep(0.05)  # For the bytes to reach a worker that never reads them; there is nothing to see from here.
        os.kill(busy, 9)
        assert client.receive() is None


def _cpu_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


async def test_a_slow_reader_gets_all_of_its_result(start_daemon: StartDaemon) -> None:
    """The worker has long ended when the last bytes of what it said reach the client."""
    daemon = start_daemon()
    client = BareClient(daemon.tls, daemon.certificates.client())
    with client:
        client.greet(TOKEN)
        client.send(Execute(id=os.urandom(16).hex(), code="() => 'x'.repeat(3_000_000)"))
        assert isinstance(client.receive(), Started)
        wait_until(lambda: '"run ended"' in "".join(daemon.log), "the worker's end", within_s=5)
        done = client.receive()
        assert isinstance(done, Done)
        assert done.result == "x" * 3_000_000


async def test_many_runs_over_tls_at_once_leave_nothing_behind(start_daemon: StartDaemon) -> None:
    daemon = start_daemon()
    results: list[object] = []
    async with connect(daemon.tls, token=TOKEN, ca=str(daemon.certificates.ca)) as executor:
        await executor.execute("() => 0")
        before = descriptor_count(daemon.pid)

        async def one(number: int) -> None:
            results.append((await executor.execute(f"() => {number}")).result)

        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(one, number)
        assert sorted(map(int, map(str, results))) == list(range(60))
        wait_until(lambda: descriptor_count(daemon.pid) <= before + 8, "descriptors are given back")
