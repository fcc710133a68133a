"""The runtime's parts: what is evaluated with the isolate, and what waits for an idle moment or for its use."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tooltoolexec import sync
from tooltoolexec_executor import handover
from tooltoolexec_executor.needs import CONSOLE, CORE, WEB, WEB_GLOBALS, last_part, may_mislead
from tooltoolexec_executor.worker import runtime
from tooltoolexec_executor.worker.mailbox import Command
from tooltoolexec_executor.worker.runtime import CONSOLE_FILES, CORE_FILES, WEB_FILES
from tooltoolexec_protocol.limits import DEFAULTS
from tooltoolexec_protocol.messages import Execute, ProviderSpec

from .isolates import Bench

FOLDER = Path(runtime.__file__).parents[1] / "runtime"
STEP = 5


def globals_of(bench: Bench) -> set[str]:
    """What the global object of a bench that ran nothing yet has, asked without the runtime's help."""
    completion = bench.evaluate("throw Object.getOwnPropertyNames(globalThis).join()")
    return set(completion.text.partition(": ")[2].partition("\n")[0].split(","))


def cold_and_warm() -> tuple[Bench, Bench]:
    """One as a worker's isolate is at first, one as it is after an idle moment."""
    warm = Bench()
    warm.parts.load_all(STEP)
    assert not warm.wait()[1].failed
    return Bench(), warm


def test_every_file_of_the_runtime_is_in_one_part() -> None:
    assert sorted((*CORE_FILES, *CONSOLE_FILES, *WEB_FILES)) == sorted(file.stem for file in FOLDER.glob("*.js"))


def test_all_parts_are_ascii_which_v8_reads_faster() -> None:
    sources = runtime.read()
    assert sources.core.isascii()
    assert all(part.isascii() for part in sources.later)


@pytest.mark.parametrize("last", [CORE, CONSOLE, WEB])
def test_nothing_that_makes_the_later_parts_is_left_for_a_program(last: int) -> None:
    bench = Bench()
    bench.start("() => 1")  # As a worker does, which rehearses first.
    bench.records.clear()
    if bench.parts.load(last, STEP):
        bench.wait()
    bench.start("() => typeof __load + typeof __enter")
    assert bench.taken("d") == [{"result": "undefinedundefined"}]
    assert bench.parts.last == last


@pytest.mark.parametrize(("last", "defined"), [(CONSOLE, {"console"}), (WEB, {"console", *WEB_GLOBALS})])
def test_a_part_defines_just_the_globals_it_is_looked_for_by(last: int, defined: set[str]) -> None:
    bench = Bench()
    before = globals_of(bench) - {"__load"}
    bench.parts.load(last, STEP)
    assert not bench.wait()[1].failed
    assert globals_of(bench) - {"__load"} - before == defined


@pytest.mark.parametrize("name", WEB_GLOBALS)
def test_a_program_that_names_a_global_finds_it(name: str) -> None:
    bench = Bench()
    bench.start(f"() => typeof {name}")
    (outcome,) = bench.taken("d")
    assert outcome["result"] in ("function", "object")


@pytest.mark.parametrize(
    "code",
    [
        "() => typeof globalThis['U' + 'RL']",
        "() => typeof (0, eval)('UR' + 'L'.trim() && globalThis).URL",
        "() => typeof new Function('return this')()['U' + 'RL']",
        "() => typeof (() => 1).constructor('return this')()['U' + 'RL']",
        "() => typeof \\u0055RL",
    ],
)
def test_so_does_one_that_goes_about_it_another_way(code: str) -> None:
    bench = Bench()
    bench.start(code)
    assert bench.taken("d") == [{"result": "function"}]


def execute(code: str, *sources: str) -> Execute:
    return Execute(id="0" * 32, code=code, providers=[ProviderSpec(name="p", prelude=source) for source in sources])


def test_a_long_run_is_not_searched() -> None:
    """Its texts count together: the search is the daemon's, which has others to serve."""
    assert last_part(execute(" " * 16_384)) == CORE
    assert last_part(execute(" " * 16_385)) == WEB
    assert last_part(execute(" ", *[" " * 1000] * 16)) == CORE
    assert last_part(execute(" ", *[" " * 1000] * 17)) == WEB


def test_words_of_program_and_sources_count_together() -> None:
    assert (
        last_part(execute("async () => f(Promise)", "const f = (Kind) => new Kind((_, no) => no(() => 1));")) == CONSOLE
    )


def test_a_worker_is_told_what_its_run_may_need() -> None:
    for code, last, misleads in (
        ("() => 1", CORE, False),
        ("() => console.log(1)", CONSOLE, False),
        ("```js\n() => fetch\n```", WEB, True),
    ):
        handed = handover.pack(execute(code), DEFAULTS, 0, retained_idle_s=0)
        facts_bytes, _script_bytes = handover.unpack_lengths(handed)
        facts = handover.unpack_facts(handed[handover.LENGTHS_BYTES :][:facts_bytes])
        assert (facts.last_part, facts.may_mislead) == (last, misleads)


