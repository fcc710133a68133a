"""TypeScript becomes JavaScript: types are overwritten by blanks, so everything else stays on its line and column.

Where a type kept two things apart, one character of it becomes the one that does so in JavaScript: a semicolon where a
statement would go on, a bracket where a line may not break. What is not only types is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tree_sitter import Node, Tree

from tooltoolexec_executor.misleading import KEYWORD, may_be_typescript
from tooltoolexec_executor.worker.forms.source import nodes_of, refuse

NO_ENUM = "TypeScript's enum is not available: use an object."
NO_NAMESPACE = "TypeScript's namespace is not available: use an object or plain functions."
NO_PARAMETER_PROPERTY = "TypeScript's parameter properties are not available: set the field in the constructor."
NO_DECORATOR = "Decorators are not available: call the function yourself."
NO_TAG = "Unexpected token '<'"
"""V8's own words for a tag. One that is never closed may look like types, and nothing would be left of it."""

TYPES_ALONE = frozenset(
    {"type", "type_alias_declaration", "interface_declaration", "ambient_declaration", "function_signature"}
)
"""What makes an import or an export, as a child of it, one of types."""

_KEYWORDS_ALONE = re.compile(rb"<\s*+" + KEYWORD + rb"(?:\s*+[,|&]\s*+" + KEYWORD + rb")*+\s*+,?\s*+>")
_GAP = rb"(?:[ \t\r]|/\*[^\n]*?\*/)*+(?://[^\n]*)?"
_GOES_ON = re.compile(_GAP + rb"\n(?:" + _GAP + rb"\n)*+[ \t]*+[(\[`]")
_LINE_END = re.compile("[\n\r\u2028\u2029]")
_BEFORE_TYPES = re.compile(rb"[\w$\x80-\xff]")
_BRACKET = re.compile(rb"\s*+\(")
_ANGLED = ("type_parameters", "type_arguments")
_MODIFIERS = frozenset({"accessibility_modifier", "override_modifier", "readonly"})


class _Edit(NamedTuple):
    """Bytes to blank, all but `first` and `last`. `rank` says which of two with one start counts."""

    start: int
    rank: int
    end: int
    first: str = ""
    last: str = ""
    refusal: str = ""


def is_typescript(source: bytes, tree: Tree) -> bool:
    """Whether there are type arguments of keywords alone: then the text must not be read as JavaScript."""
    return may_be_typescript(source) and any(
        _KEYWORDS_ALONE.fullmatch(source, node.start_byte, node.end_byte) for node in nodes_of(tree, {"type_arguments"})
    )


def erase(source: bytes, tree: Tree) -> bytes:
    """`source` with all types blanked, of the same lines and columns.

    Raises RefusedError for constructs that are more than types.
    """
    edits = sorted(edit for node in nodes_of(tree, _EDITORS) for edit in _EDITORS[node.type](node, source))
    pieces, at = [], 0
    for edit in edits:
        if edit.start < at:
            continue  # Inside what is blank already.
        if edit.refusal:
            raise refuse(edit.refusal, source, edit.start)
        pieces += [source[at : edit.start], _blank(source[edit.start : edit.end], edit)]
        at = edit.end
    return b"".join([*pieces, source[at:]])


def _blank(piece: bytes, edit: _Edit) -> bytes:
    """As many UTF-16 units as `piece`, line ends kept."""
    text = piece.decode("utf-8")
    blanks = "".join(c if _LINE_END.match(c) else "  " if c > "\uffff" else " " for c in text)
    return (edit.first + blanks[len(edit.first) : len(blanks) - len(edit.last)] + edit.last).encode()


def _all(node: Node, _source: bytes) -> Iterator[_Edit]:
    yield _Edit(node.start_byte, 2, node.end_byte)


def _angled(node: Node, source: bytes) -> Iterator[_Edit]:
    yield _Edit(node.start_byte, 2, node.end_byte)
    if node.has_error:
        yield from _tag(node, source)


def _tags(error: Node, source: bytes) -> Iterator[_Edit]:
    for child in error.named_children:
        if child.type in _ANGLED:
            yield from _tag(child, source)


def _tag(node: Node, source: bytes) -> Iterator[_Edit]:
    """What the parser took for types while it was in trouble, unless it stands as types do: by a name or a bracket."""
    start, end = node.start_byte, node.end_byte
    if not _BEFORE_TYPES.match(source, max(start - 1, 0)) and not _BRACKET.match(source, end):
        yield _Edit(start, 1, end, refusal=NO_TAG)


def _annotation(node: Node, source: bytes) -> Iterator[_Edit]:
    """With the mark before it: `x!: T`."""
    before = node.start_byte - 1
    while source[before : before + 1].isspace():
        before -= 1
    yield _Edit(before if source[before : before + 1] in (b"!", b"?") else node.start_byte, 1, node.end_byte)


