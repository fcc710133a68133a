"""DOMException is Web IDL's: what it says of itself, and that it is an Error like any other."""

from __future__ import annotations

from .both import holds, of_all, probe

PRELUDE = 'const it = new DOMException("gone", "AbortError");'


def test_it_is_as_in_node() -> None:
    probe(
        of_all(
            "it.name",
            "it.message",
            "it.code",
            "it instanceof DOMException",
            "it instanceof Error",
            "Object.getPrototypeOf(DOMException.prototype) === Error.prototype",
            "Object.prototype.toString.call(it)",
            "String(it)",
            "`${new DOMException()}|${new DOMException('m')}|${new DOMException('m', 'Mine')}`",
            "new DOMException().name",
            "new DOMException('m', 'Mine').code",
            "new DOMException(undefined, undefined).message",
            "new DOMException(7, 8).name",
            "typeof it.stack",
            "it.stack.split('\\n')[0]",
            "Object.hasOwn(it, 'message')",
            "Object.keys(it)",
            "JSON.stringify(it)",
            "DOMException.length",
            "DOMException.name",
            "DOMException('called')",
            "DOMException.prototype.name",
            "({ __proto__: DOMException.prototype }).message",
            "it.name = 'Other'",
            "typeof Object.getOwnPropertyDescriptor(DOMException.prototype, 'code').set",
            "class Mine extends DOMException {} return new Mine('m', 'DataCloneError').code",
            "class Mine extends DOMException {} return new Mine() instanceof Mine",
        ),
        prelude=PRELUDE,
    )


def test_every_legacy_name_has_its_code_and_its_constant() -> None:
    names = (
        "IndexSizeError HierarchyRequestError WrongDocumentError InvalidCharacterError NoModificationAllowedError "
        "NotFoundError NotSupportedError InUseAttributeError InvalidStateError SyntaxError InvalidModificationError "
        "NamespaceError InvalidAccessError TypeMismatchError SecurityError NetworkError AbortError URLMismatchError "
        "QuotaExceededError TimeoutError InvalidNodeTypeError DataCloneError EncodingError NotReadableError "
        "OptOutError"
    ).split()
    probes = of_all(*[f"new DOMException('', '{name}').code" for name in names])
    constants = "Object.entries(DOMException).filter(([key]) => key.endsWith('_ERR')).sort()"
    on_prototype = "Object.keys(DOMException.prototype).filter((key) => key.endsWith('_ERR')).sort()"
    fixed = "Object.getOwnPropertyDescriptor(DOMException, 'ABORT_ERR')"
    probe(probes | of_all(constants, on_prototype, fixed))


def test_a_stack_has_the_programs_frames_alone() -> None:
    lines = "new DOMException('m').stack.split('\\n').slice(1)"
    holds({f"{lines}.length > 0": True, f"{lines}.every((line) => line.includes('program.js'))": True})
