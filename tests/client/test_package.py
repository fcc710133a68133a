"""What the package exports and what it imports."""

from __future__ import annotations

import ast
import importlib
import inspect
import tomllib
from pathlib import Path

import tooltoolexec
from tooltoolexec_protocol import errors

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client" / "tooltoolexec"
DECLARING = ["embedded", "executor", "handles", "provider", "run", "shared", "version"]
FROM_PROTOCOL = {
    "ExecutionState", "Limits", "RESERVED_PROVIDER_NAMES", "create_envelope_dispatch", "parse_dispatch_arguments",
    "parse_for_dispatch", "stringify_for_dispatch",
}  # fmt: skip


def test_the_package_exports_exactly_what_its_modules_declare() -> None:
    declared = set(FROM_PROTOCOL)
    for name in DECLARING:
        declared |= set(importlib.import_module(f"tooltoolexec.{name}").__all__)
    declared |= {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert set(tooltoolexec.__all__) == declared
    assert len(tooltoolexec.__all__) == len(declared)
    assert all(hasattr(tooltoolexec, name) for name in declared)


def test_the_version_is_the_distributions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert tooltoolexec.__version__ == project["version"]


def test_the_client_imports_only_its_own_dependencies() -> None:
    foreign = {"trio", "asyncio", "tooltoolexec_executor", "py_mini_racer"}
    for path in CLIENT.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            assert not {name.split(".")[0] for name in names} & foreign, path
