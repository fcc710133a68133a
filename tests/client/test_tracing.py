"""A run's labels name the span that it was started in."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from opentelemetry import trace

from tooltoolexec import connect, sync
from tooltoolexec_protocol.limits import LABEL_CHARACTERS

from .daemon import FakeDaemon, Peer

TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0x00F067AA0BA902B7
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"


def span(trace_id: int = TRACE, flags: int = 1) -> trace.Span:
    context = trace.SpanContext(trace_id, SPAN, is_remote=False, trace_flags=trace.TraceFlags(flags))
    return trace.NonRecordingSpan(context)


def finish(peer: Peer) -> None:
    peer.start()
    peer.done()


@pytest.mark.anyio
async def test_the_current_span_becomes_a_label(daemon: FakeDaemon) -> None:
    daemon.script(finish)
    async with connect(daemon.address) as executor:
        with trace.use_span(span()):
            await executor.execute("1", labels={"who": "me"})
    assert daemon.peers[0].request.labels == {"who": "me", "traceparent": TRACEPARENT}


def test_blocking_code_has_a_span_too(daemon: FakeDaemon) -> None:
    daemon.script(finish)
    with sync.connect(daemon.address) as executor, trace.use_span(span(flags=0)):
        executor.execute("1")
    assert daemon.peers[0].request.labels == {"traceparent": TRACEPARENT[:-1] + "0"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"traceparent": "mine"}, id="the callers own wins"),
        pytest.param({"n": "x" * (LABEL_CHARACTERS - 1)}, id="it would be too much"),
    ],
)
async def test_the_callers_labels_stay_as_they_are(daemon: FakeDaemon, labels: dict[str, str]) -> None:
    daemon.script(finish)
    async with connect(daemon.address) as executor:
        with trace.use_span(span()):
            await executor.execute("1", labels=labels)
    assert daemon.peers[0].request.labels == labels


@pytest.mark.anyio
@pytest.mark.parametrize("module", [None, SimpleNamespace(), trace], ids=["none", "half loaded", "no span"])
async def test_without_a_span_there_is_no_label(
    daemon: FakeDaemon, module: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", module)
    daemon.script(finish)
    async with connect(daemon.address) as executor:
        await executor.execute("1")
    assert daemon.peers[0].request.labels == {}


def test_the_client_never_loads_it() -> None:
    program = "import sys, tooltoolexec, tooltoolexec.cli; print([n for n in sys.modules if 'opentelemetry' in n])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "[]\n"
