"""mini-racer's C interface: its library, loaded without the package around it.

The package imports asyncio and more, all of which every forked worker would carry along: their pages are copied,
counted and freed with each. What is declared here is held to the package's own declarations by a test.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

TrampolineTarget = Callable[[int, Any], None]

_FLAGS = "--single-threaded --min-semi-space-size=2"
"""No threads of V8's own, which would not survive a fork. Twice the megabytes that V8 begins with for young objects, so
that a short run does not meet the collection of what was made before it; more would make a worker's start dear."""
_JITLESS = "--jitless"

_PACKAGE = importlib.util.find_spec("py_mini_racer")
if _PACKAGE is None or _PACKAGE.origin is None:
    raise ImportError("mini-racer is not installed", name="py_mini_racer")
_FOLDER = Path(_PACKAGE.origin).parent


class _Content(ctypes.Union):
    _fields_ = (
        ("value_ptr", ctypes.c_void_p),
        ("bytes_val", ctypes.POINTER(ctypes.c_char)),
        ("char_p_val", ctypes.c_char_p),
        ("int_val", ctypes.c_int64),
        ("double_val", ctypes.c_double),
    )


class Value(ctypes.Structure):
    """What crosses the interface: `type` says how `value` is to be read, `len` how long it is."""

    _pack_ = 1
    _fields_ = (("value", _Content), ("len", ctypes.c_size_t), ("type", ctypes.c_uint8))


Handle = ctypes.POINTER(Value)
Callback = ctypes.CFUNCTYPE(None, ctypes.c_uint64, Handle)


class Trampoline:
    """The function that V8 calls, and what that calls: its code is made before a process gives up making any.

    `target(number, handle)` is to be set before V8 can call.
    """

    target: TrampolineTarget

    def __init__(self) -> None:
        # ctypes frees the code with this object, so it must live as long as the isolate.
        self.function = Callback(self._call)

    def _call(self, number: int, handle: Any) -> None:
        self.target(number, handle)


_CONTEXT = _NUMBER = ctypes.c_uint64
SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "mr_init_v8": ([ctypes.c_char_p, ctypes.c_char_p], ctypes.c_int),
    "mr_v8_version": ([], ctypes.c_char_p),
    "mr_init_context": ([Callback], _CONTEXT),
    "mr_free_context": ([_CONTEXT], ctypes.c_int),
    "mr_eval": ([_CONTEXT, Handle, _NUMBER], _NUMBER),
    "mr_call_function": ([_CONTEXT, Handle, Handle, Handle, _NUMBER], _NUMBER),
    "mr_alloc_int_val": ([_CONTEXT, ctypes.c_int64, ctypes.c_uint8], Handle),
    "mr_alloc_string_val": ([_CONTEXT, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint8], Handle),
    "mr_free_value": ([_CONTEXT, Handle], ctypes.c_int),
    "mr_get_object_item": ([_CONTEXT, Handle, Handle], Handle),
    "mr_set_object_item": ([_CONTEXT, Handle, Handle, Handle], Handle),
    "mr_make_js_callback": ([_CONTEXT, _NUMBER], Handle),
    "mr_set_hard_memory_limit": ([_CONTEXT, ctypes.c_size_t], ctypes.c_int),
    "mr_hard_memory_limit_reached": ([_CONTEXT], ctypes.c_bool),
}
"""The functions used, each with its arguments' types and its result's (`int`, ctypes' default, where there is none)."""


_flags = [_FLAGS]


def disable_compiler() -> None:
    """Let V8 interpret and never compile, in this process. Before the library is loaded; V8 reads it only then."""
    if _JITLESS not in _flags:
        _flags.append(_JITLESS)


@cache
def library() -> Any:
    """The library, with V8 initialised in this process.

    Raises:
        OSError: it cannot be loaded.
    """
    loaded = ctypes.CDLL(str(_FOLDER / "libmini_racer.so"))
    for name, (arguments, result) in SIGNATURES.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, result
    loaded.mr_init_v8(" ".join(_flags).encode(), str(_FOLDER / "icudtl.dat").encode())
    return loaded
