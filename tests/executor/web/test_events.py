"""Event and EventTarget are the DOM's, as Node has them, without a tree."""

from __future__ import annotations

import pytest

from tooltoolexec.sync import local

from .both import of_all, probe

EVENTS = of_all(
    "new Event('x').type",
    "new Event(5).type",
    "new Event()",
    "new Event('x', 5)",
    "new Event('x', null).cancelable",
    "const e = new Event('x', { bubbles: true, cancelable: 1, composed: 'y' }); "
    "return [e.bubbles, e.cancelable, e.composed]",
    "const e = new Event('x'); "
    "return [e.bubbles, e.cancelable, e.composed, e.isTrusted, e.defaultPrevented, e.returnValue]",
    "const e = new Event('x'); return [e.target, e.currentTarget, e.srcElement, e.eventPhase, e.composedPath()]",
    "const e = new Event('x'); e.preventDefault(); return e.defaultPrevented",
    "const e = new Event('x', { cancelable: true }); e.preventDefault(); return [e.defaultPrevented, e.returnValue]",
    "const e = new Event('x'); e.cancelBubble = true; return e.cancelBubble",
    "const e = new Event('x'); e.stopPropagation(); return e.cancelBubble",
    "typeof new Event('x').timeStamp",
    "Object.prototype.toString.call(new Event('x'))",
    "Event.length",
    "[Event.NONE, Event.CAPTURING_PHASE, Event.AT_TARGET, Event.BUBBLING_PHASE]",
    "Event('x')",
    "new Event('x').type = 'y'",
    "class Mine extends Event { extra = 1 } const e = new Mine('m'); return [e.type, e.extra, e instanceof Event]",
)

REMOVED_BY_FLAG = (
    "const f = () => log.push('f'); add('x', f, { capture: true }); remove('x', f, true); return fire('x')"
)
PASSIVE = (
    "add('x', (e) => e.preventDefault(), { passive: true }); "
    "return target.dispatchEvent(new Event('x', { cancelable: true }))"
)

STOPPED = (
    "const e = new Event('x'); e.stopPropagation(); add('x', () => log.push('x')); target.dispatchEvent(e); return log"
)

TARGETS = of_all(
    "add('x', (e) => log.push(e.type, e.target === target, e.currentTarget === target, e.eventPhase)); "
    "return fire('x')",
    "add('x', function () { log.push(this === target) }); return fire('x')",
    "add('x', { handleEvent(e) { log.push(e.type, this.name) }, name: 'object' }); return fire('x')",
    "const o = {}; add('x', o); o.handleEvent = () => log.push('late'); return fire('x')",
    "const f = () => log.push('f'); add('x', f); add('x', f); return fire('x')",
    "const f = () => log.push('f'); add('x', f); add('x', f, true); return fire('x')",
    "const f = () => log.push('f'); add('x', f, { capture: true }); remove('x', f); return fire('x')",
    "const f = () => log.push('f'); add('x', f, { once: true }); fire('x'); return fire('x')",
    "add('x', () => { log.push('once'); if (log.length < 5) fire('x') }, { once: true }); return fire('x')",
    "const f = () => log.push('f'); add('x', f); remove('x', f); remove('x', f); return fire('x')",
    "add('x', () => { log.push(1); add('x', () => log.push(2)) }); fire('x'); return log",
    "const g = () => log.push('g'); add('x', () => remove('x', g)); add('x', g); return fire('x')",
    "add('x', (e) => e.stopImmediatePropagation()); add('x', () => log.push('after')); return fire('x')",
    "add('x', (e) => e.stopPropagation()); add('x', () => log.push('after')); return fire('x')",
    STOPPED,
    "add('x', (e) => e.preventDefault()); return target.dispatchEvent(new Event('x', { cancelable: true }))",
    "add('x', (e) => e.preventDefault()); return target.dispatchEvent(new Event('x'))",
    REMOVED_BY_FLAG,
    PASSIVE,
    "const e = new Event('x'); target.dispatchEvent(e); return [e.target === target, e.currentTarget, e.eventPhase]",
    "const e = new Event('x'); add('x', () => target.dispatchEvent(e)); let name = 'none'; "
    "add('x', () => { try { target.dispatchEvent(e) } catch (error) { name = error.name } }); "
    "remove('x', () => 1); return name",
    "const e = new Event('x'); add('x', () => log.push('x')); target.dispatchEvent(e); target.dispatchEvent(e); "
    "return log",
    "target.dispatchEvent({ type: 'x' })",
    "target.dispatchEvent()",
    "add('x', null); return fire('x')",
    "add('x', 5)",
    "add('x', 'text')",
    "remove('x', null)",
    "EventTarget.prototype.addEventListener.call({}, 'x', () => 1)",
    "const c = new AbortController(); add('x', () => log.push('x'), { signal: c.signal }); fire('x'); "
    "c.abort(); return fire('x')",
    "add('x', () => log.push('x'), { signal: AbortSignal.abort() }); return fire('x')",
    "add('x', () => log.push('x'), { signal: {} })",
    "add('x', () => log.push('x'), { signal: null })",
    "class Mine extends EventTarget { constructor() { super(); this.n = 1 } } const m = new Mine(); "
    "m.addEventListener('x', function () { log.push(this.n) }); m.dispatchEvent(new Event('x')); return log",
    "Object.prototype.toString.call(target)",
    "Object.keys(EventTarget.prototype).sort()",
    "EventTarget()",
    "new target.addEventListener()",
)  # fmt: skip

PRELUDE = """
let target, log;
const add = (...args) => target.addEventListener(...args);
const remove = (...args) => target.removeEventListener(...args);
const fire = (type) => { target.dispatchEvent(new Event(type)); return log; };
"""


def afresh(probes: dict[str, str]) -> dict[str, str]:
    """Each probe with a target of its own."""
    fresh = "target = new EventTarget(); log = [];"
    return {name: fresh + (source if "return" in source else f"return {source}") for name, source in probes.items()}


def test_an_event_is_as_in_node() -> None:
    probe(EVENTS)


def test_a_target_is_as_in_node() -> None:
    probe(
        afresh(TARGETS),
        prelude=PRELUDE,
        differing={
            REMOVED_BY_FLAG: ([], "A flag alone names a capturing listener, says the standard."),
            STOPPED: ([], "An event stopped before reaches no listener, says the standard."),
            PASSIVE: (True, "A passive listener cannot cancel, says the standard."),
        },
    )


@pytest.mark.parametrize("listener", ["() => { throw new Error('oops') }", "{ handleEvent: 5 }"])
def test_a_listener_that_throws_is_told_on_the_console_and_the_next_one_is_called(listener: str) -> None:
    code = (
        f"const target = new EventTarget(); target.addEventListener('x', {listener}); let called = 0;"
        "target.addEventListener('x', () => called++); return [target.dispatchEvent(new Event('x')), called]"
    )
    with local() as executor:
        run = executor.execute(code)
    assert run.result == [True, 1]
    assert [line.partition(": ")[0] for line in run.logs] in (
        ["[error] Uncaught Error"],
        ["[error] Uncaught TypeError"],
    )
