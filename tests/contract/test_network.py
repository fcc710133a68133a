# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""Requests of programs through the host: section 14."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tooltoolexec import Executor, Limits, Provider, ToolError
from tooltoolexec.outbound import HttpOutbound, OutboundError, OutboundRequest, OutboundResponse
from tooltoolexec_protocol import texts
from webserver import Reply, WebServer

from .hosts import kind_of, run, value_of

pytestmark = pytest.mark.anyio

Handler = Callable[[OutboundRequest], OutboundResponse]


class Host:
    """A handler; `requests` has what it was asked, in order."""

    def __init__(self, answer: Handler | None = None) -> None:
        self.requests: list[OutboundRequest] = []
        self._answer = answer or (lambda _request: OutboundResponse(200))

    async def __call__(self, request: OutboundRequest) -> OutboundResponse:
        self.requests.append(request)
        return self._answer(request)


def echo(request: OutboundRequest) -> OutboundResponse:
    return OutboundResponse(201, [*request.headers, ("x-method", request.method)], request.body)


def caught(statement: str) -> str:
    return f"async () => {{ try {{ {statement}; return 'nothing' }} catch (e) {{ return [e.name, e.message] }} }}"


FETCH = "await fetch('https://a.test/')"


async def test_without_a_handler_the_network_is_closed(executor: Executor) -> None:
    expected = ["TypeError", "Network access is closed for this execution."]
    assert await value_of(executor, caught(FETCH)) == expected
    assert await value_of(executor, caught("await fetch('/no-url')")) == expected


async def test_a_request_reaches_the_handler_as_the_program_made_it(executor: Executor) -> None:
    host = Host()
    code = """async () => {
      await fetch('HTTPS://A.test:443/p/../q?x=ä#part');
      await fetch(new URL('http://b.test:81/'), { method: 'post', headers: { 'X-Two': 'a' }, body: 'é' });
      await fetch(new Request('https://c.test/', { method: 'PUT', body: new Uint8Array([0, 255]) }), { headers: [['b', '1'], ['B', '2']] });
    }"""
    await value_of(executor, code, outbound=host)
    assert host.requests == [
        OutboundRequest("GET", "https://a.test/q?x=%C3%A4"),
        OutboundRequest("POST", "http://b.test:81/", [("x-two", "a"), ("content-type", "text/plain;charset=UTF-8")], "é".encode()),
        OutboundRequest("PUT", "https://c.test/", [("b", "1"), ("b", "2")], b"\0\xff"),
    ]  # fmt: skip


async def test_a_response_is_what_the_handler_gave(executor: Executor) -> None:
    host = Host(lambda _request: OutboundResponse(404, [("X-A", "1"), ("x-a", "2")], '{"é":[1]}', "https://b.test/end"))
    code = "async () => { const r = await fetch('https://a.test/#x'); const c = r.clone(); return [r.status, r.ok, r.statusText, r.headers.get('x-a'), r.url, r.redirected, r.type, await r.text(), await c.json(), r.bodyUsed] }"
    assert await value_of(executor, code, outbound=host) == [
        404, False, "Not Found", "1, 2", "https://b.test/end", True, "basic", '{"é":[1]}', {"é": [1]}, True,
    ]  # fmt: skip


async def test_bytes_cross_both_ways(executor: Executor) -> None:
    body = bytes(range(256)) * 5000
    code = "async () => { const r = await fetch('https://a.test/'); const b = await r.clone().bytes(); const e = await fetch('https://a.test/e', { method: 'POST', body: b }); return [b, new Uint8Array(await e.arrayBuffer())] }"
    host = Host(lambda request: OutboundResponse(200, (), request.body or body))
    assert await value_of(executor, code, outbound=host, limits=Limits(payload_bytes=4_000_000)) == [body, body]


async def test_a_plain_handler_is_called_in_a_thread(executor: Executor) -> None:
    threads: list[int] = []

    def handler(_request: OutboundRequest) -> OutboundResponse:
        threads.append(threading.get_ident())
        return OutboundResponse(200, {"a": "b"}, "text")

    code = "async () => (await fetch('https://a.test/')).text()"
    assert await value_of(executor, code, outbound=handler) == "text"
    assert threads != [threading.get_ident()]


