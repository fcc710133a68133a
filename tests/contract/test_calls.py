# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""Providers, arguments, the envelope, late calls, undeclared names and the payload bound: sections 2, 3, 5, 6, 7 and 8."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tooltoolexec import ExecutionState, Executor, Limits, Provider, ToolError, create_envelope_dispatch
from tooltoolexec_protocol import texts

from .hosts import Host, answering, echo_call, handlers, identity, kind_of, raw, run, value_of

pytestmark = pytest.mark.anyio

CATCH = (
    "async () => { try { return ['value', await store.f()] } catch (e) { return [e.name, e.message, e.code ?? null] } }"
)


# Section 2.


@pytest.mark.parametrize(
    "tool", ["toString", "constructor", "toJSON", "valueOf", "hasOwnProperty", "__proto__", "catch", "7"]
)
async def test_every_property_is_a_tool_but_then(tool: str, executor: Executor) -> None:
    host = raw('{"result":1}')
    assert await value_of(executor, f"async () => await store[{json.dumps(tool)}]('a')", host) == 1
    assert host.calls == [["store", tool, '["a"]']]


async def test_a_tool_of_the_name_then_is_unreachable(executor: Executor) -> None:
    host = raw('{"result":1}')
    assert await value_of(executor, "async () => typeof store.then", host, providers=[{"name": "store", "tools": ["then"]}]) == "undefined"  # fmt: skip


async def test_a_provider_is_a_const_of_a_strict_scope(executor: Executor) -> None:
    outcome = await run(executor, "async () => { store = 1 }")
    assert (kind_of(outcome), outcome.error) == ("program", "Assignment to constant variable.")


async def test_reading_a_property_calls_nothing_and_gives_an_async_function(executor: Executor) -> None:
    host = raw('{"result":1}')
    code = "async () => { const f = store.f; return [typeof f, Object.getPrototypeOf(f) === (async () => {}).constructor.prototype] }"
    assert await value_of(executor, code, host) == ["function", True]
    assert host.calls == []


async def test_a_written_property_hides_the_tool_until_it_is_deleted(executor: Executor) -> None:
    host = raw('{"result":"tool"}')
    code = "async () => { store.f = () => 'mine'; const a = store.f(); delete store.f; return [a, await store.f()] }"
    assert await value_of(executor, code, host) == ["mine", "tool"]


async def test_a_tool_whose_name_is_no_identifier_is_reached_both_ways_and_dispatched_by_its_name(
    executor: Executor,
) -> None:
    names = ["list-issues", "a.b c", "9lives", "class", "naïve"]
    host = raw('{"result":1}')
    code = "async () => { for (const n of ['list-issues', 'a.b c', '9lives', 'class', 'naïve']) await store[n](); await store.list_issues(); await store.a_b_c(); await store._9lives(); await store.class_(); await store.nave() }"
    await value_of(executor, code, host, providers=[{"name": "store", "tools": names}])
    assert [call[1] for call in host.calls] == names * 2


async def test_two_tools_of_one_identifier_are_refused_by_both_names(executor: Executor) -> None:
    outcome = await run(executor, "1", providers=[{"name": "store", "tools": ["a-b", "a.b"]}])
    assert kind_of(outcome) == "declaration"
    assert '"a-b"' in (outcome.error or "")
    assert '"a.b"' in (outcome.error or "")


async def test_the_proxy_is_an_object_with_nothing_in_it(executor: Executor) -> None:
    code = "async () => [JSON.stringify(Object.getOwnPropertyNames(store)), store instanceof Object, Object.prototype.toString.call(store), `${typeof store[Symbol.toPrimitive]}`]"
    assert await value_of(executor, code, raw("{}")) == ["[]", True, "[object Object]", "undefined"]


# Section 3.


@pytest.mark.parametrize(
    ("arguments", "payload"),
    [
        ("", "{}"),
        ("undefined", "{}"),
        ("null", "{}"),
        ("{ a: 1 }, 2, 3", '{"a":1}'),
        ("[1, 2]", "[1,2]"),
        ("7", "7"),
        ("'x'", '"x"'),
        ("false", "false"),
        ("new Map([['a', 1]])", '{"a":1}'),
    ],
)
async def test_the_object_convention_sends_the_first_argument_alone(
    arguments: str, payload: str, executor: Executor
) -> None:
    host = raw('{"result":1}')
    providers = [{"name": "store", "positionalArgs": False}]
    await value_of(executor, f"async () => store.f({arguments})", host, providers=providers)
    assert host.calls == [["store", "f", payload]]


