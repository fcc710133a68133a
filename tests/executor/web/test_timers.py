"""setTimeout, setInterval, their clears and queueMicrotask: what runs, with what, and in which order."""

from __future__ import annotations

from typing import Any

from tooltoolexec.sync import local

from .both import of_all, probe, thrown

# Delays differ by much where their order is claimed, so that a busy machine does not change it.
ORDERS = of_all(
    "setTimeout(tell, 1, 'a'); setTimeout(tell, 1, 'b'); setTimeout(tell, 1, 'c'); return after(60)",
    "setTimeout(tell, 150, 'late'); setTimeout(tell, 1, 'soon'); return after(300)",
    "setTimeout(tell, 0, 'zero'); setTimeout(tell, 1, 'one'); setTimeout(tell, undefined, 'none'); return after(60)",
    "setTimeout(tell, -5, 'negative'); setTimeout(tell, NaN, 'NaN'); setTimeout(tell, 'x', 'text'); return after(60)",
    "setTimeout(tell, '1', 'a'); setTimeout(tell, 1.9, 'b'); setTimeout(tell, 2 ** 40, 'far'); return after(60)",
    "setTimeout(() => { tell('outer'); setTimeout(tell, 0, 'inner') }, 0); return after(60)",
    "setTimeout(() => { tell(1); Promise.resolve().then(() => tell('micro')) }, 1); setTimeout(tell, 1, 2); "
    "return after(60)",
    "setTimeout((...args) => tell(args.length, ...args), 1, 'a', undefined, null); return after(60)",
    "setTimeout(function () { tell(arguments.length) }, 1); return after(60)",
    "const id = setTimeout(tell, 1, 'x'); clearTimeout(id); return after(60)",
    "const id = setTimeout(tell, 1, 'x'); clearInterval(id); return after(60)",
    "const id = setTimeout(tell, 1, 'x'); clearTimeout(String(+id)); return after(60)",
    "let id; setTimeout(() => clearTimeout(id), 1); id = setTimeout(tell, 1, 'x'); return after(60)",
    "const id = setTimeout(() => { clearTimeout(id); tell('own') }, 1); return after(60)",
    "let n = 0; const id = setInterval(() => { tell(++n); if (n === 3) clearInterval(id) }, 1); return after(120)",
    "let n = 0; const id = setInterval((x) => { tell(x); if (++n === 2) clearTimeout(id) }, 1, 'arg'); "
    "return after(120)",
    "const id = setInterval(tell, 1, 'never'); clearInterval(id); return after(60)",
    "queueMicrotask(() => tell('micro')); setTimeout(tell, 0, 'timer'); tell('now'); return after(60)",
    "queueMicrotask(() => { tell(1); queueMicrotask(() => tell(3)) }); queueMicrotask(() => tell(2)); return after(60)",
    "Promise.resolve().then(() => tell('then')); queueMicrotask(() => tell('micro')); return after(60)",
    "queueMicrotask((...args) => tell(args.length)); return after(60)",
)

REFUSALS = of_all(
    "setTimeout('tell(1)', 1)",
    "setTimeout()",
    "setTimeout(null, 1)",
    "setInterval({}, 1)",
    "queueMicrotask()",
    "queueMicrotask('tell(1)')",
    "setTimeout(() => 1, Symbol())",
    "setTimeout(() => 1, 1n)",
)

ODD_IDS = of_all(
    *[
        f"clearTimeout({odd})"
        for odd in ("", "undefined", "null", "0", "-1", "1e9", "NaN", "'x'", "{}", "[]", "() => 1")
    ],
    *[f"clearInterval({odd})" for odd in ("", "true", "Symbol()", "5n")],
)

PRELUDE = """
let told;
const tell = (...args) => told.push(...args);
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms, told));
"""


def result_of(code: str, **options: Any) -> Any:
    with local() as executor:
        run = executor.execute(code, **options)
    assert run.error is None, run.error
    return run


def test_orders_are_as_in_node() -> None:
    probe({name: f"told = []; {source}" for name, source in ORDERS.items()}, prelude=PRELUDE)


def test_what_is_no_callback_or_no_delay_is_refused_as_in_node() -> None:
    probe(REFUSALS)


def test_clearing_what_is_no_timer_is_harmless_as_in_node() -> None:
    probe(ODD_IDS)


def test_an_id_is_a_number_that_no_other_timer_has() -> None:
    run = result_of("const ids = [setTimeout(() => 1), setInterval(() => 1, 9), setTimeout(() => 1)]; return ids")
    assert len(set(run.result)) == 3
    assert all(isinstance(number, int) and number > 0 for number in run.result)


def test_a_callback_that_throws_is_told_on_the_console_and_the_rest_goes_on() -> None:
    run = result_of(
        "setTimeout(() => { throw new TypeError('timer') }, 1); queueMicrotask(() => { throw 'micro' });"
        "let n = 0; const id = setInterval(() => { if (++n === 2) clearInterval(id); "
        "throw new Error('every ' + n) }, 1);"
        "await new Promise((resolve) => setTimeout(resolve, 100)); return n"
    )
    told = [line.split("\n")[0] for line in run.logs]
    assert run.result == 2
    assert told[0] == "[error] Uncaught 'micro'"
    assert sorted(told[1:]) == [
        "[error] Uncaught Error: every 1",
        "[error] Uncaught Error: every 2",
        "[error] Uncaught TypeError: timer",
    ]


def test_a_program_that_waits_for_a_cleared_timer_is_told_so_at_once() -> None:
    with local() as executor:
        run = executor.execute("await new Promise((resolve) => clearTimeout(setTimeout(resolve, 2 ** 31 - 1)))")
    assert run.failure is not None
    assert run.failure.kind == "stalled"


def test_cleared_timers_hold_nothing() -> None:
    """Each keeps 64 KiB alive until it leaves; together more than a run may have."""
    run = result_of(
        "for (let i = 0; i < 8000; i++) { const kept = new Array(8192).fill(i);"
        "clearTimeout(setTimeout(() => kept, 1e6 + ((i * 7919) % 1000))) } return 'done'"
    )
    assert run.result == "done"


def test_many_timers_fire_in_the_order_of_their_times_whichever_are_cleared() -> None:
    code = """
    const told = [], ids = [];
    const begun = Date.now();
    for (let i = 0; i < 500; i++) {
      const at = 20 + ((i * 7919) % 97) * 3;
      ids.push(setTimeout(() => told.push(at), at));
    }
    const took = Date.now() - begun + 1;
    for (let i = 0; i < 500; i += 3) clearTimeout(ids[i]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    return [told.length, told.every((at, i) => i === 0 || told[i - 1] <= at + took)]
    """
    assert result_of(code).result == [333, True]


def test_names_and_kinds() -> None:
    names = ("setTimeout", "setInterval", "clearTimeout", "clearInterval", "queueMicrotask", "structuredClone")
    probe(of_all(*[f"{name}.name" for name in names]))
    with local() as executor:
        run = executor.execute("try { new setTimeout(() => 1) } catch (error) { return error.name }")
    assert {"thrown": run.result} == thrown("TypeError")