async def test_requests_and_calls_go_at_the_same_time(executor: Executor) -> None:
    arrived = 0
    all_there = anyio.Event()

    async def meet(*_args: Any) -> Any:
        nonlocal arrived
        arrived += 1
        if arrived == 6:
            all_there.set()
        await all_there.wait()
        return OutboundResponse(200, (), "3")

    async def wait() -> int:
        await meet()
        return 3

    code = "async () => (await Promise.all([1, 2, 3].flatMap(() => [fetch('https://a.test/').then(r => r.json()), tools.wait()]))).join()"
    assert await value_of(executor, code, providers=[Provider("tools", [wait])], outbound=meet) == "3,3,3,3,3,3"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OutboundError("The host a.test is not allowed."), "The host a.test is not allowed."),
        (ToolError("no"), "no"),
        (ValueError("a secret"), texts.REQUEST_FAILED),
        (BaseExceptionGroup("", [SystemExit()]), texts.REQUEST_FAILED),
    ],
)
async def test_what_a_handler_raises_the_program_reads_only_where_it_is_meant_for_it(
    executor: Executor, error: BaseException, message: str
) -> None:
    def fail(_request: OutboundRequest) -> OutboundResponse:
        raise error

    assert await value_of(executor, caught(FETCH), outbound=Host(fail)) == ["TypeError", message]


async def test_what_is_no_response_is_a_failed_request(executor: Executor) -> None:
    def answer(_request: OutboundRequest) -> Any:
        return {"status": 200}

    assert await value_of(executor, caught(FETCH), outbound=Host(answer)) == ["TypeError", texts.REQUEST_FAILED]


async def test_a_handler_is_a_function_or_none(executor: Executor) -> None:
    with pytest.raises(TypeError, match="outbound is a function, not str"):
        await executor.execute("1", outbound="https://a.test")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("await fetch('/path')", '"/path" is no URL'),
        ("await fetch('ftp://a.test/')", "Only http: and https:"),
        ("await fetch('data:text/plain,x')", "Only http: and https:"),
        ("await fetch('https://me:word@a.test/')", "user name"),
        ("await fetch('https://a.test/', { body: 'x' })", "GET"),
        ("await fetch('https://a.test/', { method: 'TRACE' })", "TRACE"),
        ("await fetch('https://a.test/', { method: 'A B' })", "no HTTP method"),
        ("await fetch('https://a.test/', { method: 'POST', body: { a: 1 } })", "JSON.stringify(object)"),
        ("await fetch('https://a.test/', { headers: { 'a b': 'c' } })", "no header name"),
        ("await fetch('https://a.test/', { headers: { a: 'b\\nc' } })", "no header may have"),
        ("await fetch('https://a.test/', { signal: {} })", "AbortSignal"),
        ("await fetch('https://a.test/', { redirect: 'manual' })", '"follow"'),
    ],
)
async def test_what_cannot_be_asked_is_refused_before_the_handler(
    executor: Executor, statement: str, message: str
) -> None:
    host = Host()
    name, text = await value_of(executor, caught(statement), outbound=host)
    assert name == "TypeError"
    assert message in text
    assert host.requests == []


async def test_a_request_counts_as_a_call(executor: Executor) -> None:
    host = Host()
    code = "async () => { await store.f(); await fetch('https://a.test/'); const o = []; for (const f of [() => store.f(), () => fetch('https://a.test/')]) { try { await f() } catch (e) { o.push([e.name, e.message]) } } return o }"
    outcome = await run(executor, code, outbound=host, dispatch=lambda *_call: "{}", limits=Limits(calls=2))
    text = texts.compose(texts.CALLS, n=2)
    assert outcome.result == [["Error", text], ["TypeError", text]]
    assert (outcome.stats.calls, len(host.requests)) == (2, 1)


async def test_a_request_over_the_payload_bound_is_not_sent(executor: Executor) -> None:
    host = Host()
    code = "async (n) => { const go = (n) => fetch('https://a.test/', { method: 'POST', headers: { 'content-type': 'x' }, body: new Uint8Array(n) }); await go(65); try { await go(66) } catch (e) { return [e.name, e.message] } }"
    # 4 of the method, 15 of the URL, 12 and 1 of the header, 65 of the body; more than 97 is too much.
    found = await value_of(executor, code, outbound=host, limits=Limits(payload_bytes=97))
    assert found == ["TypeError", texts.compose(texts.PAYLOAD, n=98, m=97)]
    assert len(host.requests) == 1


