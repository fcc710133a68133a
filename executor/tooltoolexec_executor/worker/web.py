"""The web's globals, brought into an isolate once: when there is time for it, or before a program that may use them."""

from __future__ import annotations

from tooltoolexec_executor.worker.runtime import may_use_web
from tooltoolexec_executor.worker.v8 import Isolate


class Web:
    """Whether an isolate has them.

    Args:
        script: what `runtime.read` gives of them.
        isolate: which is to have them. It must not have met a program yet.
    """

    def __init__(self, script: bytes, isolate: Isolate) -> None:
        self._script = script
        self._isolate = isolate
        self.is_loaded = False

    def load(self, number: int) -> None:
        """Have them defined; the end is reported under `number`."""
        self.is_loaded = True
        self._isolate.evaluate(self._script, number)

    def load_for(self, script: bytes, number: int) -> None:
        """The same where the script of a run may use them and they are not there."""
        if not self.is_loaded and may_use_web(script):
            self.load(number)
