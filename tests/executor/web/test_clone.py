"""structuredClone copies what the HTML standard says can be copied, and refuses the rest as Node does."""

from __future__ import annotations

from .both import holds, of_all, probe

VALUES = of_all(
    "structuredClone(undefined)",
    "[null, true, 5, -0, NaN, Infinity, 'text', 5n, '\\ud800'].map((x) => structuredClone(x))",
    "[Object(true), Object('t'), Object(5), Object(5n)].map((x) => { const c = structuredClone(x); "
    "return [typeof c, c.constructor.name, c.valueOf()] })",
    "structuredClone(new Date(86400000))",
    "structuredClone(new Date(NaN)).getTime()",
    "const r = /a(b)/gimsuy; r.lastIndex = 3; const c = structuredClone(r); return [String(c), c.lastIndex, c !== r]",
    "structuredClone(/[a]\\n/v).source",
    "structuredClone({ a: 1, b: { c: [1, 2] }, u: undefined, [Symbol('s')]: 1 })",
    "const c = structuredClone([1, , 3]); return [c.length, 1 in c]",
    "const a = [1]; a.extra = { x: 1 }; return structuredClone(a).extra",
    "structuredClone(new Array(5)).length",
    "structuredClone(Object.assign([], { length: 2 ** 32 - 1 })).length",
    "structuredClone(new Map([[{ k: 1 }, [1]], ['b', new Map()]]))",
    "structuredClone(new Set([1, 'a', { x: 1 }]))",
    "structuredClone(Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true }, hidden: { value: 2 } }))",
    "structuredClone({ get a() { return 7 } })",
    "Object.getOwnPropertyDescriptor(structuredClone({ get a() { return 7 } }), 'a')",
    "class P { x = 1; #y = 2; get z() { return 3 } m() {} } const c = structuredClone(new P()); "
    "return [c.constructor === Object, c]",
    "structuredClone(Object.freeze({ a: 1 })).a = 2",
    "Object.isFrozen(structuredClone(Object.freeze([1])))",
    "Object.getPrototypeOf(structuredClone(Object.create(null))) === Object.prototype",
    "Object.hasOwn(structuredClone(JSON.parse('{\"__proto__\": 1}')), '__proto__')",
    "class M extends Map {} return structuredClone(new M([[1, 2]])).constructor === Map",
    "class A extends Array {} return structuredClone(A.of(1)).constructor === Array",
    "structuredClone(Object.create(Map.prototype)) instanceof Map",
    "structuredClone(Object.create(Date.prototype, { a: { value: 1, enumerable: true } }))",
)

IDENTITIES = of_all(
    "const o = {}; o.self = o; const c = structuredClone(o); return [c.self === c, c !== o]",
    "const x = {}; const c = structuredClone([x, x]); return c[0] === c[1]",
    "const m = new Map(); m.set(m, m); const c = structuredClone(m); return c.get(c) === c",
    "const s = new Set(); s.add(s); const c = structuredClone(s); return c.has(c)",
    "const d = new Date(0); const c = structuredClone([d, d]); return c[0] === c[1]",
    "const n = Object(1); const c = structuredClone([n, n]); return c[0] === c[1]",
    "let n = 0; const o = { get a() { o.b = 'set'; return ++n }, b: 'first' }; return structuredClone(o)",
    "const o = { get a() { delete o.b; return 1 }, b: 2 }; return structuredClone(o)",
    "const m = new Map([[1, { get x() { m.set(2, 2); return 1 } }]]); return structuredClone(m).size",
)

BYTES = of_all(
    "structuredClone(new Uint8Array([1, 2, 3]).buffer)",
    "[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, "
    "Float64Array]"
    ".map((View) => structuredClone(new View([1, 2, 3])))",
    "structuredClone(new BigInt64Array([-1n]))",
    "const b = new Uint8Array([1, 2, 3, 4]).buffer; "
    "const c = structuredClone([new Uint8Array(b, 1, 2), new DataView(b, 2), b]); "
    "return [c[0].buffer === c[2], c[1].buffer === c[2], c[0].byteOffset, c[0].length, c[1].byteOffset, "
    "c[1].byteLength, c[2]]",
    "const u = new Uint8Array([1]); const c = structuredClone(u); u[0] = 9; return c[0]",
    "const b = new ArrayBuffer(8); const c = structuredClone(b, { transfer: [b] }); "
    "return [b.byteLength, c.byteLength]",
    "const b = new ArrayBuffer(8); structuredClone(1, { transfer: [b] }); return b.byteLength",
    "const u = new Uint8Array([1, 2]); const c = structuredClone({ u }, { transfer: [u.buffer] }); "
    "return [u.length, c.u]",
    "const b = new ArrayBuffer(8); return structuredClone(1, { transfer: [b, b] })",
    "const b = new ArrayBuffer(8); structuredClone(1, { transfer: [b] }); return structuredClone(b)",
    "const b = new ArrayBuffer(8); try { structuredClone(() => 1, { transfer: [b] }) } catch {} return b.byteLength",
    "structuredClone(1, { transfer: 5 })",
    "structuredClone(1, null)",
    "structuredClone(1, 5)",
)