@pytest.mark.parametrize(
    ("arguments", "payload"),
    [
        ("", "[]"),
        ("undefined", "[null]"),
        ("1, undefined, 2", "[1,null,2]"),
        ("() => 1", "[null]"),
        ("...[1, [2]]", "[1,[2]]"),
    ],
)
async def test_arguments_spread_into_an_array(arguments: str, payload: str, executor: Executor) -> None:
    host = raw('{"result":1}')
    await value_of(executor, f"async () => store.f({arguments})", host)
    assert host.calls == [["store", "f", payload]]


async def test_a_function_under_the_object_convention_gets_keywords_and_an_array_as_one_argument(
    executor: Executor,
) -> None:
    def by_name(*, id: int, deep: dict[str, int]) -> list[Any]:  # noqa: A002 - the program's own word
        return [id, deep]

    def one(items: list[int]) -> int:
        return sum(items)

    providers = [Provider("store", [by_name, one], positional_args=False)]
    code = "async () => [await store.by_name({ id: 7, deep: { a: 1 } }), await store.one([1, 2])]"
    assert (await executor.execute(code, providers)).result == [[7, {"a": 1}], 3]


# Section 5.


@pytest.mark.parametrize(
    ("envelope", "outcome"),
    [
        ('{"result":1}', ["value", 1]),
        ('{"error":"no","result":1}', ["Error", "no", None]),
        ('{"error":""}', ["Error", "", None]),
        ('{"error":false}', ["Error", "false", None]),
        ('{"error":0,"result":1}', ["Error", "0", None]),
        ('{"error":{"a":[1,"b"]}}', ["Error", '{"a":[1,"b"]}', None]),
        ('{"error":null,"result":1}', ["value", 1]),
        ('{"error":"no","code":"denied"}', ["Error", "no", "denied"]),
        ('{"error":"no","code":7}', ["Error", "no", None]),
        ('{"code":"denied","result":1}', ["value", 1]),
        ('{"__proto__":{"error":"inherited"},"result":1}', ["value", 1]),
        ('{"__proto__":{"result":5}}', ["value", None]),
        ('{"error":"a\\u0000\\ud800b"}', ["Error", "a\0\ud800b", None]),
        *[
            (text, ["Error", texts.OUTSIDE_ENVELOPE, None])
            for text in ("7", "true", '"text"', "null", "[]", "", "{", "undefined", '{"result":NaN}', '{"result":1} x')
        ],
    ],
)
async def test_an_envelope_gives_its_value_or_throws(envelope: str, outcome: list[Any], executor: Executor) -> None:
    assert await value_of(executor, CATCH, raw(envelope)) == outcome


async def test_a_dispatch_that_raises_answers_with_its_message_or_its_types_name(executor: Executor) -> None:
    async def raises(_provider: str, _tool: str, args_json: str) -> str:
        raise (KeyError() if args_json == "[]" else LookupError("gone"))

    code = "async () => { const m = []; for (const a of [[], [1]]) try { await store.f(...a) } catch (e) { m.push(e.message) } return m }"
    assert await value_of(executor, code, dispatch=raises) == ["KeyError", "gone"]


async def test_a_plain_dispatch_works_as_an_async_one(executor: Executor) -> None:
    def dispatch(provider: str, tool: str, args_json: str) -> str:
        return json.dumps({"result": [provider, tool, args_json]})

    assert await value_of(executor, "async () => store.f(1)", dispatch=dispatch) == ["store", "f", "[1]"]


async def test_the_error_of_a_responder_crosses_with_its_code(executor: Executor) -> None:
    def refuse() -> None:
        raise ToolError("not you", code="denied")

    assert await value_of(executor, CATCH, answering(refuse)) == ["Error", "not you", "denied"]


