"""Over HTTP for those who watch a daemon: /metrics, /healthz and /readyz, on an address of their own.

One answer a connection. Nothing of a program, a client or a token is told here.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import Never

import h11
import trio
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from tooltoolexec_executor.metrics import registry_of
from tooltoolexec_executor.sending import send_all
from tooltoolexec_executor.state import DaemonState
from tooltoolexec_protocol.address import TcpAddress

log = logging.getLogger("tooltoolexec")

_CONNECTIONS = 32
_EXCHANGE_S = 5.0
_HEAD_BYTES = 8 * 1024
_RECEIVE_BYTES = 4 * 1024
_GOODBYE_READS = 64
_PAUSE_S = 0.05

Answer = tuple[int, str, bytes]
"""Status, content type and body."""


async def observe(state: DaemonState, bound: socket.socket) -> Never:
    """Answer until cancelled. One connection too many ends the oldest: whoever says nothing keeps nobody out."""
    answers = _Answers(state)
    listening = trio.socket.from_stdlib_socket(bound)
    attended: dict[trio.CancelScope, None] = {}
    address = str(TcpAddress(*bound.getsockname()[:2])).removeprefix("tcp://")
    log.info("observable", extra={"fields": {"address": address}})
    async with trio.open_nursery() as nursery:
        while True:
            try:
                connection, _address = await listening.accept()
            except OSError:
                await trio.sleep(_PAUSE_S)
                continue
            if len(attended) >= _CONNECTIONS:
                oldest = next(iter(attended))
                oldest.cancel()
                del attended[oldest]
            scope = trio.CancelScope(deadline=trio.current_time() + _EXCHANGE_S)
            attended[scope] = None
            nursery.start_soon(_attend, connection, answers, scope, attended)


async def _attend(
    connection: trio.socket.SocketType,
    answers: _Answers,
    scope: trio.CancelScope,
    attended: dict[trio.CancelScope, None],
) -> None:
    try:
        with connection, scope:
            await _exchange(connection, answers)
    except OSError:
        pass  # It hung up.
    except Exception:
        log.exception("An observer got no answer. This is a defect of the daemon.")
    finally:
        attended.pop(scope, None)


async def _exchange(connection: trio.socket.SocketType, answers: _Answers) -> None:
    http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
    try:
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(await connection.recv(_RECEIVE_BYTES))
        if not isinstance(event, h11.Request):
            return
        answer, is_head = answers.to(event), event.method == b"HEAD"
    except h11.RemoteProtocolError as error:
        answer, is_head = (error.error_status_hint, *_text("This is no request.")), False
    status, kind, body = answer
    headers = [("Content-Type", kind), ("Content-Length", str(len(body))), ("Connection", "close")]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append(("Allow", "GET, HEAD"))
    data = http.send(h11.Response(status_code=status, headers=headers)) or b""
    if not is_head:
        data += http.send(h11.Data(data=body)) or b""
    await send_all(connection, data)
    connection.shutdown(socket.SHUT_WR)
    for _ in range(_GOODBYE_READS):  # Closing on unread bytes would take the answer back.
        if not await connection.recv(_RECEIVE_BYTES):
            return


class _Answers:
    """What each path answers."""

    def __init__(self, state: DaemonState) -> None:
        self._state = state
        self._registry: CollectorRegistry = registry_of(state)
        self._paths: dict[bytes, Callable[[h11.Request], Answer]] = {
            b"/metrics": self._metrics,
            b"/healthz": self._health,
            b"/readyz": self._readiness,
        }

    def to(self, request: h11.Request) -> Answer:
        """The answer to one request."""
        path = self._paths.get(request.target.partition(b"?")[0])
        if path is None:
            return 404, *_text("There are /metrics, /healthz and /readyz.")
        if request.method not in (b"GET", b"HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, *_text("Only GET and HEAD.")
        return path(request)

    def _metrics(self, request: h11.Request) -> Answer:
        """In the form that the client prefers, of those that its library knows."""
        accepted = b",".join(value for name, value in request.headers if name == b"accept")
        try:
            encode, kind = choose_encoder(accepted.decode("latin-1"))
        except Exception:  # It does not take every version number that it reads.
            encode, kind = choose_encoder("")
        return 200, kind, encode(self._registry)

    def _health(self, _request: h11.Request) -> Answer:
        """The loop lives, or there would be no answer."""
        return 200, *_json({"status": "ok"})

    def _readiness(self, _request: h11.Request) -> Answer:
        if self._state.draining.is_set():
            return 503, *_json({"status": "draining"})
        if not self._state.pool.is_able:
            return 503, *_json({"status": "no workers"})
        return 200, *_json({"status": "ready"})


def _text(text: str) -> tuple[str, bytes]:
    return "text/plain; charset=utf-8", f"{text}\n".encode()


def _json(value: dict[str, str]) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode()
