"""From a request on the wire to the envelope that answers it, through the run's handler."""

from __future__ import annotations

import logging
from base64 import b64decode
from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Any

import anyio
import anyio.to_thread

from tooltoolexec.dispatch import fitted
from tooltoolexec.outbound.exchange import Outbound, OutboundRequest, OutboundResponse
from tooltoolexec.threads import Threads
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.envelope import error_envelope, exception_envelope, result_envelope
from tooltoolexec_protocol.errors import ToolError

Emptied = Callable[[], Awaitable[None]]
"""Waits while answers wait because the worker does not read."""
Fetcher = Callable[[str, str, list[tuple[str, str]], str | None, Emptied], Coroutine[Any, Any, str]]
"""`await fetcher(method, url, headers, body in base64, emptied)` gives the envelope text and raises no Exception."""

_MOST_AT_ONCE = 16
"""How many of a run's requests are with the handler, or have a response that is being encoded."""
_LARGE_BYTES = 256 * 1024
"""From this size on a body is encoded in a thread: the event loop would stand still meanwhile."""
_WITHOUT_BODY = (204, 205, 304)
_log = logging.getLogger("tooltoolexec")


def fetcher_for(outbound: Outbound | None, threads: Threads) -> Fetcher | None:
    """What answers the run's requests; None when the network is closed for it.

    Raises:
        TypeError: `outbound` is no function.
    """
    if outbound is None:
        return None
    if not callable(outbound):
        raise TypeError(f"outbound is a function, not {type(outbound).__name__}")
    places = anyio.Semaphore(_MOST_AT_ONCE, fast_acquire=True)
    encoder = anyio.CapacityLimiter(1)  # An encoded body takes several times its size: one after the other.

    async def fetch(method: str, url: str, headers: list[tuple[str, str]], body: str | None, emptied: Emptied) -> str:
        async with places:  # Before anything is decoded: what waits takes no more than what came.
            await emptied()  # A program that is busy takes no answers in.
            return await serve(method, url, headers, body)

    async def serve(method: str, url: str, headers: list[tuple[str, str]], body: str | None) -> str:
        try:
            content = b"" if body is None else b64decode(body, validate=True)
            response = await threads.call(outbound, OutboundRequest(method, url, list(headers), content))
            if not isinstance(response, OutboundResponse):
                raise TypeError(f"outbound gave {type(response).__name__} and no OutboundResponse")  # noqa: TRY301
            if len(response.body) < _LARGE_BYTES:
                return _encoded(response)
            return await anyio.to_thread.run_sync(_encoded, response, limiter=encoder)
        except ToolError as error:
            return exception_envelope(error)
        except Exception as error:  # A handler may raise anything; the program goes on.
            _log.warning("a request of the program failed", exc_info=error)
            return error_envelope(texts.REQUEST_FAILED)

    return fetch


async def refuse_request(
    _method: str, _url: str, _headers: list[tuple[str, str]], _body: str | None, _emptied: Emptied
) -> str:
    """What a run without `outbound` answers; the sandbox says the same and sends no request."""
    return error_envelope(texts.NETWORK_CLOSED)


def _encoded(response: OutboundResponse) -> str:
    return fitted(result_envelope(_form_of(response)))


def _form_of(response: OutboundResponse) -> dict[str, Any]:
    form: dict[str, Any] = {
        "status": response.status,
        "statusText": _reason(response.status),
        "headers": [list(pair) for pair in response.headers],
        "body": None if response.status in _WITHOUT_BODY else response.body,
    }
    if response.url is not None:
        form["url"] = response.url
    return form


def _reason(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
