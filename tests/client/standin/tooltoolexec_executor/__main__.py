"""`embedded --fd N --config JSON`: serves connections that come over descriptor N until its end of file.

The program is a word that says what to do. Tool calls go to `store.who`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

from tooltoolexec_protocol.connection import Connection, State
from tooltoolexec_protocol.messages import VERSION, Answers, Calls, Done, Execute, Outcome, Started, Unknown, Welcome

CONFIG = json.loads(sys.argv[sys.argv.index("--config") + 1])
FD = int(sys.argv[sys.argv.index("--fd") + 1])


def serve(sock: socket.socket) -> None:
    with contextlib.suppress(OSError), sock:  # The client aborts what it does not need.
        converse(sock)


def converse(sock: socket.socket) -> None:
    connection = Connection(is_client=False)

    def receive() -> Any:
        while (message := connection.next_message()) is None:
            data = sock.recv(65536)
            if not data:
                raise SystemExit
            connection.receive_data(data)
        return message

    receive()
    sock.sendall(connection.send(Welcome(version=VERSION)))
    request = receive()
    if isinstance(request, Outcome):
        sock.sendall(connection.send(Unknown(id=request.id)))
        return
    assert isinstance(request, Execute)
    sock.sendall(connection.send(Started(id=request.id, queued_s=0)))
    result: Any = None
    if request.code == "pid":
        result = os.getpid()
    elif request.code == "config":
        result = CONFIG
    elif request.code == "call":
        sock.sendall(connection.send(Calls(calls=[(1, "store", "who", "[]")])))
        answer = receive()
        assert isinstance(answer, Answers)
        result = json.loads(answer.answers[0][1])
    elif request.code == "wait":
        receive()
    assert connection.state is State.RUNNING
    sock.sendall(connection.send(Done(id=request.id, result=result)))


def main() -> None:
    if CONFIG.get("workers") == 13:
        sys.exit(13)
    if CONFIG.get("workers") == 14:  # Does not end by itself.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    control = socket.socket(fileno=FD)
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            break
        threading.Thread(target=serve, args=[socket.socket(fileno=descriptors[0])], daemon=True).start()
    if CONFIG.get("workers") == 14:
        time.sleep(60)


main()
