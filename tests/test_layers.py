"""Which package may know which: the protocol neither of the others, client and executor the protocol only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {
    "tooltoolexec_protocol": ROOT / "protocol" / "tooltoolexec_protocol",
    "tooltoolexec": ROOT / "client" / "tooltoolexec",
    "tooltoolexec_executor": ROOT / "executor" / "tooltoolexec_executor",
}
FILES = [
    pytest.param(package, path, id=str(path.relative_to(ROOT)))
    for package, folder in FOLDERS.items()
    for path in sorted(folder.rglob("*.py"))
]
MAY_KNOW = {
    "tooltoolexec_protocol": {"tooltoolexec_protocol"},
    "tooltoolexec": {"tooltoolexec", "tooltoolexec_protocol"},
    "tooltoolexec_executor": {"tooltoolexec_executor", "tooltoolexec_protocol"},
}
# The protocol waits for nothing and reaches nothing: bytes in, messages out.
OUTSIDE_WORLD = {
    "anyio",
    "asyncio",
    "py_mini_racer",
    "select",
    "selectors",
    "socket",
    "ssl",
    "threading",
    "time",
    "trio",
}
V8 = FOLDERS["tooltoolexec_executor"] / "worker" / "v8.py"
V8_FUNCTION = re.compile(r"\bmr_[a-z]")


def imported(path: Path) -> Iterator[str]:
    """The top name of every import, wherever in the file it stands; a relative one stays inside its own package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            yield from (str(one.value).partition(".")[0] for one in node.args if isinstance(one, ast.Constant))


@pytest.mark.parametrize(("package", "path"), FILES)
def test_a_file_knows_only_the_packages_below_it(package: str, path: Path) -> None:
    assert set(imported(path)) & FOLDERS.keys() <= MAY_KNOW[package]


@pytest.mark.parametrize(("package", "path"), FILES)
def test_only_one_file_knows_v8(package: str, path: Path) -> None:
    assert "py_mini_racer" not in imported(path)  # Importing it costs every worker memory.
    assert not V8_FUNCTION.search(path.read_text("utf-8")) or path in (V8, V8.with_name("native.py"))


@pytest.mark.parametrize(
    "path", [path for package, path in (p.values for p in FILES) if package == "tooltoolexec_protocol"]
)
def test_the_protocol_knows_no_socket_no_clock_and_no_loop(path: Path) -> None:
    assert not set(imported(path)) & OUTSIDE_WORLD


def test_there_are_files_to_look_at() -> None:
    assert len(list(FOLDERS["tooltoolexec_protocol"].glob("*.py"))) > 5
