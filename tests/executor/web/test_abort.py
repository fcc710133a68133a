"""AbortController and AbortSignal are the DOM's, as Node has them."""

from __future__ import annotations

from tooltoolexec.sync import local

from .both import holds, of_all, probe

PRELUDE = """
const log = [];
const soon = (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
const aborted = (...signals) => signals.map((signal) => signal.aborted);
"""


def test_controllers_and_signals_are_as_in_node() -> None:
    probe(
        of_all(
            "const c = new AbortController(); "
            "return [c.signal === c.signal, c.signal.aborted, c.signal.reason, c.signal.onabort]",
            "const c = new AbortController(); c.abort(); return [c.signal.aborted, c.signal.reason]",
            "const c = new AbortController(); c.abort(5); c.abort(6); return c.signal.reason",
            "const c = new AbortController(); c.abort(null); return c.signal.reason",
            "const c = new AbortController(); c.abort(undefined); return c.signal.reason.code",
            "AbortSignal.abort().throwIfAborted()",
            "try { AbortSignal.abort('why').throwIfAborted() } catch (e) { return e }",
            "new AbortController().signal.throwIfAborted()",
            "AbortController()",
            "Object.prototype.toString.call(new AbortController())",
            "Object.prototype.toString.call(AbortSignal.abort())",
            "AbortSignal.abort() instanceof EventTarget",
            "Object.getPrototypeOf(AbortSignal) === EventTarget",
            "Object.keys(AbortController.prototype).sort()",
            "[AbortSignal.abort.length, AbortSignal.timeout.length, AbortSignal.any.length]",
            "AbortController.prototype.signal",
            "const s = AbortSignal.abort(); s.onabort = 5; return s.onabort",
        ),
        messages=True,
        prelude=PRELUDE,
        differing={
            "const s = AbortSignal.abort(); s.onabort = 5; return s.onabort": (
                None,
                "The standard makes null of what is no object.",
            )
        },
    )
    probe(of_all("new AbortSignal()", "new AbortSignal({})"))


def test_an_abort_is_one_event() -> None:
    probe(
        of_all(
            "const c = new AbortController(); let n = 0; c.signal.onabort = () => n++; c.abort(); c.abort(); "
            "return n",
            "const c = new AbortController(); const log = []; "
            "c.signal.addEventListener('abort', () => log.push('a')); "
            "c.signal.onabort = () => log.push('on'); c.signal.addEventListener('abort', () => log.push('b')); "
            "c.abort(); return log",
            "const c = new AbortController(); const log = []; c.signal.onabort = () => log.push('first'); "
            "c.signal.addEventListener('abort', () => log.push('a')); "
            "c.signal.onabort = () => log.push('second'); c.abort(); return log",
            "const c = new AbortController(); let n = 0; c.signal.onabort = () => n++; c.signal.onabort = null; "
            "c.abort(); return n",
            "const c = new AbortController(); let e; c.signal.onabort = (event) => e = event; c.abort(); "
            "return [e.type, e.isTrusted, e.target === c.signal, e.bubbles, e.cancelable]",
            "const c = new AbortController(); let self; c.signal.onabort = function () { self = this }; "
            "c.abort(); return self === c.signal",
            "const s = AbortSignal.abort(); let n = 0; s.addEventListener('abort', () => n++); return n",
            "const c = new AbortController(); let n = 0; c.signal.addEventListener('abort', () => n++); "
            "c.signal.dispatchEvent(new Event('abort')); return [n, c.signal.aborted]",
        )
    )  # fmt: skip


def test_a_signal_of_several_follows_each() -> None:
    probe(
        of_all(
            "const a = new AbortController(), b = new AbortController(); "
            "const s = AbortSignal.any([a.signal, b.signal]); "
            "b.abort('b'); a.abort('a'); return [s.aborted, s.reason]",
            "AbortSignal.any([]).aborted",
            "AbortSignal.any(new Set([AbortSignal.abort('x')])).reason",
            "AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason",
            "AbortSignal.any([{}])",
            "AbortSignal.any()",
            "AbortSignal.any(5)",
            "const c = new AbortController(); "
            "const s = AbortSignal.any([AbortSignal.any([c.signal]), AbortSignal.any([c.signal])]); "
            "let n = 0; s.onabort = () => n++; c.abort(7); return [n, s.reason]",
            "const c = new AbortController(); const s = AbortSignal.any([c.signal, c.signal]); let n = 0; "
            "s.onabort = () => n++; c.abort(); return n",
            "const c = new AbortController(); return AbortSignal.any([c.signal]) === c.signal",
        ),
        differing={
            "AbortSignal.any(new Set([AbortSignal.abort('x')])).reason": ("x", "The standard takes any iterable."),
        },
    )  # fmt: skip


def test_all_that_follow_are_aborted_before_any_listener_runs() -> None:
    """As the standard says since 2024; Node 20 tells one signal after the other."""
    holds(
        {
            "const c = new AbortController(); const s = AbortSignal.any([c.signal]); let seen;"
            "c.signal.onabort = () => { seen = s.aborted }; c.abort(); return seen": True,
        }
    )


def test_a_timeout_is_as_in_node() -> None:
    probe(
        of_all(
            "const s = AbortSignal.timeout(1); const early = s.aborted; const keep = setTimeout(() => 1, 1000); "
            "const reason = await soon(s); clearTimeout(keep); return [early, s.aborted, reason, reason.code]",
            "const s = AbortSignal.any([AbortSignal.timeout(1), new AbortController().signal]); "
            "const keep = setTimeout(() => 1, 1000); const reason = await soon(s); clearTimeout(keep); "
            "return reason.name",
            "AbortSignal.timeout(0).aborted",
        ),
        prelude=PRELUDE,
        messages=True,
    )
    holds(
        {
            f"AbortSignal.timeout({odd})": {"thrown": "TypeError"}
            for odd in ("", "-1", "NaN", "Infinity", "2 ** 53", "'x'")
        }
    )


def test_a_far_timeout_does_not_fire_at_once() -> None:
    holds(
        {
            "const s = AbortSignal.timeout(2 ** 40); await new Promise((r) => setTimeout(r, 5)); "
            "return s.aborted": False,
        }
    )


def test_a_program_that_waits_for_a_timeout_alone_gets_it() -> None:
    """Where Node would end, because such a timer keeps no process alive."""
    with local() as executor:
        run = executor.execute(
            "await new Promise((resolve) => AbortSignal.timeout(1).onabort = resolve); return 'told'"
        )
    assert run.result == "told"
