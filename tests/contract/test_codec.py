# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""Values, section 4: what crosses, in which form, in both directions."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from tooltoolexec import Executor, Provider
from tooltoolexec_protocol import texts

from .hosts import answering, identity, kind_of, raw, run, value_of

pytestmark = pytest.mark.anyio

TAG = "__executor_binary_v1__"

# What an expression becomes as a result, and as a call's first argument.
FORMS: dict[str, tuple[str, Any]] = {
    "a_map_with_text_keys_is_an_object": ("new Map([['a', 1], ['b', { c: 2 }]])", {"a": 1, "b": {"c": 2}}),
    "an_empty_map_is_an_object": ("new Map()", {}),
    "a_map_with_another_key_is_an_array_of_pairs": ("new Map([['a', 1], [2, 3]])", [["a", 1], [2, 3]]),
    "a_set_is_an_array": ("new Set([1, 'a', new Set([2])])", [1, "a", [2]]),
    "an_error_is_name_and_message": ("new TypeError('no')", {"name": "TypeError", "message": "no"}),
    "an_error_keeps_its_own_fields": (
        "Object.assign(new Error('no'), { code: 7 })",
        {"name": "Error", "message": "no", "code": 7},
    ),
    "an_error_keeps_its_cause": (
        "new Error('no', { cause: new RangeError('why') })",
        {"name": "Error", "message": "no", "cause": {"name": "RangeError", "message": "why"}},
    ),
    "a_date_is_its_iso_text": ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    "a_date_out_of_range_is_null": ("new Date(NaN)", None),
    "nan_and_infinities_are_null": ("[NaN, Infinity, -Infinity]", [None, None, None]),
    "minus_zero_is_zero": ("-0", 0),
    "undefined_in_an_array_is_null": ("[1, undefined, 2]", [1, None, 2]),
    "functions_in_an_array_are_null": ("[() => 1, Symbol('s')]", [None, None]),
    "an_undefined_field_is_absent": ("({ a: undefined, b: 1 })", {"b": 1}),
    "boxed_values_are_plain": ("[new Number(1), new String('a'), new Boolean(false)]", [1, "a", False]),
    "toJSON_runs_first": ("({ toJSON: () => 'mine' })", "mine"),
    "toJSON_runs_first_on_a_view": ("Object.assign(new Uint8Array([1]), { toJSON: () => 'mine' })", "mine"),
    "toJSON_runs_first_on_a_map": ("Object.assign(new Map(), { toJSON: () => 'mine' })", "mine"),
    "toJSON_runs_first_on_a_set": ("Object.assign(new Set(), { toJSON: () => 'mine' })", "mine"),
    "toJSON_runs_first_on_an_error": ("Object.assign(new Error('x'), { toJSON: () => 'mine' })", "mine"),
    "toJSON_gets_the_key": ("({ field: { toJSON: (key) => key } })", {"field": "field"}),
    "bytes_cross": ("new Uint8Array([0, 1, 255])", b"\x00\x01\xff"),
    "no_bytes_cross": ("new Uint8Array(0)", b""),
    "bytes_cross_inside_a_map": ("new Map([['a', new Uint8Array([1])]])", {"a": b"\1"}),
    "an_array_buffer_crosses": ("new Uint8Array([1, 2]).buffer", b"\1\2"),
    "only_a_views_window_crosses": ("new Uint16Array([1, 2, 3]).subarray(1, 2)", b"\2\0"),
    "a_data_view_crosses": ("new DataView(new Uint8Array([9, 1, 2, 9]).buffer, 1, 2)", b"\1\2"),
    "a_buffer_shape_stays_an_object": ("({ type: 'Buffer', data: [1] })", {"type": "Buffer", "data": [1]}),
    "a_tag_beside_a_third_key_is_an_object": (
        f"({{ {TAG}: 'Uint8Array', data: 'AQID', more: 1 }})",
        {TAG: "Uint8Array", "data": "AQID", "more": 1},
    ),
    "a_tag_with_bad_base64_is_an_object": (
        f"({{ {TAG}: 'Uint8Array', data: 'AQI' }})",
        {TAG: "Uint8Array", "data": "AQI"},
    ),
    "a_tag_with_blanks_in_its_base64_is_an_object": (
        f"({{ {TAG}: 'Uint8Array', data: 'AQ ID' }})",
        {TAG: "Uint8Array", "data": "AQ ID"},
    ),
    "a_tag_of_another_kind_is_an_object": (
        f"({{ {TAG}: 'Int8Array', data: 'AQID' }})",
        {TAG: "Int8Array", "data": "AQID"},
    ),
    "a_lone_surrogate_crosses": ("['\\ud800', '\\udfff', 'a\\ud83d']", ["\ud800", "\udfff", "a\ud83d"]),
    "a_lone_surrogate_key_crosses": ("({ ['\\ud800']: 1 })", {"\ud800": 1}),
    "nul_crosses": ("'a\\0b'", "a\0b"),
    "an_own_proto_key_crosses": ('JSON.parse(\'{"__proto__":{"x":1}}\')', {"__proto__": {"x": 1}}),
    "the_largest_safe_integers_cross": ("[2 ** 53 - 1, -(2 ** 53 - 1)]", [2**53 - 1, -(2**53 - 1)]),
    "a_sparse_array_has_nulls": ("[1, , 3]", [1, None, 3]),
    "a_class_instance_is_its_fields": ("new (class A { x = 1; #y = 2 })()", {"x": 1}),
    "a_null_prototype_object_crosses": ("Object.assign(Object.create(null), { a: 1 })", {"a": 1}),
    "a_proxy_crosses_as_its_target": ("new Proxy({ a: 1 }, {})", {"a": 1}),
    "an_object_that_only_looks_like_a_map_is_an_object": ("Object.create(Map.prototype)", {}),
}