def test_the_worker_looks_itself_at_a_long_program() -> None:
    assert not may_mislead(execute(" " * 16_384))
    assert may_mislead(execute(" " * 16_385))
    assert not may_mislead(execute("'\ud800'"))
    assert may_mislead(execute("'\ud800'; f<any>(1)"))


def test_parts_that_are_there_are_not_loaded_again() -> None:
    bench = Bench()
    assert bench.parts.load(WEB, STEP)
    assert not bench.wait()[1].failed
    assert bench.parts.are_complete
    assert not bench.parts.load_all(STEP)
    assert not bench.parts.load(CONSOLE, STEP)


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("async () => 1", CORE),
        ("async () => store.fetching(myURL => 1, consoles => 2)", CORE),
        ("() => { console.log('performances') }", CONSOLE),
        ("() => { throw () => 1 }", CONSOLE),
        ("async () => { await store.x().then((a) => a).catch((b) => b) }", CORE),
        ("() => typeof fetch", WEB),
        ("async () => { console.log(new URL('https://example.com').host) }", WEB),
    ],
)
def test_a_program_waits_for_just_the_parts_it_may_use(code: str, last: int) -> None:
    bench = Bench()
    bench.start(code)
    assert bench.parts.last == last


@pytest.mark.parametrize(
    "sources", [{"prelude": "console.log(1)"}, {"proxy_source": "const store = { log: () => console.log(1) };"}]
)
def test_the_sources_of_a_host_count_like_the_program(sources: dict[str, Any]) -> None:
    bench = Bench()
    bench.start("() => 1", providers=[ProviderSpec(name="store", **sources)])
    assert bench.parts.last == CONSOLE
    assert bench.taken("d") == [{"result": 1}]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("async () => { const { log } = console; log({ a: 1 }); }", "{ a: 1 }"),
        ("async () => { setTimeout(() => null.x, 0); await new Promise((done) => setTimeout(done, 1)); }", "null"),
        ("async () => { queueMicrotask(() => null.x); await 0; await 0; }", "null"),
    ],
)
def test_what_a_cold_worker_logs_is_what_a_warm_one_logs(code: str, line: str) -> None:
    logged = []
    for bench in cold_and_warm():
        bench.start(code)
        while not bench.taken("d"):
            bench.step(Command.SETTLE)
        logged.append(bench.taken("l"))
        assert line in logged[0][0][1]
    assert logged[0] == logged[1]


@pytest.mark.parametrize(
    "thrown",
    ["() => 1", "class A {}", "Object.assign(new Error(), { message: { a: 1 } })", "'text'", "5n", "Symbol('s')", "-0"],
)
@pytest.mark.parametrize(
    "code",
    [
        "() => { throw THROWN }",
        "async () => { await new Promise((_, fail) => fail(THROWN)) }",
        "async () => { await Promise.reject(THROWN) }",
        "async () => { const { promise, reject } = Promise.withResolvers(); reject(THROWN); await promise }",
        "async () => { await Reflect.construct(Promise, [(_, fail) => fail(THROWN)]) }",
        "async () => ({ then(_, fail) { fail(THROWN) } })",
        "async () => ({ 'then': (_, fail) => fail(THROWN) })",
        "async () => { class Query { then(_, fail) { fail(THROWN) } }; await Array.fromAsync([new Query()]) }",
    ],
)
def test_what_a_cold_worker_says_of_what_is_thrown_is_what_a_warm_one_says(thrown: str, code: str) -> None:
    messages = []
    for bench in cold_and_warm():
        bench.start(code.replace("THROWN", thrown))
        (outcome,) = bench.taken("d")
        messages.append(outcome["failure"]["message"])
    assert messages[0] == messages[1]


def test_a_warm_workers_program_finds_the_globals_however_it_spells_them() -> None:
    bench = Bench()
    bench.parts.load_all(STEP)
    bench.wait()
    bench.start("() => typeof structuredClone")
    assert bench.taken("d") == [{"result": "function"}]


def test_a_worker_that_has_nothing_to_do_completes_the_runtime() -> None:
    # By no name that a script is searched for, so only what was there before it is found.
    roundabout = "() => (() => 1)['con' + 'structor']('return this')()['U' + 'RL'] !== undefined"
    with sync.local() as executor:
        for _ in range(20):
            if executor.execute(roundabout).result:
                return
            time.sleep(0.7)  # What an idle worker does has no event.
    pytest.fail("no idle worker had the web's globals")
