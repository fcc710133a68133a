"""The C interface as declared here is the one that the installed mini-racer declares."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import py_mini_racer
import pytest
from py_mini_racer import _dll

from tooltoolexec_executor.worker import native


@pytest.fixture(scope="module")
def theirs() -> Any:
    """The package's own handle of the library; made without a second initialisation of V8."""
    native.library()
    before, ctypes.CDLL = ctypes.CDLL, _Unloaded  # type: ignore[misc, assignment]
    try:
        return _dll._build_dll_handle(_Path())  # type: ignore[arg-type]
    finally:
        ctypes.CDLL = before  # type: ignore[misc]


class _Path:
    def __str__(self) -> str:
        return "libmini_racer.so"


class _Function:
    argtypes: Any = None
    restype: Any = ctypes.c_int


class _Unloaded:
    def __init__(self, _path: str) -> None:
        self.functions: dict[str, _Function] = {}

    def __getattr__(self, name: str) -> _Function:
        return self.functions.setdefault(name, _Function())


def plain(kind: Any) -> Any:
    """A type by its meaning: the two declare their own structures."""
    return {
        native.Handle: "handle",
        _dll.RawValueHandle: "handle",
        native.Callback: "callback",
        _dll.MR_CALLBACK: "callback",
    }.get(kind, kind)


@pytest.mark.parametrize("name", native.SIGNATURES)
def test_a_function_has_the_arguments_and_result_of_the_package(name: str, theirs: Any) -> None:
    arguments, result = native.SIGNATURES[name]
    declared = theirs.functions[name]
    assert [plain(one) for one in arguments] == [plain(one) for one in declared.argtypes]
    assert plain(result) == plain(declared.restype)


def test_a_value_has_the_layout_of_the_package() -> None:
    ours, other = native.Value, _dll._RawValue
    assert ctypes.sizeof(ours) == ctypes.sizeof(other)
    for name, _kind in ours._fields_:
        assert getattr(ours, name).offset == getattr(other, name).offset
        assert getattr(ours, name).size == getattr(other, name).size
    assert [name for name, _kind in native._Content._fields_] == [name for name, _kind in _dll._RawValueUnion._fields_]


def test_the_flags_begin_with_those_of_the_package() -> None:
    assert native._FLAGS.startswith(" ".join(_dll.DEFAULT_V8_FLAGS) + " ")


def test_loading_v8_imports_nothing_heavy() -> None:
    """What the zygote imports, every worker carries."""
    script = "import sys, tooltoolexec_executor.zygote; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert py_mini_racer.__name__ not in ran.stdout.split()
    heavy = {"asyncio", "ssl", "trio", "subprocess", "logging", "tempfile", "random", "hashlib", "importlib.resources"}
    assert not heavy & set(ran.stdout.split())