async def test_an_answer_larger_than_answers_may_be_is_told(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tooltoolexec_protocol.limits.ANSWER_BYTES", 1000)
    host = Host(lambda _request: OutboundResponse(200, (), bytes(1000)))
    name, text = await value_of(executor, caught(FETCH), outbound=host)
    assert (name, text.partition(" is over the limit")[1]) == ("TypeError", " is over the limit")


# Signals.


class Stuck:
    """A handler that answers only once it is told to."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.may_go = anyio.Event()

    async def __call__(self, _request: OutboundRequest) -> OutboundResponse:
        self.started.set()
        await self.may_go.wait()
        return OutboundResponse(200)


async def test_a_signal_that_has_aborted_sends_nothing(executor: Executor) -> None:
    host = Host()
    code = "async () => { try { await fetch('https://a.test/', { signal: AbortSignal.abort('why') }) } catch (e) { return e } }"
    assert await value_of(executor, code, outbound=host) == "why"
    assert host.requests == []


async def test_a_signal_ends_the_waiting_at_once_and_the_late_answer_is_dropped(executor: Executor) -> None:
    stuck = Stuck()

    async def wait() -> None:
        await stuck.started.wait()

    async def let_go() -> None:
        stuck.may_go.set()

    code = "async () => { const c = new AbortController(); const p = fetch('https://a.test/', { signal: c.signal }); await tools.wait(); c.abort(); let seen; try { await p } catch (e) { seen = [e.name, e instanceof DOMException] } await tools.let_go(); await tools.let_go(); return seen }"
    assert await value_of(executor, code, providers=[Provider("tools", [wait, let_go])], outbound=stuck) == [
        "AbortError",
        True,
    ]


async def test_a_time_out_signal_ends_the_waiting(executor: Executor) -> None:
    assert (
        await value_of(
            executor, caught("await fetch('https://a.test/', { signal: AbortSignal.timeout(20) })"), outbound=Stuck()
        )
    )[0] == "TimeoutError"


# The end of a run.


async def test_a_run_out_of_time_says_which_requests_it_waited_for(executor: Executor) -> None:
    code = "async () => { await fetch('https://a.test:81/long/path?q') }"
    outcome = await run(executor, code, outbound=Stuck(), limits=Limits(wall_s=0.3))
    assert kind_of(outcome) == "timeout"
    assert outcome.failure is not None
    assert outcome.failure.detail == {"state": "waiting", "calls": [{"provider": "fetch", "tool": "https://a.test:81"}]}


async def test_a_program_that_waits_for_an_aborted_request_alone_is_stalled(executor: Executor) -> None:
    code = "async () => { const c = new AbortController(); fetch('https://a.test/', { signal: c.signal }).catch(() => {}); c.abort(); await new Promise(() => {}) }"
    stuck = Stuck()
    assert kind_of(await run(executor, code, outbound=stuck)) == "stalled"


async def test_a_request_nobody_awaited_is_begun_before_the_run_ends_and_told(executor: Executor) -> None:
    host = Host()
    outcome = await run(executor, "async () => { fetch('https://a.test/'); return 1 }", outbound=host)
    assert (outcome.result, len(host.requests)) == (1, 1)
    assert outcome.warnings == ["fetch was called and never awaited; it had not finished."]
    awaited = await run(executor, f"async () => {{ {FETCH} }}", outbound=host)
    assert awaited.warnings == []
    outcome = await run(executor, "async () => { fetch('https://a.test/'); await new Promise((go) => setTimeout(go)) }")
    assert outcome.warnings == [f"fetch was called and never awaited; it failed: {texts.NETWORK_CLOSED}"]


async def test_a_retained_function_fetches_nothing_after_the_run(executor: Executor) -> None:
    host = Host()
    code = f"async () => __retainHandle({caught(FETCH)})"
    outcome = await run(executor, code, outbound=host, retain_handles=True)
    assert outcome.retained is not None
    async with outcome.retained:
        assert await outcome.result() == ["TypeError", texts.COMPLETED]
    assert host.requests == []


async def test_cancelling_the_caller_cancels_the_handler(executor: Executor) -> None:
    stuck = Stuck()
    cancelled = anyio.Event()

    async def handler(request: OutboundRequest) -> OutboundResponse:
        try:
            return await stuck(request)
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run(executor, f"async () => {{ {FETCH} }}", outbound=handler))
        await stuck.started.wait()
        group.cancel_scope.cancel()
    with anyio.fail_after(10):
        await cancelled.wait()


async def test_a_provider_called_fetch_hides_the_global(executor: Executor) -> None:
    def get(url: str) -> str:
        return "tool: " + url

    code = "async () => [await fetch.get('x'), (await globalThis.fetch('https://a.test/')).status]"
    assert await value_of(executor, code, providers=[Provider("fetch", [get])], outbound=Host()) == ["tool: x", 200]


async def test_the_stock_handler_fetches_from_a_real_server(executor: Executor) -> None:
    routes = {"/data": Reply(b'{"a":1}', headers=[("Content-Type", "application/json")])}
    with WebServer(routes) as server:
        where = server.authority
        handler = HttpOutbound(allow=[where], headers={where: {"X-Key": "a secret key"}}, allow_private=[where])
        code = f"async () => {{ const r = await fetch({json.dumps(server.url)} + '/data', {{ headers: {{ 'X-Key': 'forged' }} }}); return [r.status, r.headers.get('content-type'), await r.json()] }}"
        assert await value_of(executor, code, outbound=handler) == [200, "application/json", {"a": 1}]
        assert server.asked[0].header("x-key") == ["a secret key"]
        expected = ["TypeError", f"The host b.test is not allowed. Allowed: {where}."]
        assert await value_of(executor, caught("await fetch('https://b.test/')"), outbound=handler) == expected
