"""The conversation on one connection. Everything that affects its state lives in this file.

One table for both ends: which message may come in which state, and the state it leads to. `>` is sent by the client,
`<` by the daemon or, once it has the run, by the worker.

    HELLO ──>hello──▶ GREETING ──<welcome──▶ READY ──>execute──▶ ADMISSION ──<started──▶ RUNNING ──<done──▶ CLOSED
                                              │ ▲                    └──<done──▶ CLOSED    │ ▲
                        >outcome, >status     ▼ │  <done, <unknown, <report                ▼ │
                                             ASKED            <calls, <requests, >answers, <logs, >invoke, <returns

    A `done` that says `retained` leads from RUNNING to RETAINED instead: <returns, <logs, >invoke, >answers.

`<refused` leads to CLOSED from every state. Both ends close the connection in CLOSED; it is never used again.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from tooltoolexec_protocol import limits
from tooltoolexec_protocol.errors import LocalProtocolError, ProtocolError
from tooltoolexec_protocol.framing import FrameReader, frame
from tooltoolexec_protocol.messages import (
    Answers,
    Calls,
    Done,
    Execute,
    Hello,
    Invoke,
    Logs,
    Message,
    Outcome,
    Refused,
    Report,
    Requests,
    Returns,
    Started,
    Status,
    Unknown,
    Welcome,
    decode,
    encode,
    tag_of,
)


class State(Enum):
    """Where the conversation stands."""

    HELLO = auto()
    GREETING = auto()
    READY = auto()
    ASKED = auto()
    ADMISSION = auto()
    RUNNING = auto()
    RETAINED = auto()
    CLOSED = auto()


_NEXT: Final[dict[State, dict[type[Message], State]]] = {
    State.HELLO: {Hello: State.GREETING},
    State.GREETING: {Welcome: State.READY},
    State.READY: {Execute: State.ADMISSION, Outcome: State.ASKED, Status: State.ASKED},
    State.ASKED: {Done: State.READY, Unknown: State.READY, Report: State.READY},
    State.ADMISSION: {Started: State.RUNNING, Done: State.CLOSED},
    State.RUNNING: {
        Calls: State.RUNNING, Requests: State.RUNNING, Answers: State.RUNNING, Logs: State.RUNNING,
        Invoke: State.RUNNING, Returns: State.RUNNING, Done: State.CLOSED,
    },
    State.RETAINED: {
        Answers: State.RETAINED, Logs: State.RETAINED, Invoke: State.RETAINED, Returns: State.RETAINED,
    },
    State.CLOSED: {},
}  # fmt: skip


class Connection:
    """One end of a connection, without the socket.

    Args:
        is_client: which end this is.
        state: where the conversation stands when this end takes it over; a worker begins at `State.RUNNING`.
    """

    def __init__(self, *, is_client: bool, state: State = State.HELLO) -> None:
        self.is_client = is_client
        self.state = state
        self._reader = FrameReader()

    def send(self, message: Message) -> bytes:
        """The bytes to write for `message`; write them before anything a later call gives.

        Raises:
            LocalProtocolError: the state or the direction does not allow it.
        """
        after = self._after(message, sender_is_client=self.is_client)
        if after is None:
            raise LocalProtocolError(f"cannot send {tag_of(type(message))} in state {self.state.name}")
        data = frame(encode(message))
        self.state = after
        return data

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes that arrived. Then call `next_message` until it gives None."""
        self._reader.feed(data)

    def next_message(self) -> Message | None:
        """The peer's next message, or None while it is not complete: then read more, or see `at_border` at its end.

        Raises:
            ProtocolError: the peer broke the protocol. Send `Refused` with the error's code, then close.
        """
        if self.state is State.CLOSED:
            return None
        body = self._reader.next_body(self.frame_bound)
        if body is None:
            return None
        message = decode(body)
        after = self._after(message, sender_is_client=not self.is_client)
        if after is None:
            raise ProtocolError("unexpected", f"The {tag_of(type(message))} message has no place here.")
        self.state = after
        return message

    @property
    def frame_bound(self) -> int:
        """The largest frame the peer may send now, in bytes of body."""
        if self.is_client:
            return limits.FRAME_BYTES
        if self.state is State.HELLO:
            return limits.HELLO_BYTES
        return limits.FRAME_BYTES if self.state in (State.RUNNING, State.RETAINED) else limits.REQUEST_BYTES

    @property
    def bytes_wanted(self) -> int:
        """How many bytes complete the next header or body: a reader that takes no more stays at a frame's border."""
        return self._reader.wanted(self.frame_bound)

    @property
    def at_border(self) -> bool:
        """Whether the stream stands between two frames; if not, an end of file here is a torn frame."""
        return self._reader.is_empty

    def _after(self, message: Message, *, sender_is_client: bool) -> State | None:
        kind = type(message)
        if isinstance(message, Done) and message.retained:
            return State.RETAINED if self.state is State.RUNNING and not sender_is_client else None
        if kind is Refused and not sender_is_client:
            return State.CLOSED
        return _NEXT[self.state].get(kind) if kind.from_client is sender_is_client else None
