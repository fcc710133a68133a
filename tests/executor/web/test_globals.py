"""Every global that programs are promised is there and is what it is in Node; every one they must not have is not."""

from __future__ import annotations

import pytest

from .both import UNDEFINED, holds, of_all, probe, thrown

CONSOLE = (
    "log info debug warn error trace dir table assert count countReset group groupEnd time timeLog timeEnd".split()
)
FUNCTIONS = "setTimeout setInterval clearTimeout clearInterval queueMicrotask atob btoa structuredClone fetch".split()
CLASSES = (
    "URL URLSearchParams TextEncoder TextDecoder AbortController AbortSignal Event EventTarget DOMException "
    "Headers Request Response"
).split()
MEMBERS = {
    "URL.prototype": "href origin protocol username password host hostname port pathname search searchParams "
    "hash toString toJSON",
    "URL": "canParse",
    "URLSearchParams.prototype": "append delete get getAll has set sort toString forEach keys values entries size",
    "TextEncoder.prototype": "encoding encode encodeInto",
    "TextDecoder.prototype": "encoding fatal ignoreBOM decode",
    "AbortController.prototype": "signal abort",
    "AbortSignal.prototype": "aborted reason onabort throwIfAborted",
    "AbortSignal": "abort timeout any",
    "Event.prototype": (
        "type target currentTarget srcElement eventPhase bubbles cancelable composed defaultPrevented "
        "cancelBubble timeStamp composedPath preventDefault stopPropagation stopImmediatePropagation"
    ),
    "EventTarget.prototype": "addEventListener removeEventListener dispatchEvent",
    "DOMException.prototype": "name message code",
    "crypto": "getRandomValues randomUUID subtle",
    "crypto.subtle": "digest",
    "performance": "now timeOrigin",
    "Headers.prototype": "append delete get getSetCookie has set forEach keys values entries",
    "Request.prototype": "method url headers signal body bodyUsed clone text json arrayBuffer blob",
    "Response.prototype": "status statusText ok headers url type redirected body bodyUsed clone text json arrayBuffer",
    "Response": "error json redirect",
}
LIBRARY = (
    "Object Function Array String Number Boolean Symbol BigInt Math JSON Reflect Proxy Promise Map Set WeakMap "
    "WeakSet Date "
    "RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError ArrayBuffer "
    "DataView "
    "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array "
    "BigInt64Array BigUint64Array Intl parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent "
    "encodeURI "
    "decodeURI escape unescape eval globalThis NaN Infinity undefined"
).split()
ABSENT = (
    "WebAssembly SharedArrayBuffer Atomics FinalizationRegistry WeakRef require process module exports Buffer global "
    "__dirname __filename setImmediate XMLHttpRequest WebSocket Worker window self document navigator localStorage "
    "MAILBOX notify post words entry run __enter Deno Bun"
).split()


def test_every_promised_name_is_of_the_kind_it_is_in_node() -> None:
    names = [*FUNCTIONS, *CLASSES, "console", "crypto", "performance", *LIBRARY]
    probe(of_all(*[f"typeof {name}" for name in names]))
    holds({f"typeof {name}": "function" for name in [*FUNCTIONS, *CLASSES]})


def test_temporal_and_intl_are_there() -> None:
    """Node 20 has no Temporal yet."""
    holds(
        {
            "Temporal.PlainDate.from('2024-02-29').add({ years: 1 }).toString()": "2025-02-28",
            "new Intl.NumberFormat().format(1234.5)": "1,234.5",
            "new Date(0).toLocaleString()": "1/1/1970, 12:00:00 AM",
            "Intl.DateTimeFormat().resolvedOptions().timeZone": "UTC",
        }
    )


@pytest.mark.parametrize("holder", MEMBERS)
def test_every_member_is_of_the_kind_it_is_in_node(holder: str) -> None:
    kind = "const d = (o) => o && (Object.getOwnPropertyDescriptor(o, key) ?? d(Object.getPrototypeOf(o)));"
    names = [name for name in MEMBERS[holder].split() if name != "blob"]
    find = f"{kind} const p = d({holder}); return p && [typeof p.value, typeof p.get, typeof p.set, p.value?.length]"
    probe({name: f"const key = '{name}'; {find}" for name in names})


def test_the_console_has_every_method() -> None:
    holds({f"typeof console.{name}": "function" for name in CONSOLE})


def test_every_class_is_a_class() -> None:
    """With a tag, a prototype that cannot be exchanged, and no call without `new`."""
    for name in CLASSES:
        probe(
            of_all(
                f"{name}.name",
                f"{name}.length",
                f"Object.getOwnPropertyDescriptor({name}.prototype, Symbol.toStringTag)?.value",
                f"Object.getOwnPropertyDescriptor({name}, 'prototype').writable",
                f"{name}.prototype.constructor === {name}",
                f"{name}()",
                f"Object.keys(Object.getOwnPropertyDescriptor(globalThis, '{name}'))",
            )
        )


def test_methods_are_no_constructors() -> None:
    holds({f"new {name}()": thrown("TypeError") for name in FUNCTIONS})
    holds(
        {
            f"new {method}()": thrown("TypeError")
            for method in (
                "AbortSignal.abort",
                "crypto.randomUUID",
                "performance.now",
                "new EventTarget().addEventListener",
            )
        }
    )


@pytest.mark.parametrize("name", ABSENT)
def test_what_must_not_be_there_is_not(name: str) -> None:
    holds({f"typeof {name}": "undefined", f"globalThis.{name}": UNDEFINED, f"'{name}' in globalThis": False})


def test_nothing_is_imported() -> None:
    holds({"eval(\"import('fs')\").then(() => 'imported', () => 'refused')": "refused"})


def test_no_other_names_are_global() -> None:
    """Whatever is added must be added to the page on globals, and here."""
    objects = "console crypto performance Temporal Crypto SubtleCrypto Performance".split()
    newer = "Iterator Float16Array SuppressedError DisposableStack AsyncDisposableStack".split()
    known = ", ".join(repr(name) for name in [*FUNCTIONS, *CLASSES, *LIBRARY, *objects, *newer])
    holds({f"Object.getOwnPropertyNames(globalThis).filter((name) => ![{known}].includes(name))": []})