both_ways = pytest.mark.parametrize(
    ("expression", "expected"), [pytest.param(*pair, id=name) for name, pair in FORMS.items()]
)


@both_ways
async def test_crosses_as_a_result_as_an_argument_and_back(expression: str, expected: Any, executor: Executor) -> None:
    seen: list[Any] = []

    def tool(value: Any) -> Any:
        seen.append(value)
        return value

    code = f"async () => ({{ result: {expression}, back: await store.f({expression}) }})"
    assert await value_of(executor, code, answering(tool)) == {"result": expected, "back": expected}
    assert seen == [expected]
    assert await value_of(executor, f"async () => {expression}") == expected


TAGS = {
    "Uint8Array": "new Uint8Array([1, 2, 3])",
    "ArrayBuffer": "new Uint8Array([1, 2, 3]).buffer",
    "ArrayBufferView": "new Int8Array([1, 2, 3])",
}


@pytest.mark.parametrize("tag", TAGS)
async def test_a_binary_value_names_its_kind_in_the_pinned_form(tag: str, executor: Executor) -> None:
    host = raw('{"result":null}')
    await value_of(executor, f"async () => store.f({{ deep: [{TAGS[tag]}] }})", host)
    assert host.calls == [["store", "f", f'[{{"deep":[{{"{TAG}":"{tag}","data":"AQID"}}]}}]']]


@pytest.mark.parametrize(("tag", "kind"), [("Uint8Array", "Uint8Array"), ("ArrayBuffer", "ArrayBuffer"), ("ArrayBufferView", "Uint8Array")])  # fmt: skip
async def test_the_sandbox_rebuilds_a_binary_value(tag: str, kind: str, executor: Executor) -> None:
    host = raw(f'{{"result":{{"deep":[{{"{TAG}":"{tag}","data":"AQID"}}]}}}}')
    code = "async () => { const v = (await store.f()).deep[0]; return [v.constructor.name, [...new Uint8Array(v)]] }"
    assert await value_of(executor, code, host) == [kind, [1, 2, 3]]


@pytest.mark.parametrize(
    "text",
    [
        f'{{"{TAG}":"Uint8Array","data":"AQID","x":1}}',
        f'{{"{TAG}":"Uint8Array","data":"AQI"}}',
        f'{{"{TAG}":"Uint8Array","data":"AQ=="'[:-1] + '\\n"}',
        f'{{"{TAG}":"Uint8Array","data":"AR=="}}',
        f'{{"{TAG}":"Uint8Array","data":"_w=="}}',
        f'{{"{TAG}":"Uint8Array","data":7}}',
        f'{{"{TAG}":"Float64Array","data":"AQID"}}',
    ],
)
async def test_what_is_no_binary_form_stays_an_object_in_the_sandbox_too(text: str, executor: Executor) -> None:
    code = "async () => { const v = await store.f(); return [Object.getPrototypeOf(v) === Object.prototype, JSON.stringify(v)] }"
    assert await value_of(executor, code, raw(f'{{"result":{text}}}')) == [True, text]


