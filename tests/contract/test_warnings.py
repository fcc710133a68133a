# ruff: noqa: E501 - a program stands on one line.
"""`Run.warnings` names the calls whose promise nobody touched, and only those; the promise is like any other."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tooltoolexec import Executor, Limits
from tooltoolexec_protocol.envelope import error_envelope

from .hosts import Host, raw, run, value_of

pytestmark = pytest.mark.anyio


def by_name() -> Host:
    """`put` works, `fail` fails, `hang` answers long after the run."""

    async def answer(_provider: str, tool: str, _args: str) -> str:
        if tool == "hang":
            await anyio.sleep_forever()
        return error_envelope("no such row") if tool == "fail" else '{"result":7}'

    return Host(answer)


async def warnings_of(executor: Executor, body: str, **options: Any) -> list[str]:
    outcome = await run(executor, f"async () => {{ {body} }}", by_name(), **options)
    return outcome.warnings


# Which calls are named.

AWAITED = {
    "await": "await store.put()",
    "await_later": "const p = store.put(); await store.fail().catch(() => 1); await p",
    "then": "store.put().then(() => 1)",
    "catch": "store.fail().catch(() => 1)",
    "finally": "store.put().finally(() => 1)",
    "then_called_from_the_prototype": "Promise.prototype.then.call(store.put(), () => 1)",
    "all": "await Promise.all([store.put(), store.put()])",
    "allSettled": "await Promise.allSettled([store.put(), store.fail()])",
    "race": "await Promise.race([store.put(), store.hang()])",
    "any": "await Promise.any([store.put(), store.fail()])",
    "Promise.resolve": "await Promise.resolve(store.put())",
    "resolving_another": "await new Promise((resolve) => resolve(store.put()))",
    "returned": "return store.put()",
    "returned_by_a_function_that_is_awaited": "const f = () => store.put(); await f()",
    "returned_by_an_async_function": "const f = async () => store.put(); await f()",
    "for_await": "for await (const value of [store.put()]) void value",
    "caught": "try { await store.fail() } catch {}",
    "Array.fromAsync": "await Array.fromAsync([store.put()])",
}


@pytest.mark.parametrize("body", AWAITED.values(), ids=AWAITED)
async def test_a_call_whose_promise_was_used_is_not_named(body: str, executor: Executor) -> None:
    assert await warnings_of(executor, body) == []


async def test_a_program_that_is_one_call_awaits_it(executor: Executor) -> None:
    outcome = await run(executor, "() => store.put()", by_name())
    assert (outcome.result, outcome.warnings) == (7, [])


async def test_each_call_nobody_awaited_is_named_with_its_end_in_the_order_of_the_calls(executor: Executor) -> None:
    body = "store.hang(); store.put(); store.fail(); for (let i = 0; i < 3; i++) await store.put(); return 1"
    assert await warnings_of(executor, body) == [
        "store.hang was called and never awaited; it had not finished.",
        "store.put was called and never awaited; it finished.",
        "store.fail was called and never awaited; it failed: no such row.",
    ]


async def test_a_call_that_is_only_logged_is_named_and_logged_as_a_promise(executor: Executor) -> None:
    outcome = await run(executor, "async () => { console.log(store.hang()) }", by_name())
    assert outcome.warnings == ["store.hang was called and never awaited; it had not finished."]
    assert len(outcome.logs) == 1
    assert outcome.logs[0].startswith("Promise {")
    assert "constructor" not in outcome.logs[0]


async def test_a_call_that_never_left_has_failed(executor: Executor) -> None:
    body = "store.put('x'.repeat(5000)); store.put(1n); await 1; return 1"
    assert await warnings_of(executor, body, limits=Limits(payload_bytes=4096)) == [
        "store.put was called and never awaited; it failed: The payload of 5012 bytes is over the limit of 4096 bytes.",
        "store.put was called and never awaited; it failed: Do not know how to serialize a BigInt.",
    ]


async def test_a_failed_program_has_warnings_too(executor: Executor) -> None:
    outcome = await run(executor, "async () => { store.hang(); throw new Error('no') }", by_name())
    assert outcome.error == "no"
    assert outcome.warnings == ["store.hang was called and never awaited; it had not finished."]


async def test_a_call_left_in_the_result_is_named(executor: Executor) -> None:
    outcome = await run(executor, "() => ({ row: store.hang() })", by_name())
    assert outcome.error == "row is a promise. Await it before you pass it on or return it."
    assert outcome.warnings == ["store.hang was called and never awaited; it had not finished."]


async def test_of_many_calls_ten_are_named_and_the_rest_are_counted(executor: Executor) -> None:
    found = await warnings_of(executor, "for (let i = 0; i < 25; i++) store[`t${i}`](); return 1")
    assert found[:10] == [f"store.t{i} was called and never awaited; it had not finished." for i in range(10)]
    assert found[10:] == ["15 more calls were never awaited."]


async def test_long_names_and_messages_are_cut(executor: Executor) -> None:
    host = raw(error_envelope("m" * 5000))
    outcome = await run(executor, f"async () => {{ store['{'t' * 5000}'](); await store.f().catch(() => 1) }}", host)
    assert outcome.warnings == [f"store.{'t' * 200}… was called and never awaited; it failed: {'m' * 200}…."]


# The promise is an ordinary one.

LIKE_ANY_OTHER = {
    "instanceof": "p instanceof Promise",
    "its_prototype": "Object.getPrototypeOf(p) === Promise.prototype",
    "its_tag": "String(p) === '[object Promise]'",
    "no_keys": "Object.keys(p).length === 0 && JSON.stringify(p) === '{}' && Object.keys({ ...p }).length === 0",
    "no_names_in_a_loop": "(() => { for (const key in p) return false; return true })()",
    "its_constructor": "p.constructor === Promise",
    "resolve_gives_it_back": "Promise.resolve(p) === p",
    "then_gives_a_plain_one": "p.then().constructor === Promise && !Object.hasOwn(p.then(), 'constructor')",
    "a_property_can_be_written": "(p.note = 1, p.note === 1)",
    "its_constructor_can_be_written": "(p.constructor = Object, p.constructor === Object && Object.keys(p)[0] === 'constructor')",
    "its_constructor_can_be_defined": "(Object.defineProperty(p, 'constructor', { value: 5 }), p.constructor === 5)",
    "its_constructor_can_be_deleted": "(delete p.constructor, p.constructor === Promise)",
    "it_can_be_frozen": "(Object.freeze(p), p.constructor === Promise)",
    "a_subclass_takes_it": "(class extends Promise {}).resolve(p) !== p",
}


@pytest.mark.parametrize("claim", LIKE_ANY_OTHER.values(), ids=LIKE_ANY_OTHER)
async def test_the_promise_of_a_call_is_like_any_other(claim: str, executor: Executor) -> None:
    assert (
        await value_of(
            executor, f"async () => {{ const p = store.put(); p.catch(() => 1); return {claim} }}", by_name()
        )
        is True
    )


async def test_a_subclass_in_its_constructor_is_used_as_with_any_promise(executor: Executor) -> None:
    body = "class Mine extends Promise {} const p = store.put(); p.constructor = Mine; return [p.then() instanceof Mine, await p]"
    assert await value_of(executor, f"async () => {{ {body} }}", by_name()) == [True, 7]


async def test_the_accessor_taken_from_the_promise_does_nothing_elsewhere(executor: Executor) -> None:
    code = """async () => {
      const { get, set } = Object.getOwnPropertyDescriptor(store.hang(), 'constructor');
      const odd = [undefined, null, 5, 'x', Symbol(), {}, new Proxy({}, {}), Promise.resolve(), Object.create(store.hang())];
      const got = odd.map((self) => Reflect.apply(get, self, []) === Promise);
      odd.forEach((self) => Reflect.apply(set, self, [1]));
      let made = 0;
      for (const f of [get, set]) { try { new f(); made++ } catch {} }
      return [got.every(Boolean), made, get.prototype === undefined];
    }"""
    outcome = await run(executor, code, by_name())
    assert outcome.result == [True, 0, True]
    assert outcome.warnings == ["store.hang was called and never awaited; it had not finished."] * 2


# A program cannot mislead it, nor break it.

TAMPERING = {
    "then": "Promise.prototype.then = () => { throw 1 }",
    "constructor": "Object.defineProperty(Promise.prototype, 'constructor', { get() { throw 1 } })",
    "the_global": "globalThis.Promise = undefined",
    "species": "Object.defineProperty(Promise, Symbol.species, { get() { throw 1 } })",
    "objects": "Object.defineProperty(Object.prototype, 'before', { set() { throw 1 }, get() { throw 1 } }); Object.defineProperty(Object.prototype, 'get', { get() { throw 1 } })",
    "objects_constructor": "Object.prototype.constructor = null",
    "reflect": "Reflect.defineProperty = Object.defineProperty = () => { throw 1 }",
    "arrays": "Array.prototype[Symbol.iterator] = () => { throw 1 }",
    "errors": "Object.defineProperty(Error.prototype, 'message', { get() { throw 1 } })",
    "texts": "String.prototype.slice = String.prototype.indexOf = () => { throw 1 }",
}


@pytest.mark.parametrize("before", TAMPERING.values(), ids=TAMPERING)
async def test_tampering_changes_nothing(before: str, executor: Executor) -> None:
    outcome = await run(
        executor, f"async () => {{ {before}; store.put(); store.fail(); return await store.put() }}", by_name()
    )
    assert (outcome.result, outcome.warnings) == (
        7,
        [
            "store.put was called and never awaited; it finished.",
            "store.fail was called and never awaited; it failed: no such row.",
        ],
    )


THROWN = {
    "a_getter": "{ get message() { console.log('ran'); return 'x' } }",
    "an_error_with_a_getter": "Object.defineProperty(new Error('x'), 'message', { get() { console.log('ran') } })",
    "a_proxy": "new Proxy(new Error('x'), { getOwnPropertyDescriptor() { console.log('ran') }, get() { console.log('ran') } })",
    "a_symbol": "Symbol('x')",
    "null": "null",
    "an_error_without_a_text": "new Error()",
    "an_error_whose_text_is_none": "Object.assign(new Error(), { message: { toString() { console.log('ran') } } })",
}


@pytest.mark.parametrize("thrown", THROWN.values(), ids=THROWN)
async def test_what_an_argument_throws_runs_nothing_when_it_is_told(thrown: str, executor: Executor) -> None:
    outcome = await run(
        executor, f"async () => {{ store.put({{ toJSON() {{ throw {thrown} }} }}); return 1 }}", by_name()
    )
    assert (outcome.result, outcome.logs) == (1, [])
    assert outcome.warnings == ["store.put was called and never awaited; it failed."]


async def test_a_failed_call_still_tells_the_line_that_awaited_it(executor: Executor) -> None:
    outcome = await run(
        executor,
        "async () => {\n  const p = store.fail();\n  const f = async () => {\n    await p;\n  };\n  await f();\n}",
        by_name(),
    )
    assert outcome.failure is not None
    assert (outcome.failure.line, outcome.failure.column) == (4, 5)
    assert outcome.failure.stack == "Error: no such row\n    at async f (program.js:4:5)\n    at async program.js:6:3"


async def test_a_run_remembers_no_call_of_the_one_before(executor: Executor) -> None:
    assert len(await warnings_of(executor, "store.hang(); return 1")) == 1
    assert await warnings_of(executor, "return 1") == []


async def test_a_thousand_awaited_calls_leave_nothing_behind(executor: Executor) -> None:
    body = "for (let i = 0; i < 400; i++) await store.put(i); await Promise.all(Array.from({ length: 400 }, (_, i) => store.put(i)))"
    assert await warnings_of(executor, body) == []
