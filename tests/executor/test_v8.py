"""mini-racer's C interface, by behaviour: what the worker relies on, and what is wrong with it and worked around."""

from __future__ import annotations

import threading

from .isolates import Bench


def test_everything_is_reported_on_one_thread_that_is_not_the_callers() -> None:
    bench = Bench()
    bench.start("async () => { console.log('x'.repeat(200000)); return await store.f() }")
    assert bench.notified > 0
    assert len(bench.threads) == 1
    assert threading.get_ident() not in bench.threads


def test_microtasks_run_after_the_step_that_queued_them_and_before_the_rest() -> None:
    bench = Bench()
    bench.start("async () => { for (let i = 0; i < 50; i++) await null; console.log('after'); await store.f() }")
    assert bench.taken("l") == [["log", "after"]]
    assert bench.taken("c") == [[1, "store", "f", "[]"]]


def test_a_script_that_does_not_compile_tells_line_and_place() -> None:
    completion = Bench().evaluate("let a = 1;\nlet b = ;\n")
    assert completion.failed
    assert "<anonymous>:2: SyntaxError: Unexpected token ';'\nlet b = ;\n        ^" in completion.text


def test_an_exceptions_text_is_cut_at_nul_so_texts_of_programs_never_go_that_way() -> None:
    completion = Bench().evaluate("throw new Error('before\\0after')")
    assert completion.failed
    assert "before" in completion.text
    bench = Bench()
    bench.start("async () => { throw new Error('before\\0after') }")
    assert bench.taken("d")[0]["failure"]["message"] == "before\0after"


def test_the_heap_limit_ends_javascript_and_its_flag_stays() -> None:
    bench = Bench()
    bench.isolate.limit_heap(32 << 20)
    completion = bench.evaluate("const a = []; for (;;) a.push({ x: a.length })")
    assert completion.failed
    assert completion.out_of_memory
    assert bench.isolate.outgrew_heap
    bench.evaluate("1")
    assert bench.isolate.outgrew_heap


def test_outgrowing_the_heap_in_a_microtask_raises_nothing_and_only_the_flag_tells() -> None:
    bench = Bench()
    bench.isolate.limit_heap(32 << 20)
    bench.start("async () => { await null; const a = []; for (;;) a.push({ x: a.length }) }")
    assert bench.isolate.outgrew_heap
    assert not bench.taken("d")


def test_the_buffer_is_shared_memory_in_both_directions() -> None:
    bench = Bench()
    bench.mailbox.put(b'{"type":"answers","answers":[]}')
    assert bytes(bench.isolate.memory).count(b'{"type":"answers"') == 1
    bench.start("async () => 1")
    assert bench.taken("d") == [{"result": 1}]
    assert not bench.faults