async def test_a_closed_state_answers_without_entering_the_responder(executor: Executor) -> None:
    entered: list[str] = []
    state = ExecutionState(active=False)
    dispatch = create_envelope_dispatch(state, lambda *_call: entered.append("entered"))
    assert await value_of(executor, CATCH, dispatch=dispatch) == ["Error", texts.COMPLETED, None]
    assert entered == []


async def test_an_answer_that_is_json_text_stays_text(executor: Executor) -> None:
    assert await value_of(executor, "async () => await store.f()", answering(lambda: '{"a":1}')) == '{"a":1}'


async def test_a_failed_call_rejects_with_the_programs_own_error_class(executor: Executor) -> None:
    code = "async () => { try { await store.f() } catch (e) { return [e instanceof Error, e.constructor === Error, Object.keys(e)] } }"
    assert await value_of(executor, code, raw('{"error":"no"}')) == [True, True, []]


# Section 6.


async def test_an_unawaited_call_has_started_before_execute_returns_and_goes_on_after_it(executor: Executor) -> None:
    started, go_on, ended = [], anyio.Event(), anyio.Event()

    async def tool() -> str:
        started.append(1)
        await go_on.wait()
        ended.set()
        return "late"

    outcome = await run(executor, "async () => { store.f(); return 'early' }", answering(tool))
    assert (outcome.result, started, ended.is_set()) == ("early", [1], False)
    go_on.set()
    with anyio.fail_after(5):
        await ended.wait()
    assert await value_of(executor, "async () => 1") == 1


async def test_every_one_of_300_unawaited_calls_arrives(executor: Executor) -> None:
    for _ in range(5):
        host = raw('{"result":1}')
        code = "async () => { for (let i = 0; i < 300; i++) store.f(i); return 'early' }"
        assert await value_of(executor, code, host) == "early"
        assert [call[2] for call in host.calls] == [f"[{i}]" for i in range(300)]


async def test_calls_leave_while_the_program_still_computes(executor: Executor) -> None:
    host = raw('{"result":1}')
    outcome = await run(executor, "async () => { store.f(1); for (;;); }", host, limits=Limits(wall_s=0.2))
    assert (kind_of(outcome), host.calls) == ("timeout", [["store", "f", "[1]"]])


async def test_an_unhandled_rejection_fails_nothing(executor: Executor) -> None:
    code = (
        "async () => { Promise.reject(new Error('a')); store.f(); await new Promise(r => setTimeout(r, 1)); return 1 }"
    )
    assert await value_of(executor, code, raw('{"error":"b"}')) == 1


async def test_the_isolate_ends_with_its_run(executor: Executor) -> None:
    host = raw('{"result":1}')
    code = "async () => { setTimeout(() => store.f('late'), 1); queueMicrotask(() => {}); return 1 }"
    assert await value_of(executor, code, host) == 1
    assert await value_of(executor, "async () => 2") == 2
    assert host.calls == []


async def test_a_call_after_the_settling_reaches_no_dispatch(executor: Executor) -> None:
    host = raw('{"result":1}')
    code = "async () => { const value = { get x() { return 1 }, toJSON() { Promise.resolve().then(() => store.f('late')); return 1 } }; return value }"
    assert await value_of(executor, code, host) == 1
    assert host.calls == []


async def test_fifty_parallel_calls_keep_order_and_identity(executor: Executor) -> None:
    code = "async () => Promise.all(Array.from({ length: 50 }, (_, i) => store.f(i)))"
    host = handlers({"store.f": {"first": True}})
    assert await value_of(executor, code, host) == list(range(50))
    assert [json.loads(call[2]) for call in host.calls] == [[i] for i in range(50)]


async def test_one_slow_tool_does_not_hold_back_the_others(executor: Executor) -> None:
    last_is_done = anyio.Event()

    async def tool(number: int) -> int:
        if number == 0:
            await last_is_done.wait()
        if number == 20:
            last_is_done.set()
        return number

    code = "async () => Promise.all(Array.from({ length: 21 }, (_, i) => store.f(i)))"
    assert await value_of(executor, code, answering(tool)) == list(range(21))


# Section 7.


