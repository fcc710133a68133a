"""Every message in every form, with the literal it has on the wire, and strategies for hostile values."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tooltoolexec_protocol.limits import EffectiveLimits, Limits
from tooltoolexec_protocol.messages import (
    Answers,
    AskedLimits,
    Calls,
    Done,
    Execute,
    Failure,
    Hello,
    Invoke,
    Logs,
    Message,
    Outcome,
    ProviderSpec,
    Refused,
    Report,
    Requests,
    Returns,
    Started,
    Stats,
    Status,
    Unknown,
    Welcome,
    WireLimits,
)

ID = "3f2a9c0d5b7e41868c1d2e3f4a5b6c7d"
REFUSAL_CODES = (
    "version", "malformed", "too_large", "unknown_message", "unexpected", "duplicate_run", "shutdown", "deadline",
    "unauthorized", "forbidden", "draining", "busy", "released",
)  # fmt: skip

_DEFAULTS = '{"wall_s":30.0,"cpu_s":10.0,"memory_mb":128,"payload_bytes":4194304,"log_bytes":262144,"calls":1000}'

UNBOUNDED = EffectiveLimits(**dict.fromkeys(Limits.__slots__, float("inf")))

WIRE: dict[str, tuple[Message, str]] = {
    "hello": (
        Hello(version=3, oldest_version=2, client="c", token="t"),
        '{"type":"hello","version":3,"oldest_version":2,"client":"c","token":"t"}',
    ),
    "hello_shortest": (Hello(version=1, oldest_version=1), '{"type":"hello","version":1,"oldest_version":1}'),
    "welcome": (
        Welcome(
            version=1,
            server="s",
            defaults=WireLimits.of(EffectiveLimits()),
            maxima=WireLimits(wall_s=None, calls=7.0),
            features=["f"],
        ),
        '{"type":"welcome","version":1,"server":"s","defaults":'
        + _DEFAULTS
        + ',"maxima":{"wall_s":null,"calls":7.0},"features":["f"]}',
    ),
    "welcome_shortest": (
        Welcome(version=1),
        '{"type":"welcome","version":1,"server":"","defaults":{},"maxima":{},"features":[]}',
    ),
    **{
        f"refused_{code}": (Refused(code=code, message="m"), f'{{"type":"refused","code":"{code}","message":"m"}}')
        for code in REFUSAL_CODES
    },
    "execute": (
        Execute(
            id=ID,
            code="1",
            providers=[
                ProviderSpec(name="a", tools=["b"]),
                ProviderSpec(name="c", positional_args=False, prelude="p", proxy_source="s"),
            ],
            dispatch=False,
            limits=AskedLimits(wall_s=1.5, memory_mb=64.0),
            labels={"k": "v"},
        ),
        (f'{{"type":"execute","id":"{ID}","code":"1","providers":[{{"name":"a","tools":["b"]}},'
        '{"name":"c","positionalArgs":false,"prelude":"p","proxySource":"s"}],"dispatch":false,'
        '"limits":{"wall_s":1.5,"memory_mb":64.0},"labels":{"k":"v"}}'),
    ),
    "execute_shortest": (Execute(id=ID, code=""), f'{{"type":"execute","id":"{ID}","code":""}}'),
    "execute_without_any_bound": (
        Execute(id=ID, code="", limits=AskedLimits.of(UNBOUNDED)),
        (f'{{"type":"execute","id":"{ID}","code":"","limits":{{"wall_s":null,"cpu_s":null,"memory_mb":null,'
        '"payload_bytes":null,"log_bytes":null,"calls":null}}'),
    ),
    "execute_with_a_lone_surrogate": (
        Execute(id=ID, code="'\ud800\0é😀'"),
        f'{{"type":"execute","id":"{ID}","code":"\'\\ud800\\u0000\\u00e9\\ud83d\\ude00\'"}}',
    ),
    "execute_with_what_a_run_may_ask_for": (
        Execute(id=ID, code="", outbound=True, retain_handles=True),
        f'{{"type":"execute","id":"{ID}","code":"","outbound":true,"retain_handles":true}}',
    ),
    "started": (Started(id=ID, queued_s=0.5), f'{{"type":"started","id":"{ID}","queued_s":0.5}}'),
    "calls": (
        Calls(calls=[(1, "p", "t", '["a"]'), (2, "p", "\udfff", "")]),
        '{"type":"calls","calls":[[1,"p","t","[\\"a\\"]"],[2,"p","\\udfff",""]]}',
    ),
    "calls_none": (Calls(calls=[]), '{"type":"calls","calls":[]}'),
    "requests": (
        Requests(requests=[(1, "GET", "https://a/", [], None), (2, "PUT", "https://a/b", [("x", "\xe9")], "AQID")]),
        ('{"type":"requests","requests":[[1,"GET","https://a/",[],null],'
        '[2,"PUT","https://a/b",[["x","\\u00e9"]],"AQID"]]}'),
    ),
    "invoke": (
        Invoke(invocations=[(1, "h", '["\ud800"]')]),
        '{"type":"invoke","invocations":[[1,"h","[\\"\\ud800\\"]"]]}',
    ),
    "returns": (
        Returns(returns=[(2, '{"result":1}'), (1, '{"error":"e"}')]),
        '{"type":"returns","returns":[[2,"{\\"result\\":1}"],[1,"{\\"error\\":\\"e\\"}"]]}',
    ),
    "answers": (
        Answers(answers=[(2, '{"result":1}'), (1, "\ud800")]),
        '{"type":"answers","answers":[[2,"{\\"result\\":1}"],[1,"\\ud800"]]}',
    ),
    "logs": (
        Logs(lines=[("log", "a"), ("warn", "[warn] \ud83d")]),
        '{"type":"logs","lines":[["log","a"],["warn","[warn] \\ud83d"]]}',
    ),
    "done": (Done(id=ID, result={"a": [1, 2.5, "x"]}), f'{{"type":"done","id":"{ID}","result":{{"a":[1,2.5,"x"]}}}}'),
    "done_with_null": (Done(id=ID, result=None), f'{{"type":"done","id":"{ID}","result":null}}'),
    "done_with_undefined": (Done(id=ID), f'{{"type":"done","id":"{ID}"}}'),
    "done_of_a_retained_run": (
        Done(id=ID, result={"__executor_handle_v1__": "1"}, retained=True),
        f'{{"type":"done","id":"{ID}","result":{{"__executor_handle_v1__":"1"}},"retained":true}}',
    ),
    "done_with_warnings_and_stats": (
        Done(
            id=ID,
            result=0,
            warnings=["w"],
            stats=Stats(
                queued_s=0.1, wall_s=0.2, cpu_s=0.3, memory_peak_bytes=4, calls=5, bytes_sent=6, bytes_received=7
            ),
        ),
        (f'{{"type":"done","id":"{ID}","result":0,"warnings":["w"],"stats":{{"queued_s":0.1,"wall_s":0.2,"cpu_s":0.3,'
        '"memory_peak_bytes":4,"calls":5,"bytes_sent":6,"bytes_received":7}}'),
    ),
    "done_with_a_failure": (
        Done(
            id=ID,
            failure=Failure(
                kind="program", message="m", name="TypeError", line=2, column=3, stack="s", detail={"a": [None]}
            ),
        ),
        (f'{{"type":"done","id":"{ID}","failure":{{"kind":"program","message":"m","name":"TypeError","line":2,'
        '"column":3,"stack":"s","detail":{"a":[null]}}}'),
    ),
    "done_with_the_shortest_failure": (
        Done(id=ID, failure=Failure(kind="crashed", message="")),
        f'{{"type":"done","id":"{ID}","failure":{{"kind":"crashed","message":""}}}}',
    ),
    "outcome": (Outcome(id=ID), f'{{"type":"outcome","id":"{ID}"}}'),
    "unknown": (Unknown(id=ID), f'{{"type":"unknown","id":"{ID}"}}'),
    "status": (Status(), '{"type":"status"}'),
    "report": (
        Report(
            server="s",
            pid=1,
            uptime_s=2.5,
            workers=3,
            idle_now=4,
            running_now=5,
            queued_now=6,
            queue=7,
            parked_now=2,
            runs={"ok": 8},
        ),
        ('{"type":"report","server":"s","pid":1,"uptime_s":2.5,"workers":3,"idle_now":4,"running_now":5,'
        '"queued_now":6,"queue":7,"parked_now":2,"runs":{"ok":8}}'),
    ),
    "report_of_a_daemon_that_drains": (
        Report(
            server="s", pid=1, uptime_s=2.5, workers=3, idle_now=4, running_now=5, queued_now=0, queue=7, parked_now=2,
            runs={"ok": 8}, parked=9, draining=True, connections_now=6, refused={"busy": 1},
        ),
        ('{"type":"report","server":"s","pid":1,"uptime_s":2.5,"workers":3,"idle_now":4,"running_now":5,'
        '"queued_now":0,"queue":7,"parked_now":2,"runs":{"ok":8},"parked":9,"draining":true,"connections_now":6,'
        '"refused":{"busy":1}}'),
    ),
    "report_shortest": (
        Report(
            server="", pid=1, uptime_s=0.0, workers=1, idle_now=0, running_now=0, queued_now=0, queue=0
        ),
        ('{"type":"report","server":"","pid":1,"uptime_s":0.0,"workers":1,"idle_now":0,"running_now":0,'
        '"queued_now":0,"queue":0}'),
    ),
}  # fmt: skip

EXAMPLES: tuple[Message, ...] = tuple({type(message): message for message, _ in reversed(WIRE.values())}.values())
"""One message of each type."""


def as_javascript_text(text: str) -> str:
    """Two halves of a pair that Python kept apart are one character to JavaScript and to JSON."""
    return str(json.loads(json.dumps(text)))


texts: st.SearchStrategy[str] = st.text(
    st.characters(exclude_categories=()) | st.sampled_from(["\ud800", "\udfff", "\0", '"', "\\", "\x7f", "😀"])
).map(as_javascript_text)
safe_integers = st.integers(-(2**53) + 1, 2**53 - 1)
scalars = st.none() | st.booleans() | safe_integers | st.floats(allow_nan=False, allow_infinity=False) | texts


def _nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4)


json_values: st.SearchStrategy[Any] = st.recursive(scalars, _nested, max_leaves=20)
values_with_bytes: st.SearchStrategy[Any] = st.recursive(scalars | st.binary(max_size=20), _nested, max_leaves=20)