@pytest.mark.parametrize("value", [b"ab", bytearray(b"ab"), memoryview(b"ab")])
async def test_pythons_bytes_cross_as_a_uint8array(value: Any, executor: Executor) -> None:
    code = "async () => { const { v } = await store.f(); return [v.constructor.name, v.length] }"
    assert await value_of(executor, code, answering(lambda: {"v": value})) == ["Uint8Array", 2]


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Order:
    id: uuid.UUID
    at: dt.datetime
    price: decimal.Decimal
    colour: Colour
    tags: set[str]
    blob: bytes


async def test_python_objects_cross_as_to_builtins_gives_them(executor: Executor) -> None:
    order = Order(uuid.UUID(int=1), dt.datetime(2024, 1, 2, tzinfo=dt.UTC), decimal.Decimal("1.50"), Colour.RED, {"a"}, b"\1")  # fmt: skip
    code = "async () => { const o = await store.f(); return { ...o, blob: o.blob instanceof Uint8Array } }"
    assert await value_of(executor, code, answering(lambda: order)) == {
        "id": "00000000-0000-0000-0000-000000000001",
        "at": "2024-01-02T00:00:00Z",
        "price": "1.50",
        "colour": "red",
        "tags": ["a"],
        "blob": True,
    }


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**30])
async def test_an_integer_no_number_holds_is_an_error_at_the_call_site(number: int, executor: Executor) -> None:
    code = "async () => { try { await store.f() } catch (e) { return e.message } }"
    answer = await value_of(executor, code, answering(lambda: [number]))
    assert answer == f"The integer {number} does not fit a JavaScript number. Return it as text."


async def test_pythons_nan_is_null(executor: Executor) -> None:
    assert await value_of(executor, "async () => await store.f()", answering(lambda: [float("nan"), float("inf")])) == [None, None]  # fmt: skip


NEST = "let o = 1; for (let i = 0; i < %d; i++) o = %s; "


@pytest.mark.parametrize("layer", ["[o]", "{ o }", "new Map([['o', o]])"])
async def test_a_nesting_of_500_crosses_both_ways(layer: str, executor: Executor) -> None:
    nested = await value_of(executor, f"async () => {{ {NEST % (500, layer)} return await store.f(o) }}", identity())
    for _ in range(500):
        assert len(nested) == 1
        nested = nested["o"] if isinstance(nested, dict) else nested[0]
    assert nested == 1


@pytest.mark.parametrize("layer", ["[o]", "{ o }", "new Map([['o', o]])"])
async def test_a_nesting_of_501_is_refused_at_the_call_site_and_not_sent(layer: str, executor: Executor) -> None:
    host = identity()
    code = f"async () => {{ {NEST % (501, layer)} try {{ await store.f(o) }} catch (e) {{ return e.message }} }}"
    assert await value_of(executor, code, host) == "The value is nested deeper than 500 levels."
    assert host.calls == []


@pytest.mark.parametrize("depth", [501, 100_000])
async def test_a_deeper_result_is_unserializable(depth: int, executor: Executor) -> None:
    outcome = await run(executor, f"async () => {{ {NEST % (depth, '[o]')} return o }}")
    assert kind_of(outcome) == "unserializable"
    assert "nested deeper than 500 levels" in (outcome.error or "")


@pytest.mark.parametrize(("depth", "expected"), [(500, "ok"), (501, "The value is nested deeper than 500 levels.")])
@pytest.mark.parametrize("layer", ["[]", '{"o":}'])
async def test_an_answer_is_held_to_the_depth(depth: int, expected: str, layer: str, executor: Executor) -> None:
    text = layer[:-1] * depth + "1" + layer[-1] * depth
    code = "async () => { try { await store.f(); return 'ok' } catch (e) { return e.message } }"
    assert await value_of(executor, code, raw(f'{{"result":{text}}}')) == expected


async def test_a_python_answer_is_held_to_the_depth(executor: Executor) -> None:
    nested: Any = 1
    for _ in range(501):
        nested = [nested]
    code = "async () => { try { await store.f() } catch (e) { return e.message } }"
    assert await value_of(executor, code, answering(lambda: nested)) == "The value is nested deeper than 500 levels."


REFUSED = {
    "a_bigint": ("1n", "Do not know how to serialize a BigInt"),
    "a_nested_bigint": ("{ a: [1n] }", "Do not know how to serialize a BigInt"),
    "a_cycle": ("(() => { const o = {}; o.o = o; return o })()", "Converting circular structure to JSON"),
    "a_throwing_getter": ("{ get x() { throw new Error('mine') } }", "mine"),
}


