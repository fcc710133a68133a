"""Requests as they come over the wire: who answers them, and what of them reaches a handler."""

from __future__ import annotations

import json
import threading
from base64 import b64decode
from typing import Any

import anyio
import pytest

from tooltoolexec import Executor, ExecutorError, connect, dial
from tooltoolexec.outbound import OutboundError, OutboundRequest, OutboundResponse, answer
from tooltoolexec.transport import Transport
from tooltoolexec_protocol import limits, texts
from tooltoolexec_protocol.envelope import result_envelope
from tooltoolexec_protocol.messages import VERSION, Answers, Hello, Message, Requests, Welcome

from .daemon import FakeDaemon, Peer

pytestmark = pytest.mark.anyio

Wire = tuple[int, str, str, list[tuple[str, str]], str | None]
PLAIN: Wire = (1, "GET", "https://a.test/", [], None)


def greet(peer: Peer) -> None:
    assert isinstance(peer.receive(), Hello)
    peer.send(Welcome(version=VERSION, features=["outbound"]))


async def answer_to(daemon: FakeDaemon, request: Wire, outbound: Any) -> dict[str, Any]:
    """The envelope that one request is answered with."""
    answers: list[str] = []
    daemon.greeting = greet

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        assert peer.request.outbound is (outbound is not None)
        peer.send(Requests(requests=[request]))
        answers.append(peer.answers(1)[1])
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("code", outbound=outbound)
    envelope = json.loads(answers[0])
    assert isinstance(envelope, dict)
    return envelope


async def test_a_response_crosses_as_the_result_of_an_envelope(daemon: FakeDaemon) -> None:
    requests: list[OutboundRequest] = []

    async def handler(request: OutboundRequest) -> OutboundResponse:
        requests.append(request)
        return OutboundResponse(201, {"A": "b"}, b"\1\2\3", "https://b.test/")

    envelope = await answer_to(daemon, (1, "PUT", "https://a.test/x?q", [("a", "b")], "AAE="), handler)
    assert requests == [OutboundRequest("PUT", "https://a.test/x?q", [("a", "b")], b"\0\1")]
    assert envelope == {
        "result": {
            "status": 201,
            "statusText": "Created",
            "headers": [["A", "b"]],
            "body": {"__executor_binary_v1__": "Uint8Array", "data": "AQID"},
            "url": "https://b.test/",
        }
    }


async def test_a_request_that_no_handler_was_given_for_is_refused(daemon: FakeDaemon) -> None:
    assert await answer_to(daemon, PLAIN, None) == {"error": texts.NETWORK_CLOSED}


@pytest.mark.parametrize(
    "request_",
    [
        (1, "GE T", "https://a.test/", [], None),
        (1, "CONNECT", "https://a.test/", [], None),
        (1, "TRACE", "https://a.test/", [], None),
        (1, "GET", "file:///etc/passwd", [], None),
        (1, "GET", "https://a.test/\r\nX: y", [], None),
        (1, "GET", "https://a.test/", [("a\r\nb", "c")], None),
        (1, "GET", "https://a.test/", [("a", "b\r\nc: d")], None),
        (1, "GET", "https://a.test/", [], "no base64!"),
    ],
)
async def test_what_no_runtime_sends_reaches_no_handler(daemon: FakeDaemon, request_: Wire) -> None:
    requests: list[OutboundRequest] = []

    async def handler(request: OutboundRequest) -> OutboundResponse:
        requests.append(request)
        return OutboundResponse(200)

    assert await answer_to(daemon, request_, handler) == {"error": texts.REQUEST_FAILED}
    assert requests == []


