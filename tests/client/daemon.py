"""A scripted daemon: it speaks the protocol over a real socket, or over TLS, and does what a test tells it to."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tooltoolexec_protocol.connection import Connection, State
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.messages import (
    VERSION,
    Answers,
    Calls,
    Done,
    Execute,
    Hello,
    Logs,
    Message,
    Refused,
    Started,
    Welcome,
)


class HungUpError(Exception):
    """The client ended the connection."""


class Peer:
    """The daemon's end of one connection, blocking."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(10)
        self.sock = sock
        self.connection = Connection(is_client=False)
        self.request = Execute(id="0" * 32, code="")
        self.token = ""

    def receive(self) -> Message:
        while (message := self.connection.next_message()) is None:
            try:
                data = self.sock.recv(65536)
            except (ConnectionResetError, ssl.SSLError):
                data = b""
            if not data:
                raise HungUpError
            self.connection.receive_data(data)
        return message

    def send(self, message: Message) -> None:
        self.send_bytes(self.connection.send(message))

    def send_raw(self, body: bytes) -> None:
        self.send_bytes(frame(body))

    def send_bytes(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            raise HungUpError from None

    def hang_up(self) -> None:
        self.sock.close()

    def greet(self) -> None:
        hello = self.receive()
        assert isinstance(hello, Hello)
        self.token = hello.token
        self.send(Welcome(version=VERSION))

    def receive_execute(self) -> Execute:
        message = self.receive()
        assert isinstance(message, Execute)
        self.request = message
        return message

    def start(self) -> None:
        self.receive_execute()
        self.send(Started(id=self.request.id, queued_s=0.0))

    def call(self, *calls: tuple[int, str, str, str]) -> None:
        self.send(Calls(calls=list(calls)))

    def log(self, *lines: tuple[str, str]) -> None:
        self.send(Logs(lines=list(lines)))

    def answers(self, count: int) -> dict[int, str]:
        found: dict[int, str] = {}
        while len(found) < count:
            message = self.receive()
            assert isinstance(message, Answers)
            found.update(message.answers)
        return found

    def ask(self, provider: str, tool: str, args_json: str = "[]") -> str:
        """One awaited call, as a program makes it."""
        self.call((1, provider, tool, args_json))
        return self.answers(1)[1]

    def done(self, result: Any = None, **more: Any) -> None:
        self.send(Done(id=self.request.id, result=result, **more))

    def wait_for_hang_up(self) -> None:
        while True:
            try:
                self.receive()
            except HungUpError:
                return


Script = Callable[[Peer], None]


class FakeDaemon:
    """Listens at `address`. Greets every connection, then runs the next script; without one it waits for the hang-up.

    A connection takes its script when its first message after the greeting has come in, so spares take none.
    """

    def __init__(self, folder: Path | None, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        """Without a folder for its socket it listens at a TCP port, with TLS where there is a context."""
        self._tls = tls
        self._is_closed = False
        self.scripts: list[Script] = []
        self.failures: list[BaseException] = []
        self.greeting: Script = Peer.greet
        self.accepted = 0
        self.peers: list[Peer] = []
        self._threads: list[threading.Thread] = []
        if folder is None:
            self._listener = socket.socket()
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(("127.0.0.1", port))
            self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{self._listener.getsockname()[1]}"
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(folder / "d.sock"))
            self.address = f"unix:{folder}/d.sock"
        self._listener.listen(100)
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def script(self, script: Script) -> Script:
        self.scripts.append(script)
        return script

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            thread = threading.Thread(target=self._serve, args=[Peer(sock)], daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: Peer) -> None:
        self.peers.append(peer)
        try:
            if self._tls is not None:
                peer.sock = self._tls.wrap_socket(peer.sock, server_side=True)
            self.greeting(peer)
            if peer.connection.state is State.READY and self._wait_for_bytes(peer) and self.scripts:
                self.scripts.pop(0)(peer)
        except (HungUpError, ssl.SSLError, ConnectionResetError):
            pass
        except BaseException as error:
            self.failures.append(error)
        finally:
            peer.sock.close()

    def _wait_for_bytes(self, peer: Peer) -> bool:
        try:
            data = peer.sock.recv(65536)
        except OSError:
            return False
        peer.connection.receive_data(data)
        return bool(data)

    def stop_listening(self) -> None:
        """New connections are refused from here on; those that are there go on."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._listener.fileno() != -1:
            self.stop_listening()
        self._acceptor.join(10)
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        if self.failures:
            raise self.failures[0]


def refuse(code: str) -> Script:
    """Refuse the first message after the greeting."""

    def script(peer: Peer) -> None:
        peer.receive()
        peer.send(Refused(code=code, message=f"refused: {code}"))

    return script
