"""Values between Python and JSON text, as a tool's arguments and answers cross.

Bytes cross as ``{"__executor_binary_v1__": "Uint8Array", "data": "<base64>"}``, at any depth. The JavaScript half of
this codec is the executor's ``runtime/codec.js``; both must agree on what counts as such an object.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any, NoReturn

import msgspec

from tooltoolexec_protocol import limits, texts
from tooltoolexec_protocol.errors import CodecError

BINARY_KEY = "__executor_binary_v1__"
BINARY_TAGS = frozenset({"Uint8Array", "ArrayBuffer", "ArrayBufferView"})
MAX_SAFE_INTEGER = 2**53 - 1
_SHOWN_BITS = 14_000  # Python itself refuses to write integers of more than 4300 digits.


def stringify_for_dispatch(value: Any) -> str:
    """`value` as the JSON text a program's runtime reads.

    Dataclasses, attrs, msgspec and pydantic objects, datetimes, UUIDs, Decimals, enums and sets take the form
    `msgspec.to_builtins` gives them; `bytes`, `bytearray` and `memoryview` stay bytes. NaN and infinities become null.

    Raises:
        CodecError: an integer no JavaScript number holds, a nesting deeper than 500, a cycle, or a type with no form.
    """
    try:
        return _json_text(_to_json_value(value))
    except RecursionError:  # Far deeper, a cycle, or a caller near its own stack's end.
        raise CodecError(_too_deep()) from None


def _json_text(value: Any) -> str:
    """JSON as it is measured and sent: escapes only where UTF-8 cannot carry the text, which is at lone surrogates."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def _to_json_value(value: Any) -> Any:
    try:
        plain = msgspec.to_builtins(
            value, builtin_types=(bytes, bytearray, memoryview), str_keys=True, enc_hook=_encode_other
        )
    except (TypeError, msgspec.ValidationError) as error:
        raise CodecError(f"The value cannot cross to a program: {error}") from None
    return _tag_bytes(plain, 0)


def _encode_other(value: Any) -> Any:
    if isinstance(value, str):  # Subclasses of the plain types, numpy's float64 among them.
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    model_dump = getattr(value, "model_dump", None)  # pydantic's models
    if callable(model_dump):
        return model_dump(mode="python")
    # Without the type's name: a program reads this text.
    raise TypeError("it has no JSON form; return a dict, list, text or number instead")


def _tag_bytes(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            raise CodecError(
                texts.integer_out_of_range(value if value.bit_length() < _SHOWN_BITS else "(too long to show)")
            )
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray | memoryview):
        data = base64.b64encode(bytes(value)).decode("ascii")
        return {BINARY_KEY: "Uint8Array", "data": data}
    if depth == limits.VALUE_DEPTH:
        raise CodecError(_too_deep())
    # Loops, not comprehensions: until Python 3.12 those are frames of their own, and 500 levels of two are too many.
    if isinstance(value, dict):
        tagged = {}
        for key, item in value.items():
            tagged[key] = _tag_bytes(item, depth + 1)
        return tagged
    items = []
    for item in value:
        items.append(_tag_bytes(item, depth + 1))  # noqa: PERF401 - see above
    return items


def _too_deep() -> str:
    return texts.compose(texts.TOO_DEEP, n=limits.VALUE_DEPTH)


def parse_for_dispatch(text: str) -> Any:
    """The value of a program's JSON text, bytes rebuilt.

    Raises:
        CodecError: `text` is no JSON, or nested deeper than 500.
    """
    return rebuild_bytes(_decode(text))


def _decode(text: str) -> Any:
    try:
        return _JSON.decode(text)
    except RecursionError:
        raise CodecError(_too_deep()) from None
    except ValueError as error:
        raise CodecError(f"The text is no JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_JSON = json.JSONDecoder(parse_constant=_no_constant)


def rebuild_bytes(value: Any) -> Any:
    """A decoded JSON value with its tagged objects replaced by bytes, in place where that is possible.

    Raises:
        CodecError: the value is nested deeper than 500.
    """
    try:
        return _rebuild(value, 0)
    except RecursionError:
        raise CodecError(_too_deep()) from None


def _rebuild(value: Any, depth: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if isinstance(value, dict):
        data = _bytes_of(value)
        if data is not None:
            return data
    if depth == limits.VALUE_DEPTH:
        raise CodecError(_too_deep())
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, item in items:
        if isinstance(item, dict | list):
            value[key] = _rebuild(item, depth + 1)
    return value


def _bytes_of(value: dict[str, Any]) -> bytes | None:
    """The bytes a tagged object stands for; None for every other object, one with a third key included."""
    if len(value) != 2:  # noqa: PLR2004 - the tag and the data
        return None
    tag, data = value.get(BINARY_KEY), value.get("data")
    if not isinstance(tag, str) or tag not in BINARY_TAGS or not isinstance(data, str):
        return None
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Only the canonical text: the decoder takes stray bits in the last character, the sandbox does not.
    return decoded if base64.b64encode(decoded).decode("ascii") == data else None


def parse_dispatch_arguments(args_json: str) -> list[Any]:
    """A call's arguments as a list, bytes rebuilt. A payload that is no array becomes the only argument.

    Raises:
        CodecError: as `parse_for_dispatch`.
    """
    value = _decode(args_json)
    # Item by item: the list is the call's own and is no level of a value.
    return [rebuild_bytes(item) for item in value] if isinstance(value, list) else [rebuild_bytes(value)]
