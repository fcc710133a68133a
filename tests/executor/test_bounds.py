"""The kernel's limits hold where the watchdog does not come to it."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable

import pytest

from tooltoolexec_executor.handover import Facts
from tooltoolexec_executor.worker import bounds
from tooltoolexec_executor.worker.bounds import bound
from tooltoolexec_executor.worker.cputime import cpu_time
from tooltoolexec_executor.worker.memory import MemoryGauge
from tooltoolexec_protocol.limits import MIB


def in_a_child(do: Callable[[], bool]) -> int:
    """The status of a child whose `do` says whether all was well; 3 for a MemoryError."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if do() else 1)
        except MemoryError:
            os._exit(3)
        finally:
            os._exit(4)
    return os.waitpid(pid, 0)[1]


def facts(memory_mb: float | None = None, cpu_s: float | None = None) -> Facts:
    return Facts(id="0" * 32, queued_s=0, wall_s=None, cpu_s=cpu_s, memory_mb=memory_mb)


def bounded(memory_mb: float | None, size: int) -> Callable[[], bool]:
    def do() -> bool:
        gauge = MemoryGauge()
        gauge.reset()
        bound(facts(memory_mb), gauge.data_bytes)
        return len(bytearray(size)) == size

    return do


def test_memory_past_the_limits_and_the_slack_is_refused() -> None:
    assert os.waitstatus_to_exitcode(in_a_child(bounded(16, 400 * MIB))) == 3


@pytest.mark.parametrize("memory_mb", [16, None])
def test_memory_within_them_is_not(memory_mb: float | None) -> None:
    assert in_a_child(bounded(memory_mb, 100 * MIB)) == 0


def test_without_a_limit_there_is_none() -> None:
    assert in_a_child(bounded(None, 400 * MIB)) == 0


@pytest.mark.parametrize(
    ("handling", "ends_by"),
    [(signal.SIG_DFL, signal.SIGXCPU), (signal.SIG_IGN, signal.SIGKILL)],
    ids=["plain", "hostile"],
)
def test_cpu_time_past_the_limit_ends_the_process(
    handling: signal.Handlers, ends_by: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "_CPU_GRACE_S", 0)

    def do() -> bool:
        signal.signal(signal.SIGXCPU, handling)
        bound(facts(cpu_s=0.1), 0)
        while True:
            pass

    assert os.waitstatus_to_exitcode(in_a_child(do)) == -ends_by


@pytest.mark.parametrize("limits", [{"cpu_s": 1e300}, {"memory_mb": 1e300}])
def test_a_limit_beyond_the_kernels_numbers_is_none(limits: dict[str, float]) -> None:
    def do() -> bool:
        before = resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_DATA)
        bound(facts(**limits), 0)
        return before == (resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_DATA))

    assert in_a_child(do) == 0


def test_cpu_time_counts_what_is_shorter_than_a_tick() -> None:
    """Also under a CPU limit, where the process's clock stands still in between."""

    def do() -> bool:
        bound(facts(cpu_s=100), 0)
        for _ in range(20):
            before, thread_before = cpu_time(), time.thread_time()  # In this order, each look may take time.
            while time.thread_time() < thread_before + 0.0002:
                pass
            if cpu_time() < before + 0.00015:
                return False
        return True

    assert in_a_child(do) == 0
