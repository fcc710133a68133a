"""What a rehearsal has in place of a connection: it answers every call itself and keeps nothing."""

from __future__ import annotations

from tooltoolexec_protocol.framing import HEADER_BYTES
from tooltoolexec_protocol.messages import Answers, Calls, Done, decode, encode

_RESULTS = ("1", '{"a":[1]}', "1.5", '"text"', "null", "true")
"""A result of each kind: code that V8 fitted to one of them is thrown away, in a real run, at the first other."""


class EchoChannel:
    """As much of a `Channel` as a run uses."""

    sent = received = 0
    keeps_what_is_sent = False

    def __init__(self) -> None:
        self._answers: list[tuple[int, str]] = []

    def push(self, data: bytes) -> None:
        """Take a frame: answer its calls, and insist that the run works."""
        message = decode(data[HEADER_BYTES:])
        if isinstance(message, Calls):
            self._answers += [(n, f'{{"result":{_RESULTS[n % len(_RESULTS)]}}}') for n, *_names in message.calls]
        elif isinstance(message, Done) and message.failure is not None:
            raise RuntimeError(f"the rehearsal failed: {message.failure}")

    def flush_all(self) -> None:
        """Nothing is left to send."""

    def finish(self) -> None:
        """There is nobody to hang up on."""

    def next_part(self, _bound: int, _timeout_ms: int | None) -> tuple[bytes, bool]:
        """The answers to all calls so far, in one part."""
        body = encode(Answers(answers=self._answers))
        self._answers = []
        return body, True
