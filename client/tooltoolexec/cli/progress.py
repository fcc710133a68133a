"""A line on standard error that says what the command waits for; only on a terminal, and never left behind."""

from __future__ import annotations

import io
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from types import TracebackType
from typing import Self, TextIO

_PATIENCE_S = 0.5
"""What is over sooner shows nothing."""
_FRAME_S = 0.1
_FRAMES = "|/-\\"
_ERASE = "\r\x1b[K"


class Progress:
    """Shows what `now` returns, with the seconds gone by, while it is entered.

    Meanwhile `sys.stderr` is a stream that erases the line before anything else is written.
    """

    def __init__(self) -> None:
        self.now: Callable[[], str] = lambda: "starting"
        self._stream = sys.stderr
        self._is_shown = is_animated(self._stream)
        self._line = _Line(self._stream)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._animate, daemon=True)
        self._redirect = redirect_stderr(self._line)

    def __enter__(self) -> Self:
        if self._is_shown:
            self._redirect.__enter__()
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_shown:
            self._over.set()
            self._thread.join()
            self._line.erase()
            self._redirect.__exit__(kind, error, trace)

    def _animate(self) -> None:
        begun = time.monotonic()
        pause, count = _PATIENCE_S, 0
        while not self._over.wait(pause):
            pause, count = _FRAME_S, count + 1
            seconds = time.monotonic() - begun
            self._line.draw(f"{_FRAMES[count % len(_FRAMES)]} {self.now()} ({seconds:.0f} s)")


class _Line(io.TextIOBase):
    """Standard error with at most one line on it that goes away."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._is_drawn = False
        self._at_start = True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def flush(self) -> None:
        if not self._stream.closed:  # Python flushes it once more when it goes, which may be later.
            self._stream.flush()

    def write(self, text: str) -> int:
        with self._lock:
            self.erase()
            if text:
                self._at_start = text.endswith("\n")
            return self._stream.write(text)

    def draw(self, text: str) -> None:
        """Show `text` unless somebody's unfinished line stands there."""
        with self._lock:
            if self._at_start:
                self._stream.write(_ERASE + text[: shutil.get_terminal_size().columns - 1])
                self._stream.flush()
                self._is_drawn = True

    def erase(self) -> None:
        """Take the drawn line away."""
        with self._lock:
            if self._is_drawn:
                self._stream.write(_ERASE)
                self._stream.flush()
                self._is_drawn = False


def is_animated(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal that can erase a line. A process whose descriptor was closed has none."""
    return stream is not None and stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
