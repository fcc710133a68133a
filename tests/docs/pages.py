"""The fenced blocks of the README and of the pages under docs/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "protocol.md")]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: Path
    line: int
    """Where its text begins."""
    language: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in _blocks_of(page) if block.language == language]


def _blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Block(page, text.count("\n", 0, found.start(2)) + 1, found[1], found[2])
