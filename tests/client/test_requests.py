"""Requests as they come over the wire: who answers them, and what of them reaches a handler."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tooltoolexec import Executor, ExecutorError, connect
from tooltoolexec.outbound import OutboundError, OutboundRequest, OutboundResponse
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import VERSION, Hello, Requests, Welcome

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
