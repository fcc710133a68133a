"""Shortening text without splitting what a reader sees as one character."""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"
_FARTHEST = 32
"""How far back a boundary is looked for: text may be one endless cluster."""
_JOINER = "\u200d"
_MARKS = frozenset(("Mn", "Me", "Mc"))


def boundary(text: str, end: int) -> int:
    """The last place at or before `end` where `text` may be cut.

    Not inside a surrogate pair. Combining marks, variation selectors, skin tones and joined emoji stay with what they
    belong to, unless that would take more than 32 characters. Close to the grapheme clusters of Unicode's UAX 29, which
    also know Hangul and Indic syllables.
    """
    if end >= len(text):
        return len(text)
    for at in range(end, max(end - _FARTHEST, 0), -1):
        if not _belong_together(text[at - 1], text[at]):
            return at
    if end <= _FARTHEST:
        return 0
    return end - 1 if _is_pair(text[end - 1], text[end]) else end


def _belong_together(before: str, after: str) -> bool:
    if after < "\u0300":
        return before == "\r" and after == "\n"
    return (
        _JOINER in (before, after)
        or unicodedata.category(after) in _MARKS
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags, as in the flag of Wales
        or (_is_regional(before) and _is_regional(after))
        or _is_pair(before, after)
    )


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def shorten(text: str, room: int) -> str:
    """`text` in at most `room` characters: its beginning, then how many characters are left out."""
    if len(text) <= room:
        return text
    marker = left_out(len(text))
    if len(marker) + 8 > room:
        return text[: boundary(text, room - 1)] + ELLIPSIS if room > 0 else ""
    end = boundary(text, room - len(marker))
    return text[:end] + left_out(len(text) - end)


def left_out(count: int) -> str:
    """What stands for `count` characters that are not shown."""
    return f"{ELLIPSIS} (+{count:,} characters)"


def encodable(text: str) -> str:
    """`text` with each half of a surrogate pair replaced, which no UTF-8 can carry. Its length stays."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