def _whole(node: Node, _source: bytes) -> Iterator[_Edit]:
    yield _Edit(node.start_byte, 0, node.end_byte, first=";")


def _of_module(node: Node, source: bytes) -> Iterator[_Edit]:
    if any(child.type in TYPES_ALONE for child in node.children):
        yield from _whole(node, source)


def _refused(message: str) -> Callable[[Node, bytes], Iterator[_Edit]]:
    def edits(node: Node, _source: bytes) -> Iterator[_Edit]:
        yield _Edit(node.start_byte, 1, node.end_byte, refusal=message)

    return edits


def _member(node: Node, source: bytes) -> Iterator[_Edit]:
    """A field or a method of a class."""
    for index, child in enumerate(node.children):
        if child.type in ("declare", "abstract"):
            yield from _whole(node, source)
        elif child.type in _MODIFIERS:
            # `a = 1` before `public [key] = 2` would go on into the bracket.
            yield _Edit(child.start_byte, 2, child.end_byte, first="" if index else ";")
        elif child.type in ("?", "!"):
            yield _Edit(child.start_byte, 2, child.end_byte)


def _parameter(node: Node, source: bytes) -> Iterator[_Edit]:
    for child in node.children:
        if child.type in _MODIFIERS:
            yield _Edit(child.start_byte, 1, child.end_byte, refusal=NO_PARAMETER_PROPERTY)
        elif child.type == "this":
            comma = re.compile(rb"\s*+,").match(source, node.end_byte)
            yield _Edit(node.start_byte, 1, comma.end() if comma else node.end_byte)
        elif child.type == "?":
            yield _Edit(child.start_byte, 2, child.end_byte)


def _assured(node: Node, _source: bytes) -> Iterator[_Edit]:
    yield _Edit(node.end_byte - 1, 2, node.end_byte)


def _abstract_class(node: Node, _source: bytes) -> Iterator[_Edit]:
    for child in node.children:
        if child.type == "abstract":
            yield _Edit(child.start_byte, 2, child.end_byte)


def _cast(node: Node, source: bytes) -> Iterator[_Edit]:
    """`as` or `satisfies` up to the end of the type."""
    keyword = next(child for child in reversed(node.children) if child.type in ("as", "satisfies"))
    of_type, end = node.children[-1], node.end_byte
    while of_type.type == "lookup_type":
        # The grammar looks past the end of the line for a type's index, TypeScript does not.
        bracket = next(child for child in of_type.children if child.type == "[")
        of_type = of_type.children[0]
        if b"\n" in source[of_type.end_byte : bracket.start_byte]:
            end = of_type.end_byte
    yield _Edit(keyword.start_byte, 2, end, first=";" if _GOES_ON.match(source, end) else "")


def _arrow(node: Node, source: bytes) -> Iterator[_Edit]:
    """A line may break in an arrow function's types, but neither after `async` nor before `=>`."""
    parameters = node.child_by_field_name("parameters")
    generic = node.child_by_field_name("type_parameters")
    returns = node.child_by_field_name("return_type")
    body = node.child_by_field_name("body")
    if parameters is not None:
        start, end = parameters.start_byte, parameters.end_byte
        if generic is not None and b"\n" in source[generic.start_byte : start]:
            yield _Edit(generic.start_byte, 0, generic.end_byte, first="(")
            yield _Edit(start, 0, start + 1)
        if returns is not None and b"\n" in source[end : returns.end_byte]:
            yield _Edit(end - 1, 0, end)
            yield _Edit(returns.start_byte, 0, returns.end_byte, last=")")
    if body is not None and body.type == "type_assertion" and body.children[-1].type == "object":
        # `() => {` would begin a body.
        yield _Edit(body.start_byte, 0, body.children[0].end_byte, first="0||")


_EDITORS: dict[str, Callable[[Node, bytes], Iterator[_Edit]]] = {
    **dict.fromkeys(["type_annotation"], _annotation),
    **dict.fromkeys(["type_predicate_annotation", "asserts_annotation", "implements_clause"], _all),
    **dict.fromkeys(_ANGLED, _angled),
    "ERROR": _tags,
    **dict.fromkeys(["interface_declaration", "type_alias_declaration", "ambient_declaration"], _whole),
    **dict.fromkeys(["function_signature", "method_signature", "abstract_method_signature", "index_signature"], _whole),
    **dict.fromkeys(["import_statement", "export_statement"], _of_module),
    **dict.fromkeys(["method_definition", "public_field_definition"], _member),
    **dict.fromkeys(["required_parameter", "optional_parameter"], _parameter),
    **dict.fromkeys(["as_expression", "satisfies_expression"], _cast),
    **dict.fromkeys(["module", "internal_module"], _refused(NO_NAMESPACE)),
    "non_null_expression": _assured,
    "abstract_class_declaration": _abstract_class,
    "arrow_function": _arrow,
    "enum_declaration": _refused(NO_ENUM),
    "decorator": _refused(NO_DECORATOR),
}
