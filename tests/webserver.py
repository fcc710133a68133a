"""A real HTTP server in a thread: what it was asked, and the replies that a test gives it."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass
class Reply:
    body: bytes = b""
    status: int = 200
    headers: Sequence[tuple[str, str]] = ()


@dataclass
class Asked:
    method: str
    path: str
    headers: list[tuple[str, str]]
    """Names in lower case."""
    body: bytes
    connection: Any

    def header(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each == name]


Route = Reply | Callable[[Asked], Reply | None]
"""A reply, or what gives one; None where it wrote to the connection itself."""


class WebServer:
    """Answers on 127.0.0.1; `asked` has every request in order.

    Args:
        routes: replies by path.
        tls: speaks TLS with this.
    """

    def __init__(self, routes: Mapping[str, Route], tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.ends = threading.Event()
        """Set when the server closes: what a reply that never comes waits for."""
        self._routes = routes
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args: object) -> None:
                pass

            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    super().handle()

            def __getattr__(self, name: str) -> Any:
                if name.startswith("do_"):
                    return lambda: server._answer(self)
                raise AttributeError(name)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._tls = tls
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port: int = self._server.server_address[1]
        self.authority = f"127.0.0.1:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.authority}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        headers = [(name.lower(), value) for name, value in handler.headers.items()]
        asked = Asked(handler.command, handler.path, headers, body, handler.connection)
        self.asked.append(asked)
        route = self._routes[handler.path.partition("?")[0]]
        reply = route(asked) if callable(route) else route
        handler.close_connection = True
        if reply is None:
            return
        handler.send_response_only(reply.status)
        handler.send_header("Connection", "close")  # Or a client might send its next request into the end.
        if not any(name.lower() == "content-length" for name, _ in reply.headers):
            handler.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(reply.body)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ends.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
