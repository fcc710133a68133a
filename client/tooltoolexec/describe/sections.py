"""The parts of the text for a model. Each knows its whole size and fits itself into less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tooltoolexec.describe import cutting
from tooltoolexec.describe.characters import ELLIPSIS, encodable, shorten

_LONGEST_WARNING = 500
_LONGEST_NAME = 100
_LINE_PARTS = 4
_LEAST_LINE = 80


class Fitted(NamedTuple):
    """A section's text, empty where nothing of it can be shown, and what was cut, empty where nothing was."""

    text: str
    cut: str = ""


class Section(Protocol):
    """One part of the text.

    Attributes:
        size: how many characters it has as a whole.
        longest_cut: the longest that `Fitted.cut` can be.
    """

    size: int
    longest_cut: str

    def fit(self, room: int) -> Fitted:
        """It in at most `room` characters."""
        ...


class Result:
    """The program's value as JSON in one line."""

    _TITLE = "Result: "

    def __init__(self, value: Any) -> None:
        self._value = value
        self._text = cutting.whole_text(value)
        self._total = cutting.whole_size(value) if self._text is None else len(self._text)
        self.size = len(self._TITLE) + self._total
        self.longest_cut = self._cut(self._total)

    def fit(self, room: int) -> Fitted:
        """As `Section`; a cut value is JSON still."""
        if self._text is not None and self.size <= room:
            return Fitted(self._TITLE + self._text)
        text = cutting.fit(self._value, max(room - len(self._TITLE), cutting.LEAST_ROOM))
        return Fitted(self._TITLE + text, self._cut(len(text)))

    def _cut(self, shown: int) -> str:
        return f"result {shown:,} of {self._total:,} characters"


class Failed:
    """Why the run failed: a first line with its message, the place in the program, and a hint."""

    def __init__(self, kind: str, name: str, message: str, place: str, hint: str) -> None:
        name = f"{shorten(encodable(name), _LONGEST_NAME)}: " if name else ""
        self._title = f"Failed ({shorten(encodable(kind), _LONGEST_NAME)}): {name}"
        self._message = encodable(message)
        # In the order in which they are given up.
        self._place = "\n" + encodable(place) if place else ""
        self._hint = "\nHint: " + encodable(hint) if hint else ""
        self.size = len(self._title) + len(self._message) + len(self._place) + len(self._hint)
        self.longest_cut = self._cut(len(self._message))

    def fit(self, room: int) -> Fitted:
        """As `Section`: the message gets half of the room or all it needs, then the hint goes before the place."""
        title, place, hint = self._title, self._place, self._hint
        if self.size > room:
            wanted = len(title) + min(len(self._message), room // 2)
            if wanted + len(place) + len(hint) > room:
                place = ""
            if wanted + len(hint) > room:
                hint = ""
        left = max(room - len(title) - len(place) - len(hint), 0)
        message = shorten(self._message, left)
        text = shorten(title + message, room) + place + hint
        is_cut = len(message) < len(self._message) or message != self._message
        return Fitted(text, self._cut(len(message)) if is_cut else "" if self.size <= room else "the place or the hint")

    def _cut(self, shown: int) -> str:
        return f"message {shown:,} of {len(self._message):,} characters"


class Warnings:
    """What the model should know although the run has an outcome."""

    _TITLE = "Warnings:"

    def __init__(self, warnings: Sequence[str]) -> None:
        self._items = [f"\n- {shorten(encodable(warning), _LONGEST_WARNING)}" for warning in warnings]
        self.size = len(self._TITLE) + sum(len(item) for item in self._items)
        self.longest_cut = self._cut(len(self._items))

    def fit(self, room: int) -> Fitted:
        """As `Section`: the first ones."""
        text = self._TITLE
        for count, item in enumerate(self._items):
            if len(text) + len(item) > room:
                return Fitted(text if count else "", self._cut(count))
            text += item
        return Fitted(text)

    def _cut(self, shown: int) -> str:
        return f"{shown} of {len(self._items)} warnings"


class Logs:
    """The console's lines. Of many the first and the last are shown, of long ones the beginning."""

    _TITLE = "Logs:"

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self.size = len(self._TITLE) + sum(len(line) + 1 for line in lines)
        self.longest_cut = f"{self._cut(len(lines), 0)}, {self._cut(len(lines), len(lines))}"

    def fit(self, room: int) -> Fitted:
        """As `Section`: the first and the last lines, in equal parts."""
        if self.size <= room:
            return Fitted("\n".join([self._TITLE, *map(encodable, self._lines)]))
        longest = max((room - len(self._TITLE)) // _LINE_PARTS, _LEAST_LINE)
        left = room - len(self._TITLE)
        if sum(min(len(line), longest) + 1 for line in self._lines) <= left:
            shortened = sum(len(line) > longest for line in self._lines)
            lines = [shorten(encodable(line), longest) for line in self._lines]
            return Fitted("\n".join([self._TITLE, *lines]), self._cut(len(lines), shortened))
        return self._fit_ends(left, longest)

    def _fit_ends(self, left: int, longest: int) -> Fitted:
        total = len(self._lines)
        left -= len(self._gap(total)) + 1
        head = self._take(range(total), left // 2, longest)
        left -= sum(len(line) + 1 for line in head)
        tail = self._take(range(total - 1, len(head) - 1, -1), left, longest)
        count = len(head) + len(tail)
        if not count:
            return Fitted("", self._cut(0, 0))
        indices = [*range(len(head)), *range(total - len(tail), total)]
        shortened = sum(len(self._lines[index]) > longest for index in indices)
        lines = [self._TITLE, *head, self._gap(total - count), *reversed(tail)]
        return Fitted("\n".join(lines), self._cut(count, shortened))

    def _take(self, indices: range, left: int, longest: int) -> list[str]:
        """Lines in the order of `indices` as long as there is room."""
        taken: list[str] = []
        for index in indices:
            line = shorten(encodable(self._lines[index]), longest)
            left -= len(line) + 1
            if left < 0:
                break
            taken.append(line)
        return taken

    def _gap(self, count: int) -> str:
        return f"{ELLIPSIS} {count:,} line{'s' * (count > 1)} left out {ELLIPSIS}"

    def _cut(self, shown: int, shortened: int) -> str:
        total = len(self._lines)
        parts = [] if shown == total and shortened else [f"{shown:,} of {total:,} log lines"]
        if shortened:
            parts.append(f"{shortened:,} log line{'s' * (shortened > 1)} shortened")
        return ", ".join(parts)
