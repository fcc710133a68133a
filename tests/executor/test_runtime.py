"""The runtime's two parts: what is evaluated with the isolate, and what waits for an idle moment or for its use."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tooltoolexec import sync
from tooltoolexec_executor.worker import runtime
from tooltoolexec_executor.worker.runtime import CORE_FILES, WEB_FILES, WEB_GLOBALS, may_use_web

from .isolates import Bench

FOLDER = Path(runtime.__file__).parents[1] / "runtime"
STEP = 5


def globals_of(bench: Bench) -> set[str]:
    """What the global object of a bench that ran nothing yet has, asked without the runtime's help."""
    completion = bench.evaluate("throw Object.getOwnPropertyNames(globalThis).join()")
    return set(completion.text.partition(": ")[2].partition("\n")[0].split(","))


def test_every_file_of_the_runtime_is_in_one_part() -> None:
    assert sorted((*CORE_FILES, *WEB_FILES)) == sorted(file.stem for file in FOLDER.glob("*.js"))


def test_both_parts_are_ascii_which_v8_reads_faster() -> None:
    both = runtime.read()
    assert both.core.isascii()
    assert both.web.isascii()


@pytest.mark.parametrize("is_loaded", [False, True])
def test_nothing_that_makes_the_second_part_is_left_for_a_program(is_loaded: bool) -> None:
    bench = Bench()
    bench.start("() => 1")  # As a worker does, which rehearses first.
    bench.records.clear()
    if is_loaded:
        bench.web.load(STEP)
        bench.wait()
    bench.start("() => typeof __web + typeof __enter")
    assert bench.taken("d") == [{"result": "undefinedundefined"}]


def test_the_second_part_defines_just_the_globals_it_is_looked_for_by() -> None:
    bench = Bench()
    before = globals_of(bench) - {"__web"}
    bench.web.load(STEP)
    assert not bench.wait()[1].failed
    assert globals_of(bench) - before == set(WEB_GLOBALS)


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


def test_a_long_script_is_not_searched() -> None:
    assert not may_use_web(b" " * 1000)
    assert may_use_web(b" " * 1_000_000)


@pytest.mark.parametrize("code", ["async () => 1", "store.fetching(myURL, urls)", "console.log('performances')"])
def test_most_programs_do_without_the_second_part(code: str) -> None:
    bench = Bench()
    bench.start(code)
    assert not bench.web.is_loaded
    assert not may_use_web(code.encode())


def test_a_warm_workers_program_finds_the_globals_however_it_spells_them() -> None:
    bench = Bench()
    bench.web.load(STEP)
    bench.wait()
    bench.start("() => typeof structuredClone")
    assert bench.taken("d") == [{"result": "function"}]


def test_a_worker_that_has_nothing_to_do_makes_the_second_part() -> None:
    # By no name that a script is searched for, so only what was there before it is found.
    roundabout = "() => (() => 1)['con' + 'structor']('return this')()['U' + 'RL'] !== undefined"
    with sync.local() as executor:
        for _ in range(20):
            if executor.execute(roundabout).result:
                return
            time.sleep(0.7)  # What an idle worker does has no event.
    pytest.fail("no idle worker had the second part")
