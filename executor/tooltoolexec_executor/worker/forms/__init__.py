"""Whatever form of JavaScript or TypeScript a model writes: found here, once V8 took the text for no single expression.

    V8 says no ─▶ cut out of its fence ─▶ parsed ─▶ as JavaScript ─▶ V8 says no ─▶ types erased ─▶ V8 ─▶ the fault

A text that V8 may misread begins behind that first "no". All of it runs in the worker, under the run's own limits. The
parser (tree-sitter) forgives; V8 alone decides what compiles, and its message is what the author reads.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from tree_sitter import Tree

from tooltoolexec_executor.worker.forms import fences, types
from tooltoolexec_executor.worker.forms.grammar import TSX
from tooltoolexec_executor.worker.forms.shape import Shape, shapes_of
from tooltoolexec_executor.worker.forms.source import RefusedError, lines_in, nodes_of, parse, place_of, refuse
from tooltoolexec_executor.worker.syntax import SyntaxFault

STRAY_BRACE = "Unexpected token '}'"
NO_JSX = "JSX is not available: build the value as plain objects or text."

RETURN = b"return "
_JSX = frozenset({"jsx_element", "jsx_self_closing_element"})
_SPECIALIZED_AFTER = 20
"""How often Python runs a function before it has fitted its code to it."""
_BOM = b"\xef\xbb\xbf"


class Attempt(NamedTuple):
    """A text that V8 may compile as the body of a function.

    Attributes:
        text: the program's, of the same lines and, but for what was inserted, the same columns.
        tail: a statement to stand after it.
        line: where `RETURN` was inserted; 0 if it was not.
        column: before which column it was.
    """

    text: bytes
    tail: str = ""
    line: int = 0
    column: int = 0

    @property
    def lines(self) -> int:
        """How many lines the text has."""
        return lines_in(self.text) + 1


AS_IS = Attempt(b"")
"""The attempt to have the program evaluated as one expression after all; only where that was not tried before."""

Search = Generator["Attempt | SyntaxFault", "SyntaxFault", None]
"""Gives attempts, is sent V8's fault of each, and gives the program's own fault last."""


def search(program: bytes, *, is_tried: bool) -> Search:
    """Find the form of a program in UTF-8; for each text that V8 does not compile, the next is asked for.

    Args:
        program: as the model wrote it.
        is_tried: whether V8 did not compile it as one expression.
    """
    try:
        yield from _search(program, is_tried=is_tried)
    except RefusedError as refused:
        yield refused.fault


def _search(program: bytes, *, is_tried: bool) -> Search:
    source = _without_hashbang(fences.cut(program))
    tree = parse(source)
    fault = SyntaxFault("", None, None)
    # What could be refused as TypeScript may be JavaScript; the erasing waits until V8 said that it is not.
    if not types.is_typescript(source, tree):
        if source == program and not is_tried:
            yield AS_IS
        for attempt in _attempts(source, tree):
            fault = yield attempt
    try:
        erased = types.erase(source, tree)
    except RefusedError as refused:
        yield _jsx_fault(source) or refused.fault
        return
    if erased != source:
        erased_tree = parse(erased)
        for attempt in _attempts(erased, erased_tree):
            fault = yield attempt
    else:
        erased_tree = tree
    yield _jsx_fault(source) or _stray_brace(erased, erased_tree, fault) or fault


def _attempts(source: bytes, tree: Tree) -> Iterator[Attempt]:
    for shape in shapes_of(source, tree):
        yield _insert(shape)


def _insert(shape: Shape) -> Attempt:
    if shape.value_at < 0:
        return Attempt(shape.text, shape.tail)
    line, column = place_of(shape.text, shape.value_at)
    text = shape.text[: shape.value_at] + RETURN + shape.text[shape.value_at :]
    return Attempt(text, shape.tail, line, column)


def _without_hashbang(program: bytes) -> bytes:
    """A hashbang becomes a comment of the same length. It may stand behind a BOM or in a fence."""
    at = len(program) - len(program.lstrip(_BOM + b"\n\r"))
    if program.startswith(b"#!", at):
        return program[:at] + b"//" + program[at + 2 :]
    return program


def _jsx_fault(source: bytes) -> SyntaxFault | None:
    """That the program holds JSX, which V8 takes for all kinds of things."""
    if b"</" not in source and b"/>" not in source:
        return None
    tree = parse(source, TSX)
    starts = [] if tree.root_node.has_error else [node.start_byte for node in nodes_of(tree, _JSX)]
    return refuse(NO_JSX, source, min(starts)).fault if starts else None


def _stray_brace(source: bytes, tree: Tree, fault: SyntaxFault) -> SyntaxFault | None:
    """The bracket that closes what stands around the program; V8 finds fault only with what comes after it."""
    for node in tree.root_node.children if tree.root_node.has_error else ():
        if node.is_error and source[node.start_byte : node.start_byte + 1] == b"}":
            line, column = place_of(source, node.start_byte)
            if fault.line is None or (line, column) < (fault.line, fault.column or 0):
                return SyntaxFault(STRAY_BRACE, line, column)
            return None
    return None


def rehearse() -> None:
    """What the zygote can do for all its workers: the parser's first steps take longer than a whole program does."""
    for _ in range(_SPECIALIZED_AFTER):
        for _found in search(b"const f = (x?: number): number => x as number;\nf(1)", is_tried=True):
            pass
