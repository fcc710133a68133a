"""What a daemon is started with must not weaken it: missing descriptors, limits on files and descriptors."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable

import pytest

from tooltoolexec_executor import backoff

RUNS = "import os, tooltoolexec; print(tooltoolexec.execute('() => 5').result, flush=True)"


def run(
    program: str, *, before: Callable[[], None] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        preexec_fn=before,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("closed", ["0", "2", "0, 2"])
def test_a_host_without_all_standard_descriptors_has_an_executor(closed: str) -> None:
    ended = run(f"import os\nfor one in ({closed},): os.close(one)\n{RUNS}")
    assert (ended.returncode, ended.stdout) == (0, "5\n")


def limit(kind: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (value, value))


@pytest.mark.parametrize(
    ("kind", "value"), [(resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, 200), (resource.RLIMIT_CORE, 0)]
)
def test_a_hosts_own_limits_take_no_layer_away(kind: int, value: int) -> None:
    ended = run(RUNS, before=limit(kind, value), TOOLTOOLEXEC_REQUIRE_SANDBOX="1")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "5\n", "")


def test_the_environment_says_for_an_embedded_daemon_too_whether_v8_compiles() -> None:
    assert run(RUNS, TOOLTOOLEXEC_JITLESS="1").stdout == "5\n"
    refused = run(RUNS, TOOLTOOLEXEC_JITLESS="perhaps")
    assert refused.returncode != 0
    assert "jitless" in refused.stderr


def test_pauses_double_up_to_a_bound_and_end_with_the_trouble() -> None:
    trouble = backoff.Backoff()
    pauses = []
    for _ in range(10):
        trouble.again()
        pauses.append(trouble.pause_s)
    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8]
    assert pauses[-1] == 10.0
    trouble.over()
    assert trouble.pause_s == 0.0
