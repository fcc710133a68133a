"""Every message of the wire, as a struct; `encode` and `decode` between a struct and one frame's body.

A body is JSON. Text that a program made may hold lone surrogates, which UTF-8 cannot carry, so bodies are written with
every character outside ASCII escaped and read with the standard library's `json`, which takes such escapes; msgspec
then checks the shape. docs/protocol.md shows each message as literal JSON.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, ClassVar, NoReturn, Self

import msgspec

from tooltoolexec_protocol.errors import ProtocolError

VERSION = 1
"""The protocol version this code speaks."""
OLDEST_VERSION = 1
"""The oldest version this code still speaks."""
RUN_ID_PATTERN = r"^[0-9a-f]{32}\Z"

RunId = Annotated[str, msgspec.Meta(pattern=RUN_ID_PATTERN)]
Bound = Annotated[float, msgspec.Meta(ge=0)]


class Message(msgspec.Struct, kw_only=True, tag_field="type"):
    """What every message shares. `from_client` says which end may send it.

    What asks the daemon for something has no room for unknown fields, because what they ask for would not happen.
    """

    from_client: ClassVar[bool] = False


class Hello(Message, tag="hello", omit_defaults=True, forbid_unknown_fields=True):
    """The client's first frame: the versions it speaks, what it calls itself, its token (empty for none)."""

    from_client: ClassVar[bool] = True
    version: int
    oldest_version: int
    client: str = ""
    token: str = ""


class WireLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Limits as JSON: an absent one is the daemon's default, `null` asks for (or grants) no bound."""

    wall_s: Bound | None | msgspec.UnsetType = msgspec.UNSET
    cpu_s: Bound | None | msgspec.UnsetType = msgspec.UNSET
    memory_mb: Bound | None | msgspec.UnsetType = msgspec.UNSET
    payload_bytes: Bound | None | msgspec.UnsetType = msgspec.UNSET
    log_bytes: Bound | None | msgspec.UnsetType = msgspec.UNSET
    calls: Bound | None | msgspec.UnsetType = msgspec.UNSET

    def asked(self) -> dict[str, float]:
        """The limits that are present, with `math.inf` for none."""
        return {
            name: math.inf if value is None else value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not msgspec.UNSET
        }

    @classmethod
    def of(cls, limits: object) -> Self:
        """From any object with the fields' names; an attribute that is `None` stays absent."""
        values = ((name, getattr(limits, name)) for name in cls.__struct_fields__)
        return cls(**{name: None if v == math.inf else v for name, v in values if v is not None})


class Welcome(Message, tag="welcome"):
    """The daemon's answer to `hello`: the version to speak, its defaults and maxima, its optional features."""

    version: int
    server: str = ""
    defaults: WireLimits = WireLimits()
    maxima: WireLimits = WireLimits()
    features: list[str] = []


class Refused(Message, tag="refused"):
    """The peer's last frame when it will not go on. `code` is for programs, `message` for people."""

    code: str
    message: str


class AskedLimits(WireLimits, frozen=True, forbid_unknown_fields=True):
    """What a run asks for. A limit that this version does not know must not go unheeded."""


