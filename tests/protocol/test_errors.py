"""The tree of exceptions is the one drawn at the top of its module, and each carries its facts."""

from __future__ import annotations

import re

import pytest

from tooltoolexec_protocol import errors


def drawn() -> dict[str, str]:
    """From each class of the drawing to the class above it."""
    tree: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"([│├└─ ]*)(\w+(?:Error|Released))\b", line)
        if found is None:
            continue
        depth = len(found[1]) // 4
        above[depth:] = [found[2]]
        tree[found[2]] = above[depth - 1] if depth else "Exception"
    return tree


def test_the_tree_is_as_drawn() -> None:
    declared = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    assert {name: kind.__bases__[0].__name__ for name, kind in declared.items()} == drawn()


@pytest.mark.parametrize("kind", [errors.CodecError, errors.AddressError])
def test_a_bad_value_is_a_value_error_too(kind: type[Exception]) -> None:
    assert issubclass(kind, ValueError)


def test_facts_are_attributes() -> None:
    connect = errors.ConnectError("unix:/a", "refused")
    assert (connect.address, connect.reason, str(connect)) == (
        "unix:/a",
        "refused",
        "Cannot connect to unix:/a: refused",
    )
    for kind in (errors.RefusedError, errors.ProtocolError):
        error = kind("shutdown", "Later.")
        assert (error.code, str(error)) == ("shutdown", "Later.")
    tool = errors.ToolError("no", "E1")
    assert (tool.code, str(tool)) == ("E1", "no")
