"""One V8 isolate through mini-racer's C interface. With `native`, the only file that talks to its library.

The isolate has a thread of its own. Everything it reports, a call's completion as well as a notification from
JavaScript, arrives in one callback **on that thread**, and while the callback runs the isolate stands still: the thread
is the worker's event loop. Inside the callback only the functions that queue (`call`, `evaluate`) are safe; one that
waits for the isolate would wait for itself. Those (`_get`, `_set`, and `_wait_for` around them) are for the start
alone.
"""

from __future__ import annotations

import ctypes
import queue
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tooltoolexec_executor.worker import native

HEADER_BYTES = 64
OUT_UNITS = 128 * 1024
IN_BYTES = 256 * 1024

# Value types of mini-racer's C interface.
_STRING = 5
_UNDEFINED = 11
_PARSE_ERROR = 201
_OUT_OF_MEMORY = 202
_TERMINATED = 204
_FIRST_ERROR = 200

_BOOT = 0
_NOTIFY = 1


@dataclass(frozen=True, slots=True)
class Completion:
    """How a call or an evaluation ended. `text` is an error's; of a value only a text is read."""

    failed: bool
    out_of_memory: bool
    did_not_compile: bool
    text: str


def load() -> None:
    """Load and initialise V8 in this process. It stays one thread while it has no isolate, so forking is safe."""
    native.library()


def warm_up(runtime: str, trampoline: native.Trampoline) -> None:
    """Make an isolate and end it again: what V8 makes once for all isolates of a process, its children then inherit.

    That is over a quarter of what starting a worker costs. The process is one thread again afterwards.
    """

    def fault() -> None:
        raise RuntimeError("an isolate that has nothing to do reported something")

    Isolate(runtime, fault, trampoline).close()


def version() -> str:
    """V8's version."""
    return str(native.library().mr_v8_version().decode("ascii"))


class Isolate:
    """An isolate with the runtime in it.

    Args:
        runtime: its core; read before the lock-down.
        on_fault: called with an exception under way that left a callback, which nothing could handle any more.
        trampoline: the isolate's alone from here on.

    `memory` is the mailbox. `on_notify()` and `on_complete(number, completion)` are called on the isolate's thread;
    set both before the first `call`.
    """

    on_notify: Callable[[], None]
    on_complete: Callable[[int, Completion], None]

    def __init__(self, runtime: str, on_fault: Callable[[], None], trampoline: native.Trampoline) -> None:
        self._on_fault = on_fault
        self._dll: Any = native.library()
        self._started: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._keeps_thread_state = False
        self._heap_limit = 0
        self._trampoline = trampoline
        trampoline.target = self._from_isolate
        self._context = self._dll.mr_init_context(trampoline.function)
        self._boot(runtime)

    def call(self, function: str, number: int) -> None:
        """Queue a call of one of the runtime's functions; its end is reported under `number` (2 and up)."""
        self._dll.mr_call_function(
            self._context, self._functions[function], self._undefined, self._no_arguments, number
        )

    def evaluate(self, source: bytes, number: int) -> None:
        """Queue an evaluation of a script in UTF-8; its end is reported under `number` (2 and up)."""
        code = self._string(source)
        self._dll.mr_eval(self._context, code, number)
        self._dll.mr_free_value(self._context, code)

    def limit_heap(self, size: int) -> None:
        """End JavaScript when a collection leaves the heap larger than `size` bytes; 0 for no limit."""
        if size != self._heap_limit:  # The call is slow, and most runs ask for what was set ahead.
            self._heap_limit = size
            self._dll.mr_set_hard_memory_limit(self._context, size)

    def close(self) -> None:
        """End the isolate and its thread; waits for both. Nothing else may be called afterwards."""
        self._dll.mr_free_context(self._context)

    @property
    def outgrew_heap(self) -> bool:
        """Whether the heap limit was met. Once true it stays so: nothing this isolate says after it counts."""
        return bool(self._dll.mr_hard_memory_limit_reached(self._context))

    def _boot(self, runtime: str) -> None:
        self._undefined = self._dll.mr_alloc_int_val(self._context, 0, _UNDEFINED)
        self._no_arguments = self._wait_for("[]")
        size = HEADER_BYTES + 2 * OUT_UNITS + IN_BYTES
        mailbox = self._wait_for(
            f"globalThis.MAILBOX = {{ buffer: new ArrayBuffer({size}), "
            f"outStart: {HEADER_BYTES}, outUnits: {OUT_UNITS}, "
            f"inStart: {HEADER_BYTES + 2 * OUT_UNITS}, inBytes: {IN_BYTES} }}"
        )
        notify = self._dll.mr_make_js_callback(self._context, _NOTIFY)
        self._dll.mr_free_value(self._context, self._set(mailbox, "notify", notify))
        buffer = self._get(mailbox, "buffer")
        array = (ctypes.c_char * size).from_address(buffer.contents.value.value_ptr)
        self.memory = memoryview(array).cast("B")
        functions = self._wait_for(runtime)
        if functions.contents.type >= _FIRST_ERROR:
            raise RuntimeError(f"the runtime does not start: {_text(functions.contents)}")
        self._functions = {name: self._get(functions, name) for name in ("step", "rest")}
        for handle in (mailbox, notify, functions):
            self._dll.mr_free_value(self._context, handle)

    def _from_isolate(self, number: int, handle: Any) -> None:
        if not self._keeps_thread_state:
            # Without a state that outlives the callback, Python makes and ends one on each: most of a callback's cost.
            ctypes.pythonapi.PyGILState_Ensure()
            self._keeps_thread_state = True
        if number == _BOOT:
            self._started.put(handle)
            return
        value = handle.contents
        kind = value.type
        completion = _FINE if kind < _FIRST_ERROR else _failed(kind, _text(value))
        self._dll.mr_free_value(self._context, handle)
        try:
            if number == _NOTIFY:
                self.on_notify()
            else:
                self.on_complete(number, completion)
        except BaseException:  # ctypes would only print it and go on without the rest of the callback.
            self._on_fault()

    def _string(self, data: bytes) -> Any:
        return self._dll.mr_alloc_string_val(self._context, data, len(data), _STRING)

    def _wait_for(self, source: str) -> Any:
        code = self._string(source.encode())
        self._dll.mr_eval(self._context, code, _BOOT)
        self._dll.mr_free_value(self._context, code)
        return self._started.get()

    def _get(self, holder: Any, key: str) -> Any:
        return self._dll.mr_get_object_item(self._context, holder, self._string(key.encode()))

    def _set(self, holder: Any, key: str, value: Any) -> Any:
        return self._dll.mr_set_object_item(self._context, holder, self._string(key.encode()), value)


_FINE = Completion(failed=False, out_of_memory=False, did_not_compile=False, text="")


def _failed(kind: int, text: str) -> Completion:
    out_of_memory = kind in (_OUT_OF_MEMORY, _TERMINATED)
    return Completion(failed=True, out_of_memory=out_of_memory, did_not_compile=kind == _PARSE_ERROR, text=text)


def _text(value: Any) -> str:
    return bytes(value.value.bytes_val[0 : value.len]).decode("utf-8", "replace")
