"""What a program of statements gives as its value: which function is called, or which expression is returned.

Works on JavaScript: types are erased before.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tree_sitter import Node, Tree

from tooltoolexec_executor.worker.forms.source import refuse
from tooltoolexec_executor.worker.forms.types import TYPES_ALONE
from tooltoolexec_protocol import texts

_NOTHING = frozenset({"comment", "empty_statement", "hash_bang_line", "html_comment"})
_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration"})
_MODULES = frozenset({"import_statement", "export_statement"})
_DEFAULT = re.compile(rb"export[ \t]+default\b")
_KEEPER = b"__entry.value="
"""As long as `export default`, in whose place it takes the value."""


class Shape(NamedTuple):
    """How a program is run.

    Attributes:
        text: the program, of the same lines and columns.
        value_at: where in it, in bytes, the expression begins that is returned; -1 if none is.
        tail: what is to stand after it.
    """

    text: bytes
    value_at: int = -1
    tail: str = ""


def shapes_of(source: bytes, tree: Tree) -> list[Shape]:
    """The shapes to try in order; V8 decides.

    Raises RefusedError for the forms of modules.
    """
    statements = [node for node in tree.root_node.named_children if node.type not in _NOTHING]
    default = _check_modules(source, statements)
    if default is not None:
        return [_exported(source, default)]
    plain = Shape(source)
    last = next((node for node in reversed(statements) if node.type not in _FUNCTIONS), None)
    if last is None:
        return [Shape(source, tail=_call_of(source, statements)) if statements else plain]
    if last.type != "expression_statement":
        return [plain]
    returned = Shape(source, value_at=last.start_byte)
    if source[last.start_byte : last.start_byte + 1] == b"{" and len(statements) > 1:
        return [plain, returned]  # A block, unless it is none.
    # Where the tree is wrong, the text as it stands tells best what is.
    return [returned, plain] if tree.root_node.has_error else [returned]


def _check_modules(source: bytes, statements: list[Node]) -> Node | None:
    default = None
    for node in statements:
        if node.type not in _MODULES or any(child.type in TYPES_ALONE for child in node.children):
            continue  # What is about types alone goes with them.
        if _DEFAULT.match(source, node.start_byte) is None:
            raise refuse(texts.NO_MODULES, source, node.start_byte)
        default = node
    return default


def _exported(source: bytes, node: Node) -> Shape:
    """A named function stays a declaration, which others may call by its name; anything else is a value."""
    match = _DEFAULT.match(source, node.start_byte)
    assert match is not None
    declaration = node.child_by_field_name("declaration")
    if declaration is not None and declaration.type in _FUNCTIONS:
        mark, tail = b"", _call_of(source, [declaration])
    else:
        mark, tail = _KEEPER, "return __entry.value;"
    return Shape(source[: match.start()] + mark.ljust(len(match[0])) + source[match.end() :], tail=tail)


def _call_of(source: bytes, functions: list[Node]) -> str:
    """A call of `main`, or else of the last."""
    names = [name for function in functions if (name := function.child_by_field_name("name")) is not None]
    texts_of = [source[name.start_byte : name.end_byte].decode("utf-8", "replace") for name in names]
    if not texts_of:
        return ""
    return f"return {'main' if 'main' in texts_of else texts_of[-1]}();"