async def test_a_runs_requests_beyond_the_bound_wait_for_those_before_them(daemon: FakeDaemon) -> None:
    served: list[str] = []
    answers: dict[int, str] = {}
    gate = anyio.Event()
    daemon.greeting = greet

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.send(Requests(requests=[(number, "GET", f"https://a.test/{number}", [], None) for number in range(40)]))
        peer.call((40, "p", "t", "[]"))
        answers.update(peer.answers(41))
        peer.done()

    async def handler(request: OutboundRequest) -> OutboundResponse:
        served.append(request.url)
        await gate.wait()
        return OutboundResponse(200)

    async def dispatch(_provider: str, _tool: str, _args_json: str) -> str:
        await anyio.wait_all_tasks_blocked()
        assert served == [f"https://a.test/{number}" for number in range(16)]
        gate.set()
        return '{"result":null}'

    async with connect(daemon.address) as executor:
        await executor.execute("code", dispatch=dispatch, outbound=handler)
    assert answers[40] == '{"result":null}'  # A call does not wait for requests.
    assert set(served) == {f"https://a.test/{number}" for number in range(40)}
    assert all(json.loads(answers[number])["result"]["status"] == 200 for number in range(40))


async def test_no_request_is_begun_while_the_worker_does_not_read(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    transports: list[Transport] = []
    begun: list[bool] = []
    is_full = threading.Event()
    daemon.greeting = greet

    class Watched(Transport):
        def queue(self, message: Message) -> None:
            super().queue(message)
            transports.append(self)
            if isinstance(message, Answers) and self.has_unsent:
                is_full.set()

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.send(Requests(requests=[(number, *PLAIN[1:]) for number in range(40)]))
        assert is_full.wait(20)
        assert set(peer.answers(40)) == set(range(40))
        peer.done()

    async def handler(_request: OutboundRequest) -> OutboundResponse:
        begun.append(transports[-1].has_unsent)
        return OutboundResponse(200, {}, bytes(2_000_000))

    monkeypatch.setattr(dial, "Transport", Watched)
    async with connect(daemon.address) as executor:
        await executor.execute("code", outbound=handler)
    assert begun == [False] * 40


@pytest.mark.parametrize(("size", "is_here"), [(100_000, True), (300_000, False)])
async def test_only_a_large_body_is_encoded_outside_the_event_loop(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, size: int, is_here: bool
) -> None:
    threads: list[int] = []

    def encode(value: Any) -> str:
        threads.append(threading.get_ident())
        return result_envelope(value)

    async def handler(_request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(200, {}, b"x" * size)

    monkeypatch.setattr(answer, "result_envelope", encode)
    envelope = await answer_to(daemon, PLAIN, handler)
    assert b64decode(envelope["result"]["body"]["data"]) == b"x" * size
    assert [thread == threading.get_ident() for thread in threads] == [is_here]


async def test_a_body_over_the_limit_is_told_from_the_thread_too(daemon: FakeDaemon) -> None:
    envelope = await answer_to(daemon, PLAIN, lambda _request: OutboundResponse(200, {}, bytes(limits.ANSWER_BYTES)))
    assert set(envelope) == {"error"}
    assert str(limits.ANSWER_BYTES) in envelope["error"]


async def test_an_error_that_is_no_exception_is_answered_too(daemon: FakeDaemon) -> None:
    async def handler(_request: OutboundRequest) -> OutboundResponse:
        raise SystemExit(3)

    assert await answer_to(daemon, PLAIN, handler) == {"error": texts.REQUEST_FAILED}


async def test_an_error_with_a_broken_text_is_answered_too(daemon: FakeDaemon) -> None:
    class OddError(OutboundError):
        def __str__(self) -> str:
            raise ValueError("broken")

    async def handler(_request: OutboundRequest) -> OutboundResponse:
        raise OddError("x")

    assert await answer_to(daemon, PLAIN, handler) == {"error": "OddError"}


async def test_a_daemon_that_cannot_pass_requests_on_is_told_before_anything_is_sent(daemon: FakeDaemon) -> None:
    async with connect(daemon.address) as executor:
        await _refuses(executor)
    assert all(peer.request.code == "" for peer in daemon.peers)


async def _refuses(executor: Executor) -> None:
    with pytest.raises(ExecutorError, match="This daemon cannot pass requests on"):
        await executor.execute("code", outbound=lambda _request: OutboundResponse(200))