ERRORS = of_all(
    *[
        f"const e = new {name}('m'); const c = structuredClone(e); "
        f"return [c.constructor.name, c.name, c.message, c.stack === e.stack]"
        for name in ("Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError")
    ],
    "class Mine extends TypeError {} const c = structuredClone(new Mine('m')); return [c.constructor.name, c.name]",
    "const e = new TypeError('m'); e.name = 'Other'; const c = structuredClone(e); return [c.constructor.name, c.name]",
    "const e = new Error('m'); e.extra = 1; return structuredClone(e).extra",
    "Object.keys(structuredClone(new Error('m', { cause: 1 })))",
    "'message' in Object.getOwnPropertyDescriptors(structuredClone(new Error()))",
    "structuredClone(new Error('m', { cause: { a: new Error('inner') } })).cause.a.message",
)

REFUSED = of_all(
    "structuredClone(() => 1)",
    "structuredClone(function named() {})",
    "structuredClone(class A {})",
    "structuredClone(Symbol('s'))",
    "structuredClone(Promise.resolve())",
    "structuredClone(new WeakMap())",
    "structuredClone(new WeakSet())",
    "structuredClone(new Proxy({}, {}))",
    "structuredClone({ deep: [{ f() {} }] })",
    "structuredClone(new Map([[Symbol('k'), 1]]))",
)


def test_values_are_copied_as_in_node() -> None:
    probe(VALUES)


def test_identity_and_order_are_as_in_node() -> None:
    probe(IDENTITIES)


def test_an_error_may_be_its_own_cause() -> None:
    holds({"const e = new Error('e'); e.cause = e; const c = structuredClone(e); return c.cause === c": True})


def test_bytes_are_copied_and_transferred_as_in_node() -> None:
    probe(BYTES)


def test_errors_are_copied_as_in_node() -> None:
    probe(ERRORS)


def test_what_has_no_copy_is_refused_with_nodes_words() -> None:
    probe(REFUSED, messages=True)


def test_what_a_getter_throws_comes_out() -> None:
    probe(of_all("structuredClone({ get a() { throw new RangeError('mine') } })", "structuredClone()"))


def test_the_runtimes_own_objects_are_refused() -> None:
    """The standard lets no object of the platform be copied but those it names, among them DOMException."""
    refused = (
        "new AbortController()",
        "AbortSignal.abort()",
        "new Event('x')",
        "new EventTarget()",
        "performance",
        "crypto",
    )
    holds({f"structuredClone({source})": {"thrown": "DataCloneError"} for source in refused})
    holds(
        {
            "const c = structuredClone(new DOMException('m', 'AbortError'));"
            "return [c instanceof DOMException, c.name, c.message, c.code]": [True, "AbortError", "m", 20]
        }
    )


def test_a_buffer_that_is_gone_cannot_be_transferred_again() -> None:
    """Nor does anything come of the call; Node 20 overlooks it when the value does not need the buffer."""
    holds(
        {
            "const b = new ArrayBuffer(8); structuredClone(1, { transfer: [b] }); "
            "return structuredClone(1, { transfer: [b] })": {"thrown": "DataCloneError"}
        }
    )


def test_a_nesting_too_deep_is_an_error_and_no_crash() -> None:
    holds(
        {
            "let deep = []; for (let i = 0; i < 2e5; i++) deep = [deep]; return structuredClone(deep)": {
                "thrown": "RangeError"
            },
            "let deep = new Map(); for (let i = 0; i < 2e5; i++) deep = new Map([[1, deep]]); "
            "return structuredClone(deep)": {"thrown": "RangeError"},
        }
    )
