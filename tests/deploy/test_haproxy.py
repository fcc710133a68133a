"""Two daemons behind HAProxy, with the configuration that is shipped: one is drained and started again under load."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from serving import TOKEN, Certificates, until
from tooltoolexec import Run, connect

from .daemons import Daemon, balancer, own_address

CONFIG = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
RUNS, AT_ONCE = 200, 8

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed (Debian: haproxy)"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def daemons(certificates: Certificates) -> Iterator[list[Daemon]]:
    both = [Daemon(own_address(), certificates) for _ in range(2)]
    yield both
    for daemon in both:
        daemon.close()


async def test_every_run_has_its_outcome_while_one_of_two_daemons_is_drained_and_restarted(
    daemons: list[Daemon], certificates: Certificates, tmp_path: Path
) -> None:
    address = own_address()
    certificates.write(certificates.authority.issue_cert(address))
    config = CONFIG.read_text(encoding="utf-8").replace("bind :7070", f"bind {address}:7070")
    for placeholder, daemon in zip(("10.0.0.11", "10.0.0.12"), daemons, strict=True):
        assert placeholder in config
        config = config.replace(placeholder, daemon.address)
        await anyio.to_thread.run_sync(daemon.drain)
        await anyio.to_thread.run_sync(daemon.start)  # With the certificate for the balancer's address.
    called: Counter[int] = Counter()
    runs: dict[int, Run] = {}
    numbers = iter(range(RUNS))

    async def dispatch(_provider: str, _tool: str, args: str) -> str:
        called[int(args.strip("[]"))] += 1
        await anyio.sleep(0.02)
        return f'{{"result": {args.strip("[]")}}}'

    with balancer(config, tmp_path, address):
        async with connect(f"tls://{address}:7070", token=TOKEN, ca=str(certificates.ca)) as executor:

            async def steadily() -> None:
                for number in numbers:
                    code = f"async () => await store.first({number}) + await store.second({number})"
                    runs[number] = await executor.execute(code, [{"name": "store"}], dispatch=dispatch)

            async with anyio.create_task_group() as group:
                for _ in range(AT_ONCE):
                    group.start_soon(steadily)
                await until(lambda: len(runs) >= RUNS // 4, "a quarter of the runs", within_s=50)
                await anyio.to_thread.run_sync(daemons[0].drain)
                assert len(runs) < RUNS, "the drain came too late to show anything"
                await anyio.to_thread.run_sync(daemons[0].start)
    assert {number: run.error for number, run in runs.items() if run.error} == {}
    assert {number: run.result for number, run in runs.items()} == {number: 2 * number for number in range(RUNS)}
    assert set(called.values()) == {2}  # Two calls each: none ran twice.