async def test_any_tool_of_any_provider_reaches_dispatch(executor: Executor) -> None:
    host = echo_call()
    code = "async () => [await store.undeclared(1), JSON.parse(await __dispatch('secrets', 're\\ud800ad\\0', 'no json \\udfff'))]"
    assert await value_of(executor, code, host) == [
        {"provider": "store", "tool": "undeclared", "argsJson": "[1]"},
        {"result": {"provider": "secrets", "tool": "re\ud800ad\0", "argsJson": "no json \udfff"}},
    ]
    assert host.calls[1] == ["secrets", "re\ud800ad\0", "no json \udfff"]


async def test_dispatch_resolves_with_the_raw_envelope(executor: Executor) -> None:
    assert await value_of(executor, "async () => __dispatch('a', 'b', 'c')", raw('not {"json"')) == 'not {"json"'


async def test_without_a_dispatch_every_call_is_not_found(executor: Executor) -> None:
    code = "async () => { try { await store.f() } catch (e) { return [e.message, await __dispatch('s', 'g', '[]')] } }"
    outcome = await run(executor, code)
    assert outcome.result == ['Tool "f" not found', '{"error":"Tool \\"g\\" not found"}']
    assert outcome.stats.calls == 0


async def test_a_declared_tool_without_a_function_is_not_found(executor: Executor) -> None:
    def here() -> int:
        return 1

    code = "async () => { try { await store.there() } catch (e) { return [await store.here(), e.message] } }"
    outcome = await executor.execute(code, [Provider("store", [here, "there"])])
    assert outcome.result == [1, 'Tool "there" not found']


# Section 8.


def size_of(*texts_: str) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts_)


@pytest.mark.parametrize("filler", ["x", "é", "\u20ac", "\U0001f600", "\ud800"])
@pytest.mark.parametrize("is_raw", [False, True])
async def test_a_call_is_measured_to_the_byte(filler: str, is_raw: bool, executor: Executor) -> None:
    text = filler * 100
    args = text if is_raw else json.dumps([text], ensure_ascii=filler == "\ud800", separators=(",", ":"))
    size = size_of("store", "f", args)
    literal = json.dumps(text)
    call = f"__dispatch('store', 'f', {literal})" if is_raw else f"store.f({literal})"
    code = f"async () => {{ try {{ await {call}; return 'sent' }} catch (e) {{ return e.message }} }}"
    fits, over = raw('{"result":1}'), raw('{"result":1}')
    assert await value_of(executor, code, fits, limits=Limits(payload_bytes=size)) == "sent"
    outcome = await run(executor, code, over, limits=Limits(payload_bytes=size - 1))
    assert outcome.result == f"The payload of {size} bytes is over the limit of {size - 1} bytes."
    assert (len(fits.calls), over.calls, outcome.stats.calls) == (1, [], 0)


@pytest.mark.parametrize("filler", ["x", "é", "\u20ac", "\U0001f600"])
async def test_a_result_is_measured_to_the_byte(filler: str, executor: Executor) -> None:
    size = size_of(f'"{filler * 50}"')
    code = f"async () => '{filler * 50}'"
    assert await value_of(executor, code, limits=Limits(payload_bytes=size)) == filler * 50
    outcome = await run(executor, code, limits=Limits(payload_bytes=size - 1))
    assert (kind_of(outcome), outcome.error) == ("payload", f"The payload of {size} bytes is over the limit of {size - 1} bytes.")  # fmt: skip


async def test_an_answer_is_not_measured_against_the_payload_bound(executor: Executor) -> None:
    code = "async () => (await store.f()).length"
    assert await value_of(executor, code, answering(lambda: "x" * 5000), limits=Limits(payload_bytes=100)) == 5000


async def test_a_refused_payload_does_not_use_up_the_calls(executor: Executor) -> None:
    code = "async () => { for (let i = 0; i < 9; i++) await store.f('x'.repeat(200)).catch(() => {}); return await store.f(1) }"
    assert await value_of(executor, code, identity(), limits=Limits(payload_bytes=100, calls=1)) == 1


async def test_arguments_near_the_bound_cross(executor: Executor) -> None:
    host = Host(lambda _provider, _tool, args: json.dumps({"result": len(args)}))
    code = "async () => store.f('\\u{1F600}'.repeat(1_000_000))"
    assert await value_of(executor, code, host) == 1_000_004
