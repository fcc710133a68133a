# ruff: noqa: E501 - a program stands on one line, as its lines are counted.
"""Provider source, preludes and provider names: section 9."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tooltoolexec import RESERVED_PROVIDER_NAMES, Executor, Limits
from tooltoolexec_executor.entry import run_script
from tooltoolexec_protocol.messages import ProviderSpec
from tooltoolexec_protocol.names import REFUSED_WORDS

from .hosts import kind_of, raw, run, value_of

pytestmark = pytest.mark.anyio


def store(**more: str) -> list[dict[str, Any]]:
    return [{"name": "store", "tools": ["f"], **more}]


async def test_what_a_prelude_writes_on_a_proxy_wins_over_the_trap(executor: Executor) -> None:
    providers = store(prelude="store.f = async (n) => n + 1")
    host = raw('{"result":"tool"}')
    assert await value_of(executor, "async () => [await store.f(1), await store.g()]", host, providers=providers) == [2, "tool"]  # fmt: skip


async def test_proxies_come_before_preludes_and_both_in_provider_order(executor: Executor) -> None:
    providers = [
        {"name": "a", "prelude": "a.seen = [typeof b, b.mark]; console.log('a')"},
        {
            "name": "b",
            "proxySource": "console.log('b source'); const b = { mark: 'b' }",
            "prelude": "a.seen.push('b'); console.log('b')",
        },
    ]
    outcome = await run(executor, "async () => { console.log('program'); return a.seen }", providers=providers)
    assert outcome.result == ["object", "b", "b"]
    assert outcome.logs == ["b source", "a", "b", "program"]


async def test_each_prelude_has_a_scope_of_its_own(executor: Executor) -> None:
    providers = [
        {"name": "a", "prelude": "const x = 1; var y = 2; function z() {}"},
        {"name": "b", "prelude": "const x = 2; b.x = x"},
    ]
    code = "async () => [typeof x, typeof y, typeof z, b.x]"
    assert await value_of(executor, code, providers=providers) == ["undefined", "undefined", "undefined", 2]


async def test_a_proxy_source_runs_in_the_entry_scope_without_the_guards(executor: Executor) -> None:
    source = "const helper = 7; const store = { get then() { return undefined }, h: helper, codec: [typeof __stringifyForDispatch, typeof __parseForDispatch, typeof __dispatch] }"
    code = "async () => [helper, store.h, store.absent, store.codec]"
    assert await value_of(executor, code, providers=store(proxySource=source)) == [7, 7, None, ["function"] * 3]


async def test_the_codec_of_a_proxy_source_carries_bytes(executor: Executor) -> None:
    source = "const store = { f: async (...a) => __parseForDispatch(await __dispatch('store', 'f', __stringifyForDispatch(a))).result }"
    host = raw('{"result":{"__executor_binary_v1__":"Uint8Array","data":"AQID"}}')
    code = "async () => [...await store.f(new Uint8Array([1, 2, 3]))]"
    assert await value_of(executor, code, host, providers=store(proxySource=source)) == [1, 2, 3]
    assert host.calls == [["store", "f", '[{"__executor_binary_v1__":"Uint8Array","data":"AQID"}]']]


@pytest.mark.parametrize("binding", ["const store = {}", "let store = {}", "var store = {}", "function store() {}", "class store {}", "const { store } = { store: {} }", "const store = {} // last"])  # fmt: skip
async def test_any_declaration_binds_the_name(binding: str, executor: Executor) -> None:
    kind = "function" if "function" in binding or "class" in binding else "object"
    assert await value_of(executor, "async () => typeof store", providers=store(proxySource=binding)) == kind


async def test_calls_a_prelude_starts_count_as_the_programs(executor: Executor) -> None:
    host = raw('{"result":1}')
    outcome = await run(executor, "async () => await store.g()", host, providers=store(prelude="store.f('early')"), limits=Limits(calls=2))  # fmt: skip
    assert (outcome.result, outcome.stats.calls) == (1, 2)
    assert [call[1] for call in host.calls] == ["f", "g"]


FAULTS = {
    "a_prelude_that_throws": ({"prelude": "throw new Error('mine')"}, "mine"),
    "a_prelude_that_throws_text": ({"prelude": "throw 'mine'"}, "mine"),
    "a_prelude_that_does_not_parse": ({"prelude": "const = 1"}, "Unexpected token '='"),
    "a_prelude_that_awaits": ({"prelude": "await store.f()"}, "await is only valid in async functions and the top level bodies of modules"),
    "a_proxy_source_that_throws": ({"proxySource": "throw new TypeError('mine'); const store = 1"}, "mine"),
    "a_proxy_source_that_does_not_parse": ({"proxySource": "const store = ;"}, "Unexpected token ';'"),
    "a_proxy_source_that_awaits": ({"proxySource": "const store = await 1"}, "await is only valid in async functions and the top level bodies of modules"),
}  # fmt: skip


@pytest.mark.parametrize(("more", "message"), [pytest.param(*pair, id=name) for name, pair in FAULTS.items()])
async def test_ends_the_run_as_provider_source(more: dict[str, str], message: str, executor: Executor) -> None:
    outcome = await run(executor, "async () => { console.log('ran') }", providers=[{"name": "other"}, *store(**more)])
    assert (kind_of(outcome), outcome.error) == ("provider_source", f'Provider "store" source failed: {message}')
    assert outcome.logs == []


@pytest.mark.parametrize("source", ["", "const other = 1", "{ const store = 1 }", "store = 1", "// const store = 1", "({ store: 1 })", "const x = 'const store = 1'"])  # fmt: skip
async def test_a_proxy_source_that_does_not_bind_its_name_ends_the_run(source: str, executor: Executor) -> None:
    outcome = await run(executor, "async () => { console.log('ran') }", providers=store(proxySource=source))
    assert kind_of(outcome) == "provider_source"
    assert (outcome.error or "").startswith('Provider "store" source failed: ')
    assert outcome.logs == []


@pytest.mark.parametrize("source", ["const store = 1; return", "const store = 1; return () => 7", "const store = 1; if (true) return 3"])  # fmt: skip
async def test_a_proxy_source_that_returns_does_not_take_the_programs_place(source: str, executor: Executor) -> None:
    outcome = await run(executor, "async () => { console.log('ran') }", providers=store(proxySource=source))
    assert kind_of(outcome) == "provider_source"
    assert outcome.logs == []


async def test_sources_that_declare_one_name_twice_end_the_run(executor: Executor) -> None:
    providers = [
        {"name": "a", "proxySource": "const a = 1, shared = 1"},
        {"name": "b", "proxySource": "const b = 1, shared = 2"},
    ]
    outcome = await run(executor, "async () => 1", providers=providers)
    assert kind_of(outcome) == "provider_source"
    assert "'shared' has already been declared" in (outcome.error or "")


async def test_a_looping_prelude_is_timed_as_the_program_is(executor: Executor) -> None:
    outcome = await run(executor, "async () => 1", providers=store(prelude="for (;;);"), limits=Limits(wall_s=0.05))
    assert kind_of(outcome) == "timeout"


# Names.

_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def names_of_the_entry() -> set[str]:
    """Every identifier the generated source reads or binds, keywords, property names and the providers' own taken out."""
    specs = [
        ProviderSpec(name="PROVIDER0"),
        ProviderSpec(name="PROVIDER1", proxy_source="", prelude=""),
    ]
    script = run_script(specs, "", {})
    source = re.sub(r'"(?:[^"\\]|\\.)*"|//[^\n]*', "", script.text.decode())
    source = re.sub(r"\.[A-Za-z_$][\w$]*", "", source).replace(script.label, "")
    return {word for word in _WORD.findall(source) if word not in REFUSED_WORDS and not word.startswith("PROVIDER")}