@pytest.mark.parametrize(("expression", "text"), [pytest.param(*p, id=i) for i, p in REFUSED.items()])
async def test_is_refused_at_the_call_site_with_the_engines_text(
    expression: str, text: str, executor: Executor
) -> None:
    host = identity()
    code = f"async () => {{ try {{ await store.f({expression}) }} catch (e) {{ return e.message }} }}"
    assert (await value_of(executor, code, host)).startswith(text)
    assert host.calls == []


@pytest.mark.parametrize(("expression", "text"), [pytest.param(*p, id=i) for i, p in REFUSED.items()])
async def test_is_refused_as_a_result(expression: str, text: str, executor: Executor) -> None:
    outcome = await run(executor, f"async () => ({expression})")
    assert kind_of(outcome) == "unserializable"
    assert (outcome.error or "").startswith(text)


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ("Promise.resolve(1)", "argument 1"),
        ("{ files: [1, Promise.resolve(1)] }", "files[1]"),
        ("{ a: { b: Promise.resolve(1) } }", "a.b"),
        ("{ a: new Map([['k', Promise.resolve(1)]]) }", "a.k"),
    ],
)
async def test_a_promise_in_an_argument_is_named_by_its_path(expression: str, path: str, executor: Executor) -> None:
    host = identity()
    code = f"async () => {{ try {{ await store.f({expression}) }} catch (e) {{ return e.message }} }}"
    message = await value_of(executor, code, host)
    assert message.startswith(path)
    assert "await" in message.lower()
    assert host.calls == []


@pytest.mark.parametrize(("expression", "path"), [("{ files: [store.f(1)] }", "files[0]"), ("{ a: { b: store.f(1) } }", "a.b")])  # fmt: skip
async def test_a_promise_in_a_result_is_named_by_its_path(expression: str, path: str, executor: Executor) -> None:
    outcome = await run(executor, f"async () => ({expression})", identity())
    assert kind_of(outcome) == "unserializable"
    assert path in (outcome.error or "")
    assert "await" in (outcome.error or "").lower()


async def test_a_promise_that_is_the_whole_of_an_own_thenable_free_result_is_named_result(executor: Executor) -> None:
    code = "async () => { const p = Promise.resolve(1); p.then = undefined; return p }"
    outcome = await run(executor, code)
    assert (kind_of(outcome), (outcome.error or "").split()[0]) == ("unserializable", "result")


@pytest.mark.parametrize("expression", ["() => 1", "Symbol('s')"])
async def test_a_function_as_the_whole_result_is_none_with_a_warning(expression: str, executor: Executor) -> None:
    outcome = await run(executor, f"async () => {expression}")
    assert (kind_of(outcome), outcome.result, outcome.warnings) == ("result", None, [texts.FUNCTION_RESULT])


@pytest.mark.parametrize("code", ["async () => {}", "async () => undefined", "async () => null"])
async def test_undefined_is_none_without_a_warning(code: str, executor: Executor) -> None:
    outcome = await run(executor, code)
    assert (kind_of(outcome), outcome.result, outcome.warnings) == ("result", None, [])


async def test_a_getter_in_the_result_that_calls_a_tool_is_counted_in_the_run(executor: Executor) -> None:
    host = identity()
    outcome = await run(executor, "async () => ({ get x() { store.f(1).catch(() => {}); return 2 } })", host)
    assert (outcome.result, outcome.stats.calls, host.calls) == ({"x": 2}, 1, [["store", "f", "[1]"]])


