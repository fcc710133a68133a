"""An isolate with the runtime in it, driven by hand: what the worker's loop does, one step at a time."""

from __future__ import annotations

import json
import queue
import threading
from typing import Any

from tooltoolexec_executor import handover, needs
from tooltoolexec_executor.worker import native, runtime, v8
from tooltoolexec_executor.worker.mailbox import PART_BYTES, Command, Mailbox
from tooltoolexec_executor.worker.parts import Parts
from tooltoolexec_executor.worker.v8 import Completion, Isolate
from tooltoolexec_protocol.limits import DEFAULTS, EffectiveLimits
from tooltoolexec_protocol.messages import Answers, Execute, ProviderSpec, encode

TIMEOUT_S = 20


class Bench:
    """One isolate. `records` are what the runtime wrote, in order."""

    def __init__(self) -> None:
        v8.load()
        sources = runtime.read()
        self.faults: list[str] = []
        self.isolate = Isolate(sources.core, lambda: self.faults.append("fault"), native.Trampoline())
        self.isolate.on_complete = self._on_complete
        self.isolate.on_notify = self._on_notify
        self.mailbox = Mailbox(self.isolate.memory)
        self.parts = Parts(sources.later, self.isolate)
        self.records: list[str] = []
        self.threads: set[int] = set()
        self.notified = 0
        self._completions: queue.SimpleQueue[tuple[int, Completion]] = queue.SimpleQueue()

    def start(self, code: str, *, limits: EffectiveLimits = DEFAULTS, **fields: Any) -> None:
        execute = Execute(id="0" * 32, code=code, **{"providers": [ProviderSpec(name="store")], **fields})
        script = handover.script_of(execute, limits).text
        if self.parts.load(needs.last_part(execute), 5):
            self.wait()
        self.isolate.evaluate(script, 4)
        self.isolate.call("rest", 3)
        self._until_rest(2)

    def answer(self, *answers: tuple[int, str]) -> None:
        self.feed(encode(Answers(answers=list(answers))))
        self.step(Command.SETTLE)

    def feed(self, text: bytes) -> None:
        for start in range(0, len(text), PART_BYTES):
            self.mailbox.put(text[start : start + PART_BYTES])
            if start + PART_BYTES < len(text):
                self.mailbox.command(Command.FEED)
                self.isolate.call("step", 2)
                self.wait()

    def step(self, command: Command) -> None:
        """One step and the rest after it: its microtasks are done when this returns."""
        self.mailbox.command(command)
        self.isolate.call("step", 2)
        self.isolate.call("rest", 3)
        self._until_rest(2)

    def _until_rest(self, completions: int) -> None:
        for _ in range(completions):
            number, completion = self.wait()
            assert not completion.failed, completion.text
        assert number == 3
        self.records += self.mailbox.collect(isolate_rests=True)

    def evaluate(self, source: str) -> Completion:
        self.isolate.evaluate(source.encode(), 9)
        return self.wait()[1]

    def wait(self) -> tuple[int, Completion]:
        return self._completions.get(timeout=TIMEOUT_S)

    def taken(self, kind: str) -> list[Any]:
        """The records of one kind, as values."""
        return [json.loads("{" + r[1:] + "}" if kind == "d" else r[1:]) for r in self.records if r[0] == kind]

    def _on_complete(self, number: int, completion: Completion) -> None:
        self.threads.add(threading.get_ident())
        self._completions.put((number, completion))

    def _on_notify(self) -> None:
        self.threads.add(threading.get_ident())
        self.notified += 1
        self.records += self.mailbox.collect(isolate_rests=True)
