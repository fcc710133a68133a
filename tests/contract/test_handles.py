"""Functions that a program retains: called by the host while it runs and after it, until they are released."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from tooltoolexec import CodecError, Executor, Handle, HandleError, HandleReleased, Limits, Provider, Run
from tooltoolexec_protocol import texts

from .hosts import Host, raw

pytestmark = pytest.mark.anyio

KEY = "__executor_handle_v1__"


async def kept(executor: Executor, code: str, **options: Any) -> Run:
    """A run that worked and is retained."""
    run = await executor.execute(code, options.pop("providers", ()), retain_handles=True, **options)
    assert run.failure is None, run.failure
    assert run.retained is not None
    return run


@asynccontextmanager
async def retained(executor: Executor, function: str, **options: Any) -> AsyncIterator[Handle]:
    """The handle of one function."""
    run = await kept(executor, f"async () => __retainHandle({function})", **options)
    assert run.retained is not None
    async with run.retained:
        yield run.result


def provider(*tools: Callable[..., Any]) -> Provider:
    return Provider("store", tools=tools, expose_errors=True)


# What a program gets.


async def test_without_the_option_it_throws_and_a_token_stays_a_dict(executor: Executor) -> None:
    run = await executor.execute("async () => __retainHandle(() => 1)")
    assert run.error == "Handles are not retained in this execution."
    run = await executor.execute(f"async () => ({{ {KEY}: '1' }})")
    assert run.result == {KEY: "1"}
    assert run.retained is None


async def test_a_token_is_a_frozen_plain_object_and_a_function_has_one(executor: Executor) -> None:
    code = f"""async () => {{
      const f = () => 1;
      const [one, two, other] = [__retainHandle(f), __retainHandle(f), __retainHandle(() => 2)];
      return [one === two, one === other, Object.isFrozen(one), JSON.stringify(one), one.{KEY} === other.{KEY}];
    }}"""
    run = await kept(executor, code)
    assert run.result == [True, False, True, f'{{"{KEY}":"1"}}', False]
    assert run.retained is not None
    await run.retained.aclose()


@pytest.mark.parametrize("value", ["undefined", "{}", "'f'", "store"])
async def test_only_functions_can_be_retained(executor: Executor, value: str) -> None:
    code = f"async () => __retainHandle({value})"
    run = await executor.execute(code, [Provider("store")], retain_handles=True)
    assert run.failure is not None
    assert (run.failure.name, run.error) == ("TypeError", "__retainHandle takes a function.")
    assert run.retained is None


async def test_a_run_retains_at_most_a_thousand_functions(executor: Executor) -> None:
    code = """async () => {
      for (let i = 0; i < 1000; i++) __retainHandle(() => i);
      try { __retainHandle(() => 0) } catch (error) { return [error.message, __retainHandle(Math.max)] }
    }"""
    run = await executor.execute(code, retain_handles=True)
    assert run.error == "A run retains at most 1000 functions."
    code = code.replace(", __retainHandle(Math.max)", "")
    run = await kept(executor, code)
    assert run.result == ["A run retains at most 1000 functions."]
    assert run.retained is not None
    await run.retained.aclose()


# After the run.


async def test_it_is_called_after_the_run(executor: Executor) -> None:
    async with retained(executor, "(a, b) => ({ sum: a + b, more: [a, b] })") as handle:
        assert await handle(1, 2) == {"sum": 3, "more": [1, 2]}
        assert await handle("a", "b") == {"sum": "ab", "more": ["a", "b"]}


async def test_handles_stand_anywhere_in_a_result(executor: Executor) -> None:
    code = f"""async () => {{
      const one = __retainHandle(() => 1);
      return {{ list: [one, {{ deep: __retainHandle(() => 2) }}], no: {{ {KEY}: 1 }}, nor: {{ ...one, x: 1 }} }};
    }}"""
    run = await kept(executor, code)
    assert run.retained is not None
    async with run.retained:
        assert await run.result["list"][0]() == 1
        assert await run.result["list"][1]["deep"]() == 2
    assert run.result["no"] == {KEY: 1}
    assert run.result["nor"] == {KEY: "1", "x": 1}


async def test_bytes_cross_both_ways(executor: Executor) -> None:
    async with retained(
        executor, "(bytes) => ({ back: bytes.map((b) => b + 1), is: bytes instanceof Uint8Array })"
    ) as f:
        assert await f(b"abc") == {"back": b"bcd", "is": True}


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("async () => { await null; return 7 }", 7),
        ("() => Promise.resolve([1])", [1]),
        ("() => ({ then: (go) => go('thenable') })", "thenable"),
        ("() => undefined", None),
        ("() => new Map([['a', new Set([1])]])", {"a": [1]}),
        ("() => '\\ud800\\0'", "\ud800\0"),
        ("(...all) => all.length", 0),
        ("function () { return this === undefined }", True),
    ],
)
async def test_its_value_is_awaited_and_crosses_like_a_result(executor: Executor, function: str, value: Any) -> None:
    async with retained(executor, function) as handle:
        assert await handle() == value


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("() => { throw new RangeError('boom') }", "boom"),
        ("async () => { await null; throw 'late' }", "late"),
        ("() => { throw { code: 7 } }", '{"code":7}'),
        ("() => () => 1", texts.FUNCTION_RETURNED),
        ("() => Symbol()", texts.FUNCTION_RETURNED),
        ("() => 1n", "Do not know how to serialize a BigInt"),
        ("() => [Promise.resolve(1)]", "[0] is a promise. Await it before you pass it on or return it."),
        ("() => { const a = []; a.push(a); return a }", "Converting circular structure to JSON"),
        ("() => { (function f() { f() })() }", "Maximum call stack size exceeded"),
    ],
)
async def test_what_it_throws_or_cannot_give_is_an_error_and_it_lives_on(
    executor: Executor, function: str, message: str
) -> None:
    async with retained(executor, f"(ok) => ok ?? ({function})()") as handle:
        with pytest.raises(HandleError) as raised:
            await handle()
        assert str(raised.value).startswith(message)
        assert await handle("fine") == "fine"


async def test_large_arguments_and_values_cross(executor: Executor) -> None:
    text = "aé€😀" * 100_000
    async with retained(executor, "(text, n) => [text.length, text.slice(0, n)]") as handle:
        assert await handle(text, 10) == [500_000, "aé€😀aé€😀"]
        assert await handle(text, 500_000) == [500_000, text]


async def test_its_value_is_held_to_the_payload_bound(executor: Executor) -> None:
    async with retained(executor, "(n) => 'x'.repeat(n)", limits=Limits(payload_bytes=100)) as handle:
        assert await handle(98) == "x" * 98
        with pytest.raises(HandleError, match=r"^The payload of 101 bytes is over the limit of 100 bytes\.$"):
            await handle(99)


async def test_an_argument_that_cannot_cross_sends_nothing(executor: Executor) -> None:
    code = "async () => { let n = 0; return __retainHandle(() => ++n) }"
    run = await kept(executor, code)
    assert run.retained is not None
    async with run.retained:
        for value in (2**60, object(), run.result):  # A handle goes back as little as any other function.
            with pytest.raises(CodecError):
                await run.result(value)
        assert await run.result() == 1


async def test_calls_at_once_end_in_any_order(executor: Executor) -> None:
    code = """async () => {
      const open = [];
      return __retainHandle((name) => new Promise((resolve) => {
        open.push(() => resolve(name));
        if (open.length === 3) while (open.length > 0) open.pop()();
      }));
    }"""
    run = await kept(executor, code)
    assert run.retained is not None
    ends: list[str] = []

    async def call(name: str) -> None:
        assert await run.result(name) == name
        ends.append(name)

    async with run.retained, anyio.create_task_group() as group:
        for name in ("a", "b", "c"):
            group.start_soon(call, name)
    assert sorted(ends) == ["a", "b", "c"]


async def test_a_caller_that_is_cancelled_forgets_the_answer(executor: Executor) -> None:
    code = """async () => {
      let release;
      return [__retainHandle(() => new Promise((resolve) => { release = resolve })), __retainHandle(() => release(1))];
    }"""
    run = await kept(executor, code)
    waits, release = run.result
    assert run.retained is not None
    async with run.retained:
        async with anyio.create_task_group() as group:
            group.start_soon(waits)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert await release() is None


async def test_a_function_may_retain_another_one(executor: Executor) -> None:
    async with retained(executor, "(n) => ({ next: __retainHandle((m) => n * m) })") as handle:
        inner = (await handle(6))["next"]
        assert await inner(7) == 42


async def test_an_overlong_call_is_an_error_where_the_function_waits(executor: Executor) -> None:
    function = "(wait) => wait ? new Promise(() => {}) : 'here'"
    async with retained(executor, function, limits=Limits(wall_s=0.2)) as handle:
        with pytest.raises(HandleError, match=r"^The function did not return within 200 ms\.$"):
            await handle(True)
        assert await handle(False) == "here"


async def test_an_overlong_call_ends_the_isolate_where_the_function_computes(executor: Executor) -> None:
    async with retained(executor, "() => { for (;;); }", limits=Limits(wall_s=0.2)) as handle:
        with pytest.raises(HandleReleased, match=r"^The handle was released: Execution timed out after 200 ms\.$"):
            await handle()


async def test_console_lines_still_leave(executor: Executor) -> None:
    lines: list[tuple[str, str]] = []
    function = "() => { console.log('one'); console.warn('two') }"
    async with retained(executor, function, on_log=lambda level, text: lines.append((level, text))) as handle:
        await handle()
        assert lines == [("log", "one"), ("warn", "[warn] two")]


# Tools and timers after the run.


async def test_a_tool_call_of_a_timer_finds_the_execution_completed(executor: Executor) -> None:
    host = raw('{"result":1}')
    told = anyio.Event()
    lines: list[str] = []

    def on_log(_level: str, text: str) -> None:
        lines.append(text)
        told.set()

    code = """async () => {
      setTimeout(async () => { try { await store.f() } catch (error) { console.log(error.message) } }, 20);
      return __retainHandle(() => store.f());
    }"""
    run = await kept(executor, code, providers=[Provider("store")], dispatch=host.dispatch, on_log=on_log)
    assert run.retained is not None
    async with run.retained:
        await told.wait()
        with pytest.raises(HandleError, match=r"^Execution has already completed\.$"):
            await run.result()
    assert lines == ["Execution has already completed."]
    assert host.calls == []


async def test_the_answer_of_an_earlier_call_is_delivered_after_the_run(executor: Executor) -> None:
    gate = anyio.Event()

    async def slow() -> str:
        await gate.wait()
        return "late"

    code = """async () => {
      const call = store.slow();
      return __retainHandle(async () => await call);
    }"""
    run = await kept(executor, code, providers=[provider(slow)])
    assert run.retained is not None
    async with run.retained:
        gate.set()
        assert await run.result() == "late"


# During the run.


async def test_a_tool_calls_its_argument_while_the_program_runs(executor: Executor) -> None:
    async def each(items: list[int], visit: Handle) -> list[int]:
        return [await visit(item) for item in items]

    code = "async () => await store.each([1, 2, 3], __retainHandle((n) => n * n))"
    run = await kept(executor, code, providers=[provider(each)])
    assert run.result == [1, 4, 9]
    assert run.retained is not None
    await run.retained.aclose()


async def test_a_plain_tool_gets_a_handle_that_blocks(executor: Executor) -> None:
    def twice(options: dict[str, Any]) -> Any:
        once = options["visit"](1)
        return [once, options["visit"](once)]

    code = "async () => await store.twice({ visit: __retainHandle(async (n) => n + 1) })"
    run = await kept(executor, code, providers=[provider(twice)])
    assert run.result == [2, 3]
    assert run.retained is not None
    await run.retained.aclose()


async def test_a_payload_object_brings_handles_too(executor: Executor) -> None:
    async def subscribe(*, on_event: Handle) -> Any:
        return await on_event("e")

    tools = Provider("store", tools=[subscribe], positional_args=False)
    run = await kept(
        executor, "async () => await store.subscribe({ on_event: __retainHandle((e) => e + '!') })", providers=[tools]
    )
    assert run.result == "e!"
    assert run.retained is not None
    await run.retained.aclose()


async def test_a_function_calls_tools_while_a_tool_calls_it(executor: Executor) -> None:
    """Also twice at once."""

    async def walk(visit: Handle) -> list[Any]:
        found: list[Any] = []

        async def one(name: str) -> None:
            found.append(await visit(name))

        async with anyio.create_task_group() as group:
            group.start_soon(one, "a")
            group.start_soon(one, "b")
        return sorted(found)

    def upper(text: str) -> str:
        return text.upper()

    code = "async () => await store.walk(__retainHandle(async (name) => name + await store.upper(name)))"
    run = await kept(executor, code, providers=[provider(walk, upper)])
    assert run.result == ["aA", "bB"]
    assert run.retained is not None
    await run.retained.aclose()


async def test_what_a_function_throws_reaches_the_program_through_the_tool(executor: Executor) -> None:
    async def call(function: Handle) -> Any:
        return await function()

    code = """async () => {
      try { await store.call(__retainHandle(() => { throw new Error('mine') })) } catch (error) { return error.message }
    }"""
    run = await kept(executor, code, providers=[Provider("store", tools=[call])])
    assert run.result == "mine"
    assert run.retained is not None
    await run.retained.aclose()


async def test_a_program_that_waits_for_a_handle_to_be_called_is_not_stalled(executor: Executor) -> None:
    """No call, no timer and no request is pending when the host calls."""
    given: list[Handle] = []
    code = """async () => {
      let go;
      const gone = new Promise((resolve) => { go = resolve });
      await store.give(__retainHandle((value) => go(value)));
      console.log('waiting');
      return await gone;
    }"""

    async def give(handle: Handle) -> None:
        given.append(handle)

    async def on_log(_level: str, _text: str) -> None:
        await given[0]("called")

    run = await kept(executor, code, providers=[provider(give)], on_log=on_log)
    assert run.result == "called"
    assert run.retained is not None
    await run.retained.aclose()


async def test_a_raw_dispatch_makes_a_handle_of_the_tokens_id(executor: Executor) -> None:
    ids: list[str] = []

    def answer(_provider: str, _tool: str, args: str) -> str:
        ids.append(json.loads(args)[0][KEY])
        return '{"result":null}'

    code = "async () => { await store.give(__retainHandle(() => 'by id')) }"
    run = await kept(executor, code, providers=[Provider("store")], dispatch=Host(answer).dispatch)
    assert run.retained is not None
    async with run.retained as isolate:
        assert await isolate.handle(ids[0])() == "by id"
        with pytest.raises(HandleError, match=r"^The run has no retained function 99\.$"):
            await isolate.handle("99")()


# Release.


async def test_closing_ends_it_for_all_who_wait_and_all_who_come(executor: Executor) -> None:
    run = await kept(executor, "async () => __retainHandle(() => new Promise(() => {}))")
    assert run.retained is not None
    assert not run.retained.closed
    reasons: list[str] = []

    async def call() -> None:
        try:
            await run.result()
        except HandleReleased as error:
            reasons.append(str(error))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        await run.retained.aclose()
    assert run.retained.closed
    await call()
    assert reasons == ["The handle was released: it was closed"] * 2
    await run.retained.aclose()  # Once more does nothing.


async def test_a_function_that_computes_is_ended_by_closing(executor: Executor) -> None:
    told = anyio.Event()
    run = await kept(
        executor,
        "async () => __retainHandle(() => { console.log('busy'); for (;;); })",
        on_log=lambda _level, _text: told.set(),
    )
    assert run.retained is not None
    async with anyio.create_task_group() as group:

        async def call() -> None:
            with pytest.raises(HandleReleased):
                await run.result()

        group.start_soon(call)
        await told.wait()
        await run.retained.aclose()


@pytest.mark.parametrize("code", ["throw new Error('no')", "await new Promise(() => {})"])
async def test_a_run_that_fails_retains_nothing(executor: Executor, code: str) -> None:
    handles: list[Handle] = []

    async def give(handle: Handle) -> None:
        handles.append(handle)

    run = await executor.execute(
        f"async () => {{ await store.give(__retainHandle(() => 1)); {code} }}",
        [provider(give)],
        retain_handles=True,
        limits=Limits(wall_s=0.2),
    )
    assert run.failure is not None
    assert run.retained is None
    with pytest.raises(HandleReleased):
        await handles[0]()


# Hostile programs.


async def test_a_program_that_tampers_changes_nothing(executor: Executor) -> None:
    code = """async () => {
      const f = __retainHandle(async (x) => ({ __proto__: null, first: x[0], length: x.length }));
      const boom = __retainHandle(() => { throw new Error('boom') });
      const entries = Reflect.getPrototypeOf(new Map().entries());
      const trap = () => { throw new Error('tampered') };
      const { ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
      const owners = [Promise, String, Number, Map, Object, Function, Array];
      for (let i = 0; i < 7; i++) {
        const proto = owners[i].prototype;
        const keys = ownKeys(proto);
        for (let j = 0; j < keys.length; j++) {
          const { value } = getOwnPropertyDescriptor(proto, keys[j]);
          if (typeof value === 'function' && keys[j] !== 'constructor') {
            defineProperty(proto, keys[j], { __proto__: null, value: trap });
          }
        }
      }
      entries.next = trap;
      defineProperty(Promise.prototype, 'constructor', { __proto__: null, get: trap });
      defineProperty(Object.prototype, 'toJSON', { __proto__: null, get: trap });
      defineProperty(Object.prototype, '0', { __proto__: null, set: trap, get: trap });
      defineProperty(Object.prototype, 'get', { __proto__: null, get: trap });
      JSON.parse = JSON.stringify = Date.now = Reflect.apply = Array.isArray = trap;
      return { __proto__: null, f, boom };
    }"""
    run = await kept(executor, code)
    assert run.retained is not None
    async with run.retained:
        assert await run.result["f"](b"a") == {"first": 97, "length": 1}
        with pytest.raises(HandleError, match=r"^boom$"):
            await run.result["boom"]()