HIJACKS = {
    "inherited_toJSON": "Object.prototype.toJSON = () => 'hijacked'; Array.prototype.toJSON = () => 'hijacked'",
    "text_and_number_toJSON": "String.prototype.toJSON = Number.prototype.toJSON = () => { seen.push('toJSON'); return 'hijacked' }",
    "setter_on_array_index": "for (let i = 0; i < 4; i++) Object.defineProperty(Array.prototype, i, { set(v) { seen.push(v) }, get() { return 'hijacked' }, configurable: true })",
    "setter_on_object_key": "for (const k of ['result', 'error', 'code', 'type', 'answers', 'provider', 'tool', 'resolve', 'value']) Object.defineProperty(Object.prototype, k, { set(v) { seen.push(v) }, get() { return 'hijacked' }, configurable: true })",
    "array_methods": "for (const k of ['push', 'join', 'map', 'slice', 'shift', 'pop', 'concat', 'forEach']) Array.prototype[k] = () => { seen.push(k) }; Array.prototype[Symbol.iterator] = function* () { seen.push('iterator') }",
    "function_methods": "const { call, apply } = Function.prototype; Function.prototype.call = function (...a) { seen.push('call'); return Reflect.apply(call, this, a) }; Function.prototype.apply = function (...a) { seen.push('apply'); return Reflect.apply(apply, this, a) }",
    "string_methods": "for (const k of ['replace', 'split', 'slice', 'indexOf', 'charCodeAt', 'startsWith']) String.prototype[k] = () => { seen.push(k); return 'hijacked' }",
    "map_methods": "for (const k of ['get', 'set', 'delete', 'has', 'forEach']) Map.prototype[k] = () => { seen.push(k) }",
    "promise_methods": "for (const k of ['then', 'catch', 'finally']) Promise.prototype[k] = function () { seen.push(k); return this }; Promise.resolve = () => { seen.push('resolve') }",
    "promise_constructor": "Object.defineProperty(Promise.prototype, 'constructor', { get() { return Object } })",
    "globals": "for (const k of ['JSON', 'Promise', 'Array', 'Object', 'Map', 'Error', 'Reflect', 'Proxy', 'Uint8Array', 'String']) globalThis[k] = undefined",
    "json": "JSON.parse = JSON.stringify = () => { seen.push('json'); return 'hijacked' }",
}


@pytest.mark.parametrize("hijack", HIJACKS)
async def test_what_a_program_does_to_built_ins_never_reaches_the_arguments_and_the_envelope(
    hijack: str, executor: Executor
) -> None:
    seen: list[Any] = []
    code = (
        f"async () => {{ const seen = []; {HIJACKS[hijack]}; const first = await store.f('a', 7); const second = await store.f('b', 8); "
        "return first + '|' + second + '|' + seen.length }"
    )

    def tool(first: Any, second: Any) -> str:
        seen.append([first, second])
        return f"{first}{second}"

    assert await value_of(executor, code, answering(tool)) == "a7|b8|0"
    assert seen == [["a", 7], ["b", 8]]


async def test_an_error_that_is_no_text_is_rendered_without_inherited_code(executor: Executor) -> None:
    code = "async () => { Object.prototype.toJSON = () => 'hijacked'; try { await store.f() } catch (e) { return [e.message].join('') } }"
    outcome = await run(executor, f"async () => {{ const v = await ({code})(); delete Object.prototype.toJSON; return v }}", raw('{"error":{"a":1}}'))  # fmt: skip
    assert outcome.result == '{"a":1}'


async def test_an_inherited_key_is_no_key_of_the_envelope(executor: Executor) -> None:
    code = "async () => { Object.prototype.error = 'hijacked'; Object.prototype.result = 1; const v = await store.f(); return typeof v }"
    assert await value_of(executor, code, raw("{}")) == "undefined"


async def test_passing_a_provider_sends_no_stray_call(executor: Executor) -> None:
    host = raw('{"result":1}')
    await value_of(executor, "async () => { await store.f(store, { deep: [store] }); return store }", host)
    assert host.calls == [["store", "f", '[{},{"deep":[{}]}]']]


async def test_output_cut_nowhere_keeps_emoji_whole_at_every_part_border(executor: Executor) -> None:
    text = await value_of(executor, "async () => ('a' + '\\u{1F600}'.repeat(600_000))")
    assert text == "a" + "\U0001f600" * 600_000


async def test_a_large_answer_keeps_emoji_whole_at_every_part_border(executor: Executor) -> None:
    answer = "é" + "\U0001f600" * 700_000
    code = "async () => { const v = await store.f(); return [v.length, v.isWellFormed(), v.codePointAt(1), v.at(-1).charCodeAt(0)] }"
    assert await value_of(executor, code, answering(lambda: answer)) == [1_400_001, True, 0x1F600, 0xDE00]


async def test_a_function_provider_gets_its_bytes_as_bytes(executor: Executor) -> None:
    def f(blob: bytes) -> list[object]:
        return [type(blob).__name__, blob[::-1]]

    outcome = await executor.execute(
        "async () => { const [n, b] = await store.f(new Uint8Array([1, 2])); return [n, [...b]] }",
        [Provider("store", [f])],
    )
    assert outcome.result == ["bytes", [2, 1]]
