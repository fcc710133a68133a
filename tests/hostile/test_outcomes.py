"""The outcome is told in time and in a bounded frame, whatever the program put into what it is made of."""

from __future__ import annotations

import time

import anyio
import pytest

from tooltoolexec import Executor, Limits

pytestmark = pytest.mark.anyio

STORE = [{"name": "store"}]


async def test_a_time_out_tells_the_beginning_of_what_it_waits_for(executor: Executor) -> None:
    """Ten calls whose names are long, each character six on the wire: whole, they could outgrow a frame."""

    async def never(_provider: str, _tool: str, _args: str) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    code = r"async () => { for (let i = 0; i < 10; i++) store[i + '\0'.repeat(1e5)](); await store.last() }"
    begun = time.monotonic()
    run = await executor.execute(code, STORE, dispatch=never, limits=Limits(wall_s=2))
    assert time.monotonic() - begun - run.stats.queued_s < 3
    assert run.failure is not None
    assert run.failure.kind == "timeout"
    calls = [{"provider": "store", "tool": f"{number}".ljust(200, "\0")} for number in range(10)]
    assert run.failure.detail == {"state": "waiting", "calls": calls}
