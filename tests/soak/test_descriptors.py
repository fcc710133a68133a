"""A daemon without descriptors left turns clients away; it does not end, and it serves again once there are some."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import anyio
import pytest

from serving import ServedDaemon, descriptor_count, until, workers_of
from tooltoolexec import Executor, ExecutorError, connect

from .conftest import StartDaemon

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOFT = 384
CONNECTIONS = 2 * SOFT
WARM = 3
BOUND_S = 30.0


@contextmanager
def idle_connections(daemon: ServedDaemon, how_many: int) -> Iterator[None]:
    """Connections that say nothing."""
    with ExitStack() as stack:
        for _ in range(how_many):
            silent = stack.enter_context(socket.socket(socket.AF_UNIX))
            silent.setblocking(False)
            silent.connect(str(daemon.path))
        yield


async def has_taken_all(daemon: ServedDaemon) -> None:
    """Wait until it accepts no more: two equal looks are the only sign."""
    before = -1
    while (now := descriptor_count(daemon.pid)) != before:
        before = now
        await anyio.sleep(0.3)


async def outcome_of(executor: Executor) -> str:
    with anyio.fail_after(BOUND_S):
        try:
            run = await executor.execute("() => new Promise(done => setTimeout(() => done(1), 300))")
        except ExecutorError as error:
            return type(error).__name__
    return "ok" if run.result == 1 else str(run.failure and run.failure.kind)


@pytest.mark.parametrize("hard", [SOFT, 4096])
async def test_more_connections_than_descriptors_do_not_end_the_daemon(start_daemon: StartDaemon, hard: int) -> None:
    scarce = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({SOFT}, {hard}))"
    daemon = start_daemon("--workers", "4", "--parked", "4", "--warm", str(WARM), preparation=scarce)
    await until(lambda: len(workers_of(daemon.pid)) >= WARM, "the warm workers")
    outcomes: Counter[str] = Counter()

    async def one() -> None:
        outcomes[await outcome_of(executor)] += 1

    async with connect(daemon.unix, connect_timeout_s=2) as executor:
        with idle_connections(daemon, CONNECTIONS):
            await has_taken_all(daemon)
            async with anyio.create_task_group() as group:
                for _ in range(6):
                    group.start_soon(one)
            assert daemon.process.poll() is None
        # The first may still find the daemon busy with the end of so many connections.
        await until(lambda: len(workers_of(daemon.pid)) >= WARM, "the warm workers again", within_s=BOUND_S)
        assert [await outcome_of(executor) for _ in range(8)] == ["ok"] * 8
    assert daemon.process.poll() is None
    assert set(outcomes) <= {"ok", "overloaded", "crashed", "ConnectError", "ConnectionLostError"}