def test_the_reserved_names_are_those_of_the_generated_entry() -> None:
    derived = names_of_the_entry() | {"undefined", "NaN", "Infinity"}
    assert derived == RESERVED_PROVIDER_NAMES
    assert {"console", "__dispatch", "__stringifyForDispatch", "__parseForDispatch", "__retainHandle"} <= derived
    assert "fetch" not in derived


@pytest.mark.parametrize("name", sorted(RESERVED_PROVIDER_NAMES))
async def test_a_reserved_name_is_refused(name: str, executor: Executor) -> None:
    outcome = await run(executor, "async () => 1", providers=[{"name": name}])
    assert (kind_of(outcome), outcome.error) == ("declaration", f'Provider name "{name}" is reserved. Give the provider a name the entry scope does not bind.')  # fmt: skip


@pytest.mark.parametrize("name", ["", "my-store", "1store", "na\u00efve", "a b", "a.b", "store\n", "\ud800"])
async def test_a_name_that_is_no_identifier_is_refused(name: str, executor: Executor) -> None:
    outcome = await run(executor, "async () => 1", providers=[{"name": name}])
    assert (kind_of(outcome), outcome.error) == ("declaration", f'Provider name "{name}" must be ASCII letters, digits, underscore and dollar, and must not start with a digit.')  # fmt: skip


@pytest.mark.parametrize(
    "name", ["class", "async", "eval", "arguments", "await", "implements", "let", "static", "null"]
)
async def test_a_name_of_the_list_is_refused(name: str, executor: Executor) -> None:
    outcome = await run(executor, "async () => 1", providers=[{"name": name}])
    assert kind_of(outcome) == "declaration"
    assert (outcome.error or "").startswith(f'Provider name "{name}" is on the list this executor refuses: ')


@pytest.mark.parametrize("name", ["$", "_", "of", "get", "Object", "Promise", "JSON", "Reflect", "Map", "globalThis", "eval2", "Error", "String", "fetch", "__proto__", "constructor", "then", "Symbol", "store1", "program", "run"])  # fmt: skip
async def test_any_other_name_works_and_only_shadows(name: str, executor: Executor) -> None:
    assert (
        await value_of(executor, f"async () => await {name}.f(1)", raw('{"result":5}'), providers=[{"name": name}]) == 5
    )


@pytest.mark.parametrize(
    ("names", "first"),
    [(["class", "console"], "class"), (["ok", "my-store", "ok"], "my-store"), (["ok", "ok", "class"], "ok"), (["console", "console"], "console")],
)  # fmt: skip
async def test_the_first_bad_name_in_array_order_wins(names: list[str], first: str, executor: Executor) -> None:
    outcome = await run(executor, "async () => 1", providers=[{"name": name} for name in names])
    assert kind_of(outcome) == "declaration"
    assert (outcome.error or "").startswith(f'Provider name "{first}" ')
