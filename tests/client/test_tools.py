"""Which function answers a call, with which arguments, and what of it the program reads."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.from_thread
import pytest

from tooltoolexec import Provider, Run, Tool, ToolError, ToolNotFoundError, connect
from tooltoolexec import dispatch as dispatching
from tooltoolexec.dispatch import fitted
from tooltoolexec_protocol import limits, texts

from .daemon import FakeDaemon, Peer

pytestmark = pytest.mark.anyio

user: ContextVar[str] = ContextVar("user", default="nobody")


async def call(
    daemon: FakeDaemon, tool: str, args_json: str = "[]", *, provider: str = "store", **options: Any
) -> dict[str, Any]:
    """The envelope that one call is answered with."""
    answers: list[str] = []

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        answers.append(peer.ask(provider, tool, args_json))
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("code", **options)
    envelope = json.loads(answers[0])
    assert isinstance(envelope, dict) or answers == ["null"]
    return envelope or {}


def store(*tools: Any, **options: Any) -> list[Provider]:
    return [Provider("store", tools, **options)]


async def test_positional_arguments_spread_and_bytes_are_rebuilt(daemon: FakeDaemon) -> None:
    async def find(*args: Any) -> Any:
        return {"got": list(args), "raw": b"\1\2\3"}

    tagged = {"__executor_binary_v1__": "Uint8Array", "data": "AQID"}
    answer = await call(daemon, "find", json.dumps(["ada", 7, tagged]), providers=store(find))
    assert answer == {"result": {"got": ["ada", 7, tagged], "raw": tagged}}


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("{}", [[], {}]),
        ('{"id":7,"odd name":1}', [[], {"id": 7, "odd name": 1}]),
        ("[1,2]", [[[1, 2]], {}]),
        ("7", [[7], {}]),
        ('"x"', [["x"], {}]),
        ("null", [[None], {}]),
    ],
)
async def test_without_positional_args_the_payload_is_keywords_or_one_argument(
    daemon: FakeDaemon, payload: str, expected: Any
) -> None:
    def find(*args: Any, **kwargs: Any) -> Any:
        return [list(args), kwargs]

    assert await call(daemon, "find", payload, providers=store(find, positional_args=False)) == {"result": expected}


@pytest.mark.parametrize(
    ("args_json", "options", "text"),
    [
        ("[]", {}, "find_user: missing a required argument: 'id'"),
        ("[1,2]", {}, "find_user: too many positional arguments"),
        ('{"nope":1}', {"positional_args": False}, "find_user: missing a required argument: 'id'"),
        ('{"id":1,"nope":1}', {"positional_args": False}, "find_user: got an unexpected keyword argument 'nope'"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_and_the_function_is_not_entered(
    daemon: FakeDaemon, args_json: str, options: Any, text: str
) -> None:
    async def find_user(id: int) -> None:  # noqa: A002 - a tool's parameter as users name it.
        raise AssertionError

    assert await call(daemon, "find_user", args_json, providers=store(find_user, **options)) == {"error": text}


async def test_a_payload_that_is_no_json_is_told(daemon: FakeDaemon) -> None:
    answer = await call(daemon, "find", "not json", providers=store(Tool(lambda: 1, "find")))
    assert answer["error"].startswith("The text is no JSON")


async def test_a_tool_is_reached_by_its_declared_name_whatever_it_is(daemon: FakeDaemon) -> None:
    tool = Tool(functools.partial(str, 5), name="github.list-issues ☂")
    assert await call(daemon, "github.list-issues ☂", providers=store(tool)) == {"result": "5"}


@pytest.mark.parametrize(("provider", "tool"), [("store", "nope"), ("secrets", "find"), ("store", "declared")])
async def test_an_unknown_tool_is_not_found(daemon: FakeDaemon, provider: str, tool: str) -> None:
    providers = store("declared", Tool(lambda: 1, "find"))
    answer = await call(daemon, tool, provider=provider, providers=providers)
    assert answer == {"error": str(ToolNotFoundError(tool))}


class SecretError(Exception):
    code = "E42"


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    ("error", "exposed", "expected"),
    [
        (ToolError("no such user", code="missing"), False, {"error": "no such user", "code": "missing"}),
        (SecretError("postgres://password"), False, {"error": "find failed (internal error)"}),
        (SecretError("shown"), True, {"error": "shown", "code": "E42"}),
        (ValueError(), True, {"error": "ValueError"}),
        (SystemExit(3), False, {"error": "find failed (internal error)"}),
        (StopIteration(), False, {"error": "find failed (internal error)"}),
    ],
    ids=str,
)
async def test_what_a_program_reads_of_an_exception(
    daemon: FakeDaemon, error: BaseException, exposed: bool, expected: Any, is_async: bool
) -> None:
    def plain() -> None:
        raise error

    async def slow() -> None:
        raise error

    tool = Tool(slow if is_async else plain, "find")
    assert await call(daemon, "find", providers=store(tool, expose_errors=exposed)) == expected


async def test_a_result_that_cannot_cross_is_told_in_the_codecs_own_words(daemon: FakeDaemon) -> None:
    answer = await call(daemon, "big", providers=store(Tool(lambda: 2**60, "big")))
    assert answer == {"error": texts.integer_out_of_range(2**60)}


async def test_a_plain_function_that_returns_an_awaitable_is_awaited_on_the_loop(daemon: FakeDaemon) -> None:
    main = threading.get_ident()

    async def inner() -> bool:
        await anyio.lowlevel.checkpoint()
        return threading.get_ident() == main

    def outer() -> Awaitable[bool]:
        return inner()

    assert await call(daemon, "t", providers=store(Tool(outer, "t"))) == {"result": True}


@pytest.mark.parametrize("is_async", [True, False])
async def test_context_variables_of_the_caller_are_visible_in_a_tool(daemon: FakeDaemon, is_async: bool) -> None:
    def plain() -> str:
        found = user.get()
        user.set("changed")
        return found

    async def slow() -> str:
        await anyio.lowlevel.checkpoint()
        return plain()

    user.set("ada")
    assert await call(daemon, "t", providers=store(Tool(slow if is_async else plain, "t"))) == {"result": "ada"}
    assert user.get() == "ada"


async def test_plain_functions_run_in_threads_bounded_by_the_executor(daemon: FakeDaemon) -> None:
    running, most = 0, 0
    lock = threading.Lock()
    full = threading.Barrier(3)

    def tool() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(10)
        with lock:
            running -= 1
        return threading.get_ident()

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call(*[(n, "store", "tool", "[]") for n in range(9)])
        peer.done(len(peer.answers(9)))

    async with connect(daemon.address, threads=3) as executor:
        run = await executor.execute("code", store(tool))
    assert run.result == 9
    assert most == 3


@pytest.mark.parametrize("answer", [None, 5, b"{}", {"result": 1}], ids=repr)
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_dispatch_that_returns_no_text_answers_outside_the_envelope(
    daemon: FakeDaemon, answer: Any, is_async: bool
) -> None:
    def plain(provider: str, tool: str, args_json: str) -> Any:
        return answer

    async def slow(provider: str, tool: str, args_json: str) -> Any:
        return answer

    assert await call(daemon, "t", dispatch=slow if is_async else plain) == {}


@pytest.mark.parametrize(("error", "text"), [(KeyError(), "KeyError"), (ValueError("as is"), "as is")], ids=str)
async def test_a_dispatch_that_raises_answers_with_the_exceptions_message(
    daemon: FakeDaemon, error: Exception, text: str
) -> None:
    def dispatch(provider: str, tool: str, args_json: str) -> str:
        raise error

    assert await call(daemon, "t", dispatch=dispatch) == {"error": text}


@pytest.mark.parametrize("text", ["x", "é"])
async def test_an_answer_over_the_bound_becomes_an_error(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(limits, "ANSWER_BYTES", 1000)

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        return json.dumps({"result": text * 1000}, ensure_ascii=False)

    size = len((await dispatch("", "", "")).encode())
    assert await call(daemon, "t", dispatch=dispatch) == {"error": texts.answer_too_large(size, 1000)}


def test_an_answer_whose_escapes_overflow_a_frame_becomes_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER_BYTES", 1000)
    monkeypatch.setattr(dispatching, "_ESCAPED_BYTES", 2000)
    assert fitted("x" * 1000) == "x" * 1000
    assert json.loads(fitted("\1" * 1000)) == {"error": texts.answer_too_large(1000, 1000)}


async def test_dispatch_beside_functions_is_a_type_error_and_beside_names_is_not(daemon: FakeDaemon) -> None:
    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        return '{"result":1}'

    assert await call(daemon, "t", dispatch=dispatch, providers=store("t")) == {"result": 1}
    async with connect(daemon.address) as executor:
        with pytest.raises(TypeError, match="one side must own the routing"):
            await executor.execute("1", store(Tool(len)), dispatch=dispatch)


async def test_a_provider_crosses_as_declared_whatever_its_name(daemon: FakeDaemon) -> None:
    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.done()

    providers: list[Provider | dict[str, Any]] = [
        Provider("my-store", ["a", Tool(len)], prelude="p", proxy_source="q", positional_args=False),
        {"name": "class", "tools": ["x"], "positionalArgs": False, "prelude": "p", "proxySource": None},
    ]
    async with connect(daemon.address) as executor:
        await executor.execute("1", providers)
    specs = daemon.peers[0].request.providers
    assert [(s.name, s.tools, s.positional_args, s.prelude, s.proxy_source) for s in specs] == [
        ("my-store", ["a", "len"], False, "p", "q"),
        ("class", ["x"], False, "p", None),
    ]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Provider(5), TypeError),  # type: ignore[arg-type]
        (lambda: Provider("a", tools=[5]), TypeError),  # type: ignore[list-item]
        (lambda: Provider("a", tools={"a": len}), TypeError),
        (lambda: Provider("a", positional_args=1), TypeError),  # type: ignore[arg-type]
        (lambda: Provider("a", tools=[len, len]), ValueError),
        (lambda: Tool(lambda: 1), ValueError),
        (lambda: Tool(functools.partial(len)), ValueError),
        (lambda: Tool(len, name=5), TypeError),  # type: ignore[arg-type]
        (lambda: Tool(5), TypeError),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_declaration_is_told_where_it_is_written(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


class Unawaited:
    """A run whose program makes calls and returns at once."""

    def __init__(self, daemon: FakeDaemon, calls: Sequence[str]) -> None:
        @daemon.script
        def script(peer: Peer) -> None:
            peer.start()
            peer.call(*[(n, "store", name, "[]") for n, name in enumerate(calls)])
            peer.done("returned early")


async def test_an_unawaited_call_has_started_before_execute_returns_and_goes_on_after_it(daemon: FakeDaemon) -> None:
    started: list[str] = []
    release, finished = anyio.Event(), anyio.Event()

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        started.append(tool)
        await release.wait()
        if tool == "d":
            finished.set()
        return "{}"

    Unawaited(daemon, "abcd")
    async with connect(daemon.address) as executor:
        run = await executor.execute("1", dispatch=dispatch)
        assert started == ["a", "b", "c", "d"]
        assert run.result == "returned early"
        release.set()
        with anyio.fail_after(5):
            await finished.wait()


async def test_an_unawaited_plain_function_has_been_admitted_and_closing_does_not_wait_for_it(
    daemon: FakeDaemon,
) -> None:
    entered, release = threading.Event(), threading.Event()

    def a() -> None:
        entered.set()
        release.wait(20)

    Unawaited(daemon, "a")
    try:
        with anyio.fail_after(10):
            async with connect(daemon.address) as executor:
                await executor.execute("1", store(a))
                assert await anyio.to_thread.run_sync(entered.wait, 5)
    finally:
        release.set()


async def test_leaving_the_executor_cancels_what_still_runs(daemon: FakeDaemon) -> None:
    cancelled = []

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append(tool)
            raise
        return "{}"

    Unawaited(daemon, "ab")
    async with connect(daemon.address) as executor:
        await executor.execute("1", dispatch=dispatch)
        assert cancelled == []
    assert sorted(cancelled) == ["a", "b"]


async def test_a_failing_responder_breaks_neither_its_run_nor_the_executor(daemon: FakeDaemon) -> None:
    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        if tool != "first":
            await anyio.lowlevel.checkpoint()
        if tool == "group":
            raise BaseExceptionGroup("many", [SystemExit()])
        raise SystemExit

    answers: dict[int, str] = {}

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call((0, "s", "first", ""), (1, "s", "later", ""), (2, "s", "group", ""))
        answers.update(peer.answers(3))
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("1", dispatch=dispatch)
    assert answers == {
        n: json.dumps({"error": f"{t} failed (internal error)"}, separators=(",", ":"))
        for n, t in enumerate(["first", "later", "group"])
    }


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_is_only_the_tools_own_is_an_answer(daemon: FakeDaemon) -> None:
    async def tool() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel)
        await future

    assert await call(daemon, "tool", providers=store(tool)) == {"error": "tool failed (internal error)"}


async def test_a_timeout_inside_a_tool_ends_that_tool_only(daemon: FakeDaemon) -> None:
    async def slow() -> str:
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()
        return "in time"

    async def nested() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.lowlevel.checkpoint)
            group.start_soon(anyio.sleep, 0.001)
        return "nested"

    answers: dict[int, str] = {}

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call(*[(n, "store", ["slow", "nested"][n % 2], "[]") for n in range(40)])
        answers.update(peer.answers(40))
        peer.done()

    async with connect(daemon.address) as executor:
        await executor.execute("1", store(slow, nested))
    assert answers == {
        n: json.dumps({"result": ["in time", "nested"][n % 2]}, separators=(",", ":")) for n in range(40)
    }


async def test_a_late_answer_is_dropped(daemon: FakeDaemon) -> None:
    release = anyio.Event()
    received: list[object] = []

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        await release.wait()
        return "{}"

    @daemon.script
    def script(peer: Peer) -> None:
        peer.start()
        peer.call((1, "s", "t", "[]"))
        peer.done()
        received.append(peer.sock.recv(100))

    async with connect(daemon.address) as executor:
        run: Run = await executor.execute("1", dispatch=dispatch)
        assert run.ok
        release.set()
        await anyio.wait_all_tasks_blocked()
    daemon.close()
    assert received == [b""]