class ProviderSpec(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """A provider as the program will see it; the tools themselves stay with the client."""

    name: str
    tools: list[str] = []
    positional_args: bool = True
    prelude: str | None = None
    proxy_source: str | None = None


class Execute(Message, tag="execute", omit_defaults=True, forbid_unknown_fields=True):
    """Run `code`. `id` is 128 random bits in hex, chosen by the client, and names the run from here on.

    `outbound` says that the client answers HTTP requests, `retain_handles` that the isolate is to outlive the run.
    """

    from_client: ClassVar[bool] = True
    id: RunId
    code: str
    providers: list[ProviderSpec] = []
    dispatch: bool = True
    outbound: bool = False
    retain_handles: bool = False
    limits: AskedLimits = AskedLimits()
    labels: dict[str, str] = {}


class Started(Message, tag="started"):
    """A worker has the run; `queued_s` is how long it waited for one."""

    id: RunId
    queued_s: float


class Calls(Message, tag="calls"):
    """Tool calls in the order they were made: `[number, provider, tool, arguments as JSON text]` each."""

    calls: list[tuple[int, str, str, str]]


class Requests(Message, tag="requests"):
    """HTTP requests: `[number, method, URL, headers as [name, value] each, body in base64 or null]` each.

    Numbered together with the calls, and answered like them: an answer's result is `status`, `headers` and `body`.
    """

    requests: list[tuple[int, str, str, list[tuple[str, str]], str | None]]


class Answers(Message, tag="answers"):
    """Answers in any order: `[number of the call or request, envelope text]` each."""

    from_client: ClassVar[bool] = True
    answers: list[tuple[int, str]]


class Invoke(Message, tag="invoke"):
    """Call retained functions: `[number, handle id, arguments as a JSON array in text]` each."""

    from_client: ClassVar[bool] = True
    invocations: list[tuple[int, str, str]]


class Returns(Message, tag="returns"):
    """How invocations ended, in any order: `[number of the invocation, envelope text]` each."""

    returns: list[tuple[int, str]]


class Logs(Message, tag="logs"):
    """Log lines in order: `[level, text]` each."""

    lines: list[tuple[str, str]]


FAILURE_KINDS = frozenset(
    (
        "program syntax declaration provider_source payload unserializable timeout cpu memory stalled overloaded "
        "shutdown crashed limit"
    ).split()
)
"""Every kind of failure this version knows."""


class Failure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a run failed. `line` and `column` count from 1 in the caller's own text; `detail` depends on the kind."""

    kind: str
    message: str
    name: str | None = None
    line: int | None = None
    column: int | None = None
    stack: str | None = None
    detail: Any = None


class Stats(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run used. Seconds, bytes and counts; `memory_peak_bytes` is what the worker's process grew by."""

    queued_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_peak_bytes: int = 0
    calls: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


class Done(Message, tag="done", omit_defaults=True):
    """The run's one outcome: `failure`, or else `result` (absent when the program gave `undefined`).

    `retained` says that the isolate lives on, with this connection, until either end closes it.
    """

    id: RunId
    result: Any = msgspec.UNSET
    failure: Failure | None = None
    warnings: list[str] = []
    stats: Stats = Stats()
    retained: bool = False


class Outcome(Message, tag="outcome", forbid_unknown_fields=True):
    """Ask how a run ended whose connection broke before its `done`."""

    from_client: ClassVar[bool] = True
    id: RunId


class Unknown(Message, tag="unknown"):
    """The daemon knows no outcome of that run, or not for this client."""

    id: RunId


class Status(Message, tag="status", forbid_unknown_fields=True):
    """Ask what the daemon is doing."""

    from_client: ClassVar[bool] = True


class Report(Message, tag="report", omit_defaults=True):
    """What the daemon is doing; counts since its start unless they say `now`.

    `queue` and `parked` are the bounds of `queued_now` and `parked_now`. `refused` counts refusals by their code.
    """

    server: str
    pid: int
    uptime_s: float
    workers: int
    idle_now: int
    running_now: int
    queued_now: int
    queue: int
    parked_now: int = 0
    runs: dict[str, int] = {}
    parked: int = 0
    draining: bool = False
    connections_now: int = 0
    refused: dict[str, int] = {}


AnyMessage = (
    Hello
    | Welcome
    | Refused
    | Execute
    | Started
    | Calls
    | Requests
    | Answers
    | Invoke
    | Returns
    | Logs
    | Done
    | Outcome
    | Unknown
    | Status
    | Report
)
MESSAGE_TYPES: tuple[type[Message], ...] = (
    Hello, Welcome, Refused, Execute, Started, Calls, Requests, Answers, Invoke, Returns, Logs, Done,
    Outcome, Unknown, Status, Report,
)  # fmt: skip
_BY_TAG: dict[str, type[Message]] = {str(kind.__struct_config__.tag): kind for kind in MESSAGE_TYPES}


def tag_of(kind: type[Message]) -> str:
    """The `type` field of a message class."""
    return str(kind.__struct_config__.tag)


def encode(message: Message) -> bytes:
    """One frame's body. NaN and infinities have no JSON form and are a defect of the caller (ValueError)."""
    if isinstance(message, Answers | Started | Execute):
        # What is sent most takes the short way where it leads to the same text: it refuses lone surrogates and does not
        # escape what is outside ASCII.
        try:
            body = msgspec.json.encode(message)
        except UnicodeEncodeError:
            pass
        else:
            if body.isascii():
                return body
    return json.dumps(msgspec.to_builtins(message), separators=(",", ":"), allow_nan=False).encode("ascii")


def decode(body: bytes | bytearray | memoryview) -> Message:
    """Read one frame's body.

    Raises:
        ProtocolError: `malformed` or `unknown_message`; the message says what is wrong and where.
    """
    short_way = _SHORT_WAYS.get(bytes(body[:_BEGINNING]))
    if short_way is not None:
        try:
            return short_way.decode(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass  # A lone surrogate, or worse: the long way tells.
    try:
        raw = _DECODER.decode(bytes(body).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError("malformed", f"The frame is no JSON: {_brief(error)}") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise ProtocolError("malformed", 'The frame is no object with a text field "type".')
    kind = _BY_TAG.get(raw["type"])
    if kind is None:
        raise ProtocolError("unknown_message", f"Unknown message type {raw['type'][:40]!a}.")
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, UnicodeError, RecursionError) as error:  # Unicode: a lone surrogate as a key.
        raise ProtocolError("malformed", f"The {raw['type']} message is malformed: {_brief(error)}") from None


_BEGINNING = len(b'{"type":"calls"')
_SHORT_WAYS: dict[bytes, msgspec.json.Decoder[Message]] = {
    f'{{"type":"{tag_of(kind)}",'.encode()[:_BEGINNING]: msgspec.json.Decoder(kind)
    for kind in (Execute, Started, Calls, Answers, Logs, Done)
}
"""The frequent messages, by how their frames begin. What does not begin so is not wrong, only slower to read."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _brief(error: BaseException) -> str:
    text = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return ascii(text[:200])[1:-1]
