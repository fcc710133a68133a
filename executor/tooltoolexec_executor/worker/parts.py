"""The runtime's later parts, brought into an isolate once: when there is time for it, or before a program."""

from __future__ import annotations

from collections.abc import Sequence

from tooltoolexec_executor.needs import CORE
from tooltoolexec_executor.worker.v8 import Isolate


class Parts:
    """Which of them an isolate has, or will have before whatever is queued next.

    Args:
        later: what `runtime.read` gives of them.
        isolate: which is to have them. It must not have met a client's program yet.
    """

    def __init__(self, later: Sequence[bytes], isolate: Isolate) -> None:
        self._later = later
        self._isolate = isolate
        self.last = CORE

    @property
    def are_complete(self) -> bool:
        """Whether it has all of them."""
        return self.last == len(self._later)

    def load(self, last: int, number: int) -> bool:
        """Have those up to `last` evaluated that are missing; the end is reported under `number`.

        Gives whether any was missing: else nothing is reported.
        """
        missing = self._later[self.last : last]
        if missing:
            self.last = last
            self._isolate.evaluate(b"".join(missing), number)
        return bool(missing)

    def load_all(self, number: int) -> bool:
        """The same with all of them."""
        return self.load(len(self._later), number)
