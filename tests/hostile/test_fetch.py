"""A program that replaces or deletes all it can reach fetches as before, and the runtime asks none of its hooks."""

from __future__ import annotations

import pytest

from tooltoolexec import Executor, Limits
from tooltoolexec.outbound import OutboundRequest, OutboundResponse

from .attacks import STORE, answer_one, program
from .test_tampering import TAMPERINGS

pytestmark = pytest.mark.anyio

FETCHES = """
const none = { __proto__: null };
const response = await call(request, undefined, ["http://api.example.com/", {
  __proto__: null, method: "POST", body: "sent", headers: { __proto__: null, "x-mark": "1" },
}]);
const text = await call(textOf, response, []);
return [call(statusOf, response, []), text, heard.count];
"""
KEPT = """
const call = Reflect.apply;
const request = fetch;
const textOf = Response.prototype.text;
const statusOf = Object.getOwnPropertyDescriptor(Response.prototype, "status").get;
"""


@pytest.mark.parametrize("tampering", TAMPERINGS)
async def test_a_fetch_is_answered_and_no_hook_is_asked(executor: Executor, tampering: str) -> None:
    seen: list[OutboundRequest] = []

    async def outbound(request: OutboundRequest) -> OutboundResponse:
        seen.append(request)
        return OutboundResponse(201, [("content-type", "text/plain")], b"answered")

    code = f"async () => {{ {program('prepare')} {KEPT} {TAMPERINGS[tampering]} {FETCHES} }}"
    run = await executor.execute(code, STORE, dispatch=answer_one, outbound=outbound, limits=Limits(memory_mb=256))
    assert run.result == [201, "answered", 0], run.failure
    request = seen[-1]  # The walk over all there is fetches too.
    assert (request.method, request.body) == ("POST", b"sent")
    assert dict(request.headers)["x-mark"] == "1"
