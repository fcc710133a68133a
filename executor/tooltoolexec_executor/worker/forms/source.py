"""A program's text while its form is found: the parser, places in the text, and the fault that ends the search.

A place is a line and a column from 1, as V8 counts them: lines end as ECMAScript ends them, columns are UTF-16 units.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

import tree_sitter

from tooltoolexec_executor.worker.forms.grammar import TYPESCRIPT
from tooltoolexec_executor.worker.syntax import SyntaxFault

_LINE_END = re.compile(rb"\r\n?|\n|\xe2\x80[\xa8\xa9]")
_PIECE_BYTES = 1 << 16


class RefusedError(Exception):
    """The program is in no form that runs, whatever V8 says. `fault` is what its author reads."""

    def __init__(self, fault: SyntaxFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def parse(source: bytes, language: tree_sitter.Language = TYPESCRIPT) -> tree_sitter.Tree:
    """The syntax tree; what is no syntax becomes ERROR nodes in it.

    The parser comes back to Python again and again, so that the watchdog's thread can run and end a long search.
    """
    return tree_sitter.Parser(language).parse(
        lambda offset, _point: source[offset : offset + _PIECE_BYTES],
        progress_callback=lambda _offset, _has_error: False,
    )


def nodes_of(tree: tree_sitter.Tree, types: Container[str]) -> Iterator[tree_sitter.Node]:
    """All named nodes of these types, in no order. A query would take the square of a deep tree's depth."""
    left = [tree.root_node]
    while left:
        node = left.pop()
        if node.type in types:
            yield node
        left += node.named_children


def lines_in(text: bytes) -> int:
    """How many lines end in `text`."""
    return sum(1 for _ in _LINE_END.finditer(text))


def place_of(source: bytes, offset: int) -> tuple[int, int]:
    """Line and column of the byte at `offset`."""
    line, start = 1, 0
    for line, end in enumerate(_LINE_END.finditer(source, 0, offset), 2):  # noqa: B007
        start = end.end()
    return line, len(source[start:offset].decode("utf-8", "replace").encode("utf-16-le")) // 2 + 1


def refuse(message: str, source: bytes, offset: int) -> RefusedError:
    """The error to raise for what stands at `offset`."""
    line, column = place_of(source, offset)
    return RefusedError(SyntaxFault(message, line, column))
