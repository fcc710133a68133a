"""A result as JSON of at most so many characters.

What does not fit is cut where it can be cut and stays JSON: a long text keeps its beginning, an array and an object
their first items, and each says how much is left out. Items share the room: small ones are shown whole and the large
ones get equal parts of the rest, so one giant does not hide its neighbours. What that costs in time depends on the
room, not on the size of the value.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from itertools import islice
from json.encoder import encode_basestring
from typing import Any

import msgspec

from tooltoolexec.describe.characters import ELLIPSIS, boundary, left_out
from tooltoolexec.handles import BlockingHandle, Handle

LEAST_ROOM = 3
"""Characters that any value fits into: those of `"…"`."""
_NOTHING = f'"{ELLIPSIS}"'
_DEEPEST = 60
_SHOWN_BYTES = 48
_ITEM_PARTS = 4
_LEAST_ITEM = 32
_FIELD_PARTS = 32
_LEAST_FIELD = 16
# What UTF-8 cannot carry, or a terminal obeys. In JSON it occurs only inside texts, where an escape will do.
_UNFIT = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def whole_text(value: Any) -> str | None:
    """All of `value` as JSON in one line; None where Python cannot write it in one go."""
    try:
        return _fit_for_utf8(_encoded(value))
    except (RecursionError, ValueError):
        return None


def _encoded(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except ValueError:  # NaN or an infinity, which no program can give.
        return _ENCODER.encode(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def whole_size(value: Any) -> int:
    """How many characters all of `value` has as JSON, however deep it is nested."""
    size = 0
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            size += max(2, len(item) + 1) + sum(len(_quoted(key)) + 1 for key in item)
            todo.extend(item.values())
        elif isinstance(item, list):
            size += max(2, len(item) + 1)
            todo.extend(item)
        else:
            size += len(_leaf(item))
    return size


def fit(value: Any, room: int) -> str:
    """`value` as JSON in at most `room` characters, of which there must be `LEAST_ROOM`."""
    try:
        return _Cutter().fit(value, room, _DEEPEST)
    except RecursionError:  # The caller is near the end of its own stack.
        return _NOTHING


def _fit_for_utf8(text: str) -> str:
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _quoted(text: str) -> str:
    return _fit_for_utf8(encode_basestring(text))


def _leaf(value: Any) -> str:
    return whole_text(value) or _NOTHING


def _form(value: Any) -> Any:
    """What stands for a value that JSON does not know. Bytes are told by their number and shown in base64."""
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        shown = msgspec.to_builtins(data[:_SHOWN_BYTES])
        return {"bytes": len(data), "base64": shown if len(data) <= _SHOWN_BYTES else shown + ELLIPSIS}
    if isinstance(value, Handle | BlockingHandle):
        return "(a function the host may call)"
    try:
        return msgspec.to_builtins(value, str_keys=True)
    except (TypeError, ValueError, RecursionError):
        return "(a value that cannot be shown)"


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_form)


class _Cutter:
    """One cutting. `levels` is how much deeper a value may go."""

    def __init__(self) -> None:
        # By a container's identity: its size, or one that it is known to exceed, and whether it is the former.
        self._sizes: dict[int, tuple[int, bool]] = {}

    def fit(self, value: Any, room: int, levels: int) -> str:
        if isinstance(value, str):
            return _fit_string(value, room)
        if not isinstance(value, dict | list):
            text = _leaf(value)
            return text if len(text) <= room else _NOTHING
        whole = whole_text(value) if self._size(value, room, levels) <= room else None
        if whole is not None:
            return whole
        return self._fit_items(value, room, levels - 1) if levels else _NOTHING

    def _size(self, value: Any, most: int, levels: int) -> int:
        """How many characters `value` has; any number over `most` where it has more or is nested too deep."""
        if isinstance(value, str):
            return most + 1 if len(value) + 2 > most else len(_quoted(value))
        if not isinstance(value, dict | list):
            return len(_leaf(value))
        known, is_exact = self._sizes.get(id(value), (0, False))
        if is_exact or known > most:
            return known
        if levels == 0:
            return most + 1
        size = 1
        for prefix, item in _entries(value):
            size += len(prefix) + 1
            size += self._size(item, most - size, levels - 1)
            if size > most:
                self._sizes[id(value)] = (most + 1, False)
                return most + 1
        size = max(size, 2)
        self._sizes[id(value)] = (size, True)
        return size

    def _fit_items(self, value: dict[str, Any] | list[Any], room: int, levels: int) -> str:
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        marker = len(_more(value, len(value)))
        left = room - 2 - marker
        if left < 0:
            return _NOTHING
        # Each item that is shown at all gets at least this much, or all it needs.
        parts, least = (_FIELD_PARTS, _LEAST_FIELD) if isinstance(value, dict) else (_ITEM_PARTS, _LEAST_ITEM)
        share = max(left // parts, least)
        shown: list[tuple[str, Any]] = []
        for prefix, item in islice(_entries(value), room):
            if len(prefix) > max(left // 2, share):
                continue  # A key as long as that says nothing; it counts as left out.
            need = len(prefix) + 1 + min(self._size(item, share, levels), share)
            if need > left:
                break
            left -= need
            shown.append((prefix, item))
        if len(shown) == len(value):
            left += marker
        texts = self._fit_each([item for _, item in shown], share, left, levels)
        parts_text = [prefix + text for (prefix, _), text in zip(shown, texts, strict=True)]
        if len(shown) < len(value):
            parts_text.append(_more(value, len(value) - len(shown)))
        return opening + ",".join(parts_text) + closing

    def _fit_each(self, items: list[Any], share: int, left: int, levels: int) -> list[str]:
        """The text of each; those larger than `share` divide `left` and their shares among them."""
        sizes = [self._size(item, share, levels) for item in items]
        large = [index for index, size in enumerate(sizes) if size > share]
        left += share * len(large)
        while large:
            share = left // len(large)
            sizes = [self._size(items[index], share, levels) for index in large]
            if min(sizes) > share:
                break
            left -= sum(size for size in sizes if size <= share)
            large = [index for index, size in zip(large, sizes, strict=True) if size > share]
        texts = []
        spare = left - share * len(large)
        for index, item in enumerate(items):
            if index not in large:
                texts.append(self.fit(item, sys.maxsize, levels))
                continue
            text = self.fit(item, share + spare, levels)
            spare += share - len(text)
            texts.append(text)
        return texts


def _entries(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    """Each item with what stands before it."""
    if isinstance(value, dict):
        return ((_quoted(key) + ":", item) for key, item in value.items())
    return (("", item) for item in value)


def _more(value: dict[str, Any] | list[Any], count: int) -> str:
    """The last item of a container of which `count` are not shown."""
    if isinstance(value, list):
        return f'"{ELLIPSIS} {count:,} more item{"s" * (count != 1)}"'
    key = ELLIPSIS
    while key in value:
        key += ELLIPSIS
    return f'"{key}":"{count:,} more key{"s" * (count != 1)}"'


def _fit_string(text: str, room: int) -> str:
    if len(text) + 2 <= room and len(whole := _quoted(text)) <= room:
        return whole
    marker = left_out(len(text))
    has_count = len(marker) + _LEAST_FIELD <= room
    inner = room - 2 - len(marker if has_count else ELLIPSIS)
    # The longest beginning that fits, by halving: an escape takes more room than its character.
    low, high = 0, max(inner, 0)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_quoted(text[:middle])) - 2 <= inner:
            low = middle
        else:
            high = middle - 1
    end = boundary(text, low)
    return _quoted(text[:end] + (left_out(len(text) - end) if has_count else ELLIPSIS))
