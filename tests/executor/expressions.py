"""JavaScript expressions at random, of the kinds of value that programs log. The same seed gives the same ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

_WORDS = ("a", "it's", 'say "x"', "", "two\nlines", "日本", "😀", "key", "x" * 20, "long " * 15, "tab\t", "1", "`q`")
_OTHERS = "null|undefined|true|5n|Symbol('s')|/x/g|new Date(0)|() => 1|class A {}|NaN".split("|")


class Expressions:
    """A source of expressions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def value(self, depth: int) -> str:
        """One expression of at most `depth` levels of values in values."""
        pick = self._random
        if depth <= 0 or pick.random() < 0.3:
            return self._leaf()
        match pick.randrange(7):
            case 0 | 1:
                return self._many("[", lambda: self._inner(depth), depth, "]")
            case 2:
                kinds: list[Callable[[], str]] = [self._text, self._number, lambda: f"{pick.randint(0, 99)}n"]
                return self._many("[", pick.choice(kinds), 2, "]")
            case 3 | 4:
                return self._many("({", lambda: f"[{self._text()}]: {self._inner(depth)}", depth, "})")
            case 5:
                return self._many("new Map([", lambda: f"[{self._inner(depth)},{self._inner(depth)}]", depth, "])")
            case _:
                return self._many("new Set([", lambda: self._inner(depth), depth, "])")

    def _inner(self, depth: int) -> str:
        return self.value(depth - self._random.randint(1, 2))

    def _many(self, before: str, make: Callable[[], str], depth: int, after: str) -> str:
        sizes: Any = (0, 1, 2, 3, 5, 7, 8, 12, 27, 101) if depth == 2 else range(7)
        return before + ",".join(make() for _ in range(self._random.choice(sizes))) + after

    def _text(self) -> str:
        words = (self._random.choice(_WORDS) for _ in range(self._random.choice((1, 1, 1, 2, 4))))
        return json.dumps("".join(words), ensure_ascii=False)

    def _number(self) -> str:
        pick = self._random
        size = pick.choice((9, 1000, 10**9))
        return pick.choice((str(pick.randint(-size, size)), repr(pick.uniform(-size, size)), "-0"))

    def _leaf(self) -> str:
        return self._random.choice((self._number, self._text, lambda: self._random.choice(_OTHERS)))()
