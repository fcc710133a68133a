"""The daemon's log: one line an event, whatever a client writes into it, and nothing that is only a program's."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from serving import TOKEN, BareClient, ServedDaemon, until
from tooltoolexec import Limits, Provider, RefusedError, connect
from tooltoolexec_executor import logs
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.limits import LABEL_CHARACTERS
from tooltoolexec_protocol.messages import VERSION, Hello, Stats, encode

pytestmark = pytest.mark.anyio

NASTY = "a\nb\r\x1b[31m\x00\x85\x9b\u2028\u2029\u202e\ud800 \"'\\ 😀"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
CANARY = "canary"
CLIENTS, FLOOD = 20, 2000
BOTH_FORMS = """
import logging, sys
from tooltoolexec_executor import logs

def both(form, level, configure=logs.configure):
    configure("json", level)
    text = logging.StreamHandler(sys.stderr)
    text.setFormatter(logs.TextFormatter())
    logging.getLogger().addHandler(text)

logs.configure = both
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["json", "text"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stream(form: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Standard error, while the log is configured in that form; every fault of logging itself is an error."""
    root, caught = logging.getLogger(), io.StringIO()
    before, level = root.handlers, root.level
    monkeypatch.setattr(sys, "stderr", caught)
    root.handlers = []  # `configure` closes those that it finds, and these are not ours.
    logs.configure(form, logging.INFO)
    # A logger that the test runner does not know: halves of characters are more than it can send on.
    own = logging.Logger("tooltoolexec", logging.INFO)  # noqa: LOG001 - for that very reason
    own.handlers, root.handlers = root.handlers, before
    monkeypatch.setattr(logs, "log", own)
    yield caught
    root.setLevel(level)


def end(labels: dict[str, str]) -> None:
    used = Stats(cpu_s=0.25, memory_peak_bytes=7, calls=3)
    logs.run_ended("a" * 32, "uid:7", "timeout", labels, wall_s=1.23456, queued_s=0.5, used=used)


def only_line(stream: io.StringIO) -> str:
    (line,) = stream.getvalue().splitlines()  # At everything that ends a line in Unicode.
    assert line.isprintable()
    line.encode("utf-8")
    return line


def parsed(line: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(line, parse_constant=refuse)
    assert isinstance(found, dict)
    json.dumps(found, ensure_ascii=False).encode("utf-8")  # No half of a character, not even as an escape.
    return found


def test_a_runs_end_is_one_line_with_its_facts(stream: io.StringIO, form: str) -> None:
    end({"team": "blue", "traceparent": f"00-{TRACE}-{SPAN}-01"})
    line = only_line(stream)
    if form == "json":
        facts = parsed(line)
        assert RFC_3339.fullmatch(facts.pop("time"))
        assert facts == {
            "level": "info", "event": "run ended", "run": "a" * 32, "client": "uid:7", "outcome": "timeout",
            "wall_s": 1.2346, "queued_s": 0.5, "cpu_s": 0.25, "memory_peak_bytes": 7, "calls": 3,
            "trace_id": TRACE, "span_id": SPAN,
            "labels": {"team": "blue", "traceparent": f"00-{TRACE}-{SPAN}-01"},
        }  # fmt: skip
    else:
        time, rest = line.split(" ", 1)
        assert RFC_3339.fullmatch(time)
        assert rest.startswith(
            f"INFO run ended run={'a' * 32} client=uid:7 outcome=timeout wall_s=1.2346 queued_s=0.5 "
        )
        assert f"trace_id={TRACE} span_id={SPAN}" in rest
        assert 'labels={"team": "blue"' in rest


@pytest.mark.parametrize("place", ["a label's text", "a label's name", "the event", "a value"])
def test_a_text_breaks_neither_the_line_nor_the_terminal(stream: io.StringIO, form: str, place: str) -> None:
    if place == "a label's text":
        end({"label": NASTY})
    elif place == "a label's name":
        end({NASTY: "text"})
    elif place == "the event":
        logs.log.error("%s", NASTY)
    else:
        logs.log.error("event", extra={"fields": {"value": NASTY}})
    line = only_line(stream)
    assert "😀" in line or "\\ud83d\\ude00" in line
    if form == "json":
        parsed(line)


@pytest.mark.parametrize("character", ["x", "\x00", "\u2028", "\ud800", "😀"])
def test_the_longest_labels_make_a_bounded_line(stream: io.StringIO, form: str, character: str) -> None:
    end({"label": character * LABEL_CHARACTERS, "other": "short"})
    line = only_line(stream)
    assert len(line) < 40_000
    if form == "json":
        assert parsed(line)["labels"]["other"] == "short"


def test_many_labels_make_a_bounded_line(stream: io.StringIO) -> None:
    end({f"{number:x}": "" for number in range(LABEL_CHARACTERS)})
    assert len(only_line(stream)) < 2000


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1 << 80, None, b"bytes", ["a", "list"], Path("/a")])
def test_any_value_has_a_form(stream: io.StringIO, form: str, value: Any) -> None:
    logs.log.info("event", extra={"fields": {"value": value}})
    line = only_line(stream)
    if form == "json":
        parsed(line)


def test_an_exception_is_bounded_and_the_terminals_friend(stream: io.StringIO, form: str) -> None:
    logs.log.error("it failed", exc_info=ValueError(NASTY + "x" * 100_000 + NASTY))
    text = stream.getvalue()
    assert len(text) < 9000
    if form == "json":
        assert "xxx" in parsed(only_line(stream))["exception"]
    else:
        first, *others = text.removesuffix("\n").split("\n")
        assert first.endswith("ERROR it failed")
        assert others
        assert all(line.startswith("  ") and line.isprintable() for line in others)


@pytest.mark.parametrize(
    "traceparent",
    [
        "", "00", f"00-{TRACE}-{SPAN}", f"00-{TRACE}-{SPAN}-01\n", f"00-{TRACE.upper()}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE}-{SPAN}-01-more",
    ],
)  # fmt: skip
def test_what_is_no_traceparent_names_no_trace(stream: io.StringIO, traceparent: str) -> None:
    end({"traceparent": traceparent})
    assert "trace_id" not in only_line(stream)


def test_a_flood_of_refusals_is_a_few_lines_and_a_count(
    stream: io.StringIO, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr(logs, "_refusals", logs._Throttle())
    for _ in range(FLOOD):
        logs.log_refusal("unauthorized", "ip:127.0.0.1", "ip:127.0.0.1", "why")
    assert len(stream.getvalue().splitlines()) == 20
    now = 107.5
    logs.log_refusal("unauthorized", "ip:127.0.0.1", "ip:127.0.0.1", "why")
    told, last = stream.getvalue().splitlines()[20:]
    assert "refusals not logged" in told
    assert str(FLOOD - 20) in told
    assert "refused" in last
    logs.log_refusal("unauthorized", "ip:127.0.0.1", "ip:127.0.0.1", "why")
    assert len(stream.getvalue().splitlines()) == 23


@pytest.mark.parametrize("code", ["malformed", "unknown_message"])
def test_a_reason_that_quotes_the_client_is_not_logged(stream: io.StringIO, code: str) -> None:
    logs.log_refusal(code, "uid:7", "uid:7", f"Unknown message type {CANARY}.")
    assert CANARY not in only_line(stream)


async def run_canaries(daemon: ServedDaemon) -> int:
    """Programs whose every text is a canary; gives how many."""

    async def tool(text: str) -> str:
        if "throw" in text:
            raise ValueError(f"{CANARY} of a tool")
        return f"{CANARY} of an answer to {text}"

    programs = [
        f'async () => "{CANARY}"',
        f'async () => {{ console.log("{CANARY}"); throw new Error("{CANARY}") }}',
        f'async () => tools.tool("{CANARY}")',
        f'async () => tools.tool("throw {CANARY}")',
        f"this is no program, {CANARY}",
        f'async () => Promise.reject({{ {CANARY}: "{CANARY}" }})',
        f'async () => {{ const {CANARY} = "{CANARY}"; while (true); }}',
        f'async () => {{ const a = []; while (true) a.push("{CANARY}".repeat(a.length * 1000)); }}',
        f"async () => {CANARY}Unknown()",
        f'async () => BigInt("1{CANARY}")',
        f'async () => new Promise(() => "{CANARY}")',
    ]
    async with daemon.connect("tls") as executor:
        for code in programs:
            await executor.execute(code, [Provider("tools", [tool])], limits=Limits(wall_s=0.5, memory_mb=16))
    return len(programs)


async def send_canaries(daemon: ServedDaemon) -> int:
    """What is refused, with canaries in it; gives how often that was."""
    with pytest.raises(RefusedError):
        async with connect(daemon.tls, token=f"{CANARY}-which-is-the-wrong-token", ca=str(daemon.certificates.ca)):
            pass
    greetings = (
        f'{{"type":"{CANARY}"}}',
        CANARY,
        f'{{"type":"hello","version":1,"oldest_version":1,"{CANARY}":1}}',
        f'{{"type":"hello","version":"{CANARY}","oldest_version":1}}',
        f'{{"type":"hello","version":98,"oldest_version":98,"client":"{CANARY}","token":"{CANARY}"}}',
    )
    for body in greetings:
        with BareClient(daemon.unix) as client:
            client.send_body(body.encode())
            client.refusal()
    requests = (
        f'{{"type":"execute","id":"{CANARY}","code":"{CANARY}"}}',
        f'{{"type":"execute","id":"{"0" * 32}","code":"{CANARY}","limits":{{"{CANARY}":1}}}}',
        f'{{"type":"outcome","id":"{CANARY}"}}',
        f'{{"type":"execute","id":"{"1" * 32}","code":"","labels":{{"{CANARY}":"{CANARY * LABEL_CHARACTERS}"}}}}',
    )
    for body in requests:
        with BareClient(daemon.unix) as client:
            client.greet()
            client.send_body(body.encode())
            client.refusal()
    return 1 + len(greetings) + len(requests)


async def test_a_log_holds_nothing_of_programs_and_no_token(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, ["--workers", "2", "--warm", "2"], preparation=BOTH_FORMS) as daemon:
        count = await run_canaries(daemon)
        refused = await send_canaries(daemon)
        for said, times in (
            (' "run ended"', count),
            (" run ended ", count),
            (' "refused"', refused),
            (" refused ", refused),
        ):
            await until(lambda: "".join(daemon.log).count(said) == times, said)  # noqa: B023 - it is awaited here
    log = "".join(daemon.log)
    assert CANARY not in log
    assert TOKEN not in log


async def test_a_flood_of_refused_clients_is_a_few_lines_and_all_are_counted(tmp_path: Path) -> None:
    with ServedDaemon(tmp_path, with_tokens=True) as daemon:

        async def be_refused() -> None:
            for _ in range(FLOOD // CLIENTS):
                async with await anyio.connect_tcp("127.0.0.1", int(daemon.tcp.rpartition(":")[2])) as stream:
                    await stream.send(frame(encode(hello)))
                    await stream.receive()

        hello = Hello(version=VERSION, oldest_version=VERSION, token="wrong" * 8)
        begun = anyio.current_time()
        async with anyio.create_task_group() as group:
            for _ in range(CLIENTS):
                group.start_soon(be_refused)
        seconds = anyio.current_time() - begun
        async with daemon.connect("unix") as executor:
            refused = (await executor.status()).refused
    assert refused == {"unauthorized": FLOOD}
    lines = [json.loads(line) for line in daemon.log if '"refus' in line]
    assert 20 <= len(lines) <= 21 * (seconds + 2)
