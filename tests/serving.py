"""A real daemon in a process of its own, and a client of bare frames: what the contract and the fault tests share."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import trustme

from tooltoolexec import Executor, connect
from tooltoolexec_protocol.address import TcpAddress, UnixAddress, parse_address
from tooltoolexec_protocol.framing import FrameReader, frame
from tooltoolexec_protocol.limits import FRAME_BYTES
from tooltoolexec_protocol.messages import VERSION, Execute, Hello, Message, Refused, Welcome, decode, encode

PATIENCE_S = 15.0
"""How long a test waits for what must come; far longer than it takes."""


TOKEN = "a token for the tests 0123456789".replace(" ", "-")


class Certificates:
    """An authority of the tests' own, and a certificate of it for this machine."""

    _made: Certificates | None = None

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.ca, self.cert, self.key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
        self.authority.cert_pem.write_to_path(self.ca)
        self.write(self.authority.issue_cert("localhost", "127.0.0.1"))

    def write(self, leaf: trustme.LeafCert) -> None:
        """Have daemons that start or reload from now on use this one."""
        self.key.write_bytes(leaf.private_key_pem.bytes())
        self.cert.write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))

    def client(self, leaf: trustme.LeafCert | None = None) -> ssl.SSLContext:
        """For a client that trusts the authority, perhaps with a certificate of its own."""
        context = ssl.create_default_context(cafile=str(self.ca))
        if leaf is not None:
            leaf.configure_cert(context)
        return context

    @classmethod
    def shared(cls) -> Certificates:
        """For tests that do not change them: made once per process."""
        if cls._made is None:
            folder = tempfile.mkdtemp()
            atexit.register(shutil.rmtree, folder)
            cls._made = cls(Path(folder))
        return cls._made


class ServedDaemon:
    """`tooltoolexec serve` on a Unix socket, a TCP port without tokens, and a TLS port with `TOKEN`.

    Args:
        folder: where its socket goes.
        options: more command-line options.
        preparation: Python statements that the daemon's process runs first, to shorten a deadline.
        certificates: instead of those that all share.
        with_tokens: let nobody in by TCP without one.
    """

    def __init__(
        self,
        folder: Path,
        options: Sequence[str] = (),
        *,
        preparation: str = "",
        certificates: Certificates | None = None,
        with_tokens: bool = False,
    ) -> None:
        self.path = folder / "d.sock"
        self.certificates = certificates or Certificates.shared()
        program = f"{preparation}\nfrom tooltoolexec_executor.cli import serve\nserve()"
        listen = [f"--listen=unix:{self.path}", "--listen=tcp://127.0.0.1:0", "--listen=tls://127.0.0.1:0"]
        access = [
            *["--insecure-no-token"][: not with_tokens],
            f"--tls-cert={self.certificates.cert}",
            f"--tls-key={self.certificates.key}",
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *listen, *access, *options],
            env={**os.environ, "TOOLTOOLEXEC_TOKENS": f"tests={TOKEN}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self._listens = threading.Event()
        self._addresses: list[str] = []
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        if not self._listens.wait(PATIENCE_S) or len(self._addresses) < 3:
            self.close()
            raise AssertionError("the daemon does not listen: " + "".join(self.log))
        self.unix, self.tcp, self.tls = self._addresses

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.log.append(line)
                found = re.search(r'"event": ?"listening".*"address": ?"([^"]+)"', line)
                if found:
                    self._addresses.append(found[1])
                    if len(self._addresses) == 3:
                        self._listens.set()
        self._listens.set()

    def connect(self, place: str) -> Executor:
        """An executor, not open yet, at its `unix`, `tcp` or `tls` address."""
        if place == "tls":
            return connect(self.tls, token=TOKEN, ca=str(self.certificates.ca))
        return connect(getattr(self, place))

    @property
    def pid(self) -> int:
        return self.process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it at once, in good order where that is possible, and see that nothing of it stays."""
        family = Family(self.pid)
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(PATIENCE_S)
        assert family.ends_within(PATIENCE_S), "a process of the daemon outlived it"


def children_of(pid: int) -> list[int]:
    """The processes whose parent is `pid`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name in parentheses may hold anything; what follows the last one is regular.
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if int(parent) == pid and state != "Z":
                    found.append(int(entry.name))
    return found


def descendants_of(pid: int) -> list[int]:
    """Children, their children and so on."""
    found = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def descriptor_count(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Family:
    """The descendants a process has now, held by pidfds, so that their ends can be awaited."""

    def __init__(self, pid: int) -> None:
        self._pidfds: list[int] = []
        for member in descendants_of(pid):
            with contextlib.suppress(ProcessLookupError):
                self._pidfds.append(os.pidfd_open(member))
        self.size = len(self._pidfds)

    def ends_within(self, seconds: float) -> bool:
        """Whether all of them end in time. Can be asked once."""
        return end_within(self._pidfds, seconds)


def end_within(pidfds: Iterable[int], seconds: float) -> bool:
    """Whether the processes end in time; closes the pidfds."""
    deadline = time.monotonic() + seconds
    all_ended = True
    for pidfd in pidfds:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        all_ended &= bool(poller.poll(max(0, deadline - time.monotonic()) * 1000))
        os.close(pidfd)
    return all_ended


def workers_of(daemon: int) -> list[int]:
    """The worker processes of a daemon: its zygote's children."""
    return [worker for zygote in children_of(daemon) for worker in children_of(zygote)]


def wait_until(holds: Callable[[], bool], what: str, *, within_s: float = PATIENCE_S) -> None:
    """Wait for something that makes no event here: another process's state."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.005)


async def until(holds: Callable[[], bool], what: str, *, within_s: float = PATIENCE_S) -> None:
    """`wait_until` for a test that runs on a loop."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not in time: {what}"
        await anyio.sleep(0.005)


class BareClient:
    """Frames over a blocking socket; sends whatever it is told to."""

    def __init__(self, address: str, tls: ssl.SSLContext | None = None) -> None:
        place = parse_address(address)
        if isinstance(place, UnixAddress):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE_S)
            self.socket.connect(place.path)
        else:
            assert isinstance(place, TcpAddress)
            self.socket = socket.create_connection((place.host, place.port), PATIENCE_S)
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket, server_hostname=place.host)
        self._reader = FrameReader()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send_body(self, body: bytes) -> None:
        self.socket.sendall(frame(body))

    def send(self, message: Message) -> None:
        self.send_body(encode(message))

    def receive(self) -> Message | None:
        """The next message; None at the end of the connection."""
        while (body := self._reader.next_body(FRAME_BYTES)) is None:
            try:
                data = self.socket.recv(65536)
            except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
                return None
            if not data:
                return None
            self._reader.feed(data)
        return decode(body)

    def greet(self, token: str = "") -> None:
        self.send(Hello(version=VERSION, oldest_version=VERSION, token=token))
        assert isinstance(self.receive(), Welcome)

    def execute(self, code: str) -> Execute:
        """Greet and ask for a run."""
        self.greet()
        request = Execute(id=os.urandom(16).hex(), code=code)
        self.send(request)
        return request

    def refusal(self) -> Refused:
        """The refusal, which must be the last thing that comes."""
        last = None
        while (message := self.receive()) is not None:
            last = message
        assert isinstance(last, Refused), last
        return last


def kill_hard(pid: int) -> None:
    """SIGKILL, to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
