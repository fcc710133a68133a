"""A zygote that forks hostile workers: a program, started with the number of its control socket and a counter's path.

It speaks to the daemon as the real one does, and each worker behaves as the seed and its number say: it may fail to
start, end while it is idle, take the run and tell daemon and client anything, or nothing, and end in every way. It has
no V8 and no lock-down.
"""

from __future__ import annotations

import ctypes
import os
import random
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Never

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.frames import LITERALS, SEED, hostile_frame
from protocol.wire_examples import ID
from tooltoolexec_executor import handover
from tooltoolexec_executor.worker.main import FAULT, READY, TAKEN
from tooltoolexec_executor.worker.watchdog import CANCELLED, COMPUTING, PARKED
from tooltoolexec_executor.zygote import READY as ZYGOTE_READY
from tooltoolexec_protocol.framing import frame
from tooltoolexec_protocol.messages import Done, Failure, Started, encode

_PR_SET_PDEATHSIG = 1
STATUSES = (0, 0, 0, 1, CANCELLED, 7)
SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGXCPU)
LONGER_THAN_ANY_RUN_S = 60.0


class HostileZygote:
    """Forks on request and reports births and ends. `counter` is a file with the number of workers there have been:
    a zygote that replaces this one goes on from there, so that each worker is another.
    """

    def __init__(self, control: socket.socket, counter: Path) -> None:
        self._control = control
        self._counter = counter
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)
        self._children: dict[int, int] = {}  # pid by pidfd

    def run(self) -> Never:
        self._control.send(ZYGOTE_READY)
        while True:
            for descriptor, _events in self._poller.poll():
                if descriptor == self._control.fileno():
                    self._fork()
                else:
                    self._reap(descriptor)

    def _fork(self) -> None:
        message, descriptors, _flags, _address = socket.recv_fds(self._control, 64, 1)
        if not message or not descriptors:
            os._exit(0)
        number = int(self._counter.read_text() or "0") + 1
        self._counter.write_text(str(number))
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            _be_a_worker(socket.socket(fileno=descriptors[0]), number, parent)
        os.close(descriptors[0])
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = pid
        self._poller.register(pidfd, select.POLLIN)
        socket.send_fds(self._control, [b"P %d" % pid], [pidfd])

    def _reap(self, pidfd: int) -> None:
        pid = self._children.pop(pidfd)
        self._poller.unregister(pidfd)
        os.close(pidfd)
        _pid, status = os.waitpid(pid, 0)
        self._control.send(b"X %d %d" % (pid, status))


def _be_a_worker(control: socket.socket, number: int, parent: int) -> Never:
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            os.closerange(3, control.fileno())
            os.closerange(control.fileno() + 1, 1024)
            chance = random.Random(f"worker/{SEED}/{number}")
            HostileWorker(control, chance).live(is_good=number % 4 == 0)
    finally:
        os._exit(1)


class HostileWorker:
    """One of them."""

    def __init__(self, control: socket.socket, chance: random.Random) -> None:
        self._control = control
        self._chance = chance

    def live(self, *, is_good: bool) -> None:
        if not is_good and self._chance.random() < 0.03:
            self._control.send(
                self._chance.choice([b"", FAULT + frame(b"why"), FAULT, b"x", hostile_frame(self._chance)])
            )
            return
        self._control.send(READY)
        if not is_good and self._chance.random() < 0.05:
            time.sleep(0.02)
            return
        head, descriptors, _flags, _address = socket.recv_fds(self._control, handover.LENGTHS_BYTES, 1)
        if not descriptors:
            os._exit(0)
        sizes = handover.unpack_lengths(head)
        rest = b""
        while len(rest) < sum(sizes):
            rest += self._control.recv(65536)
        run_id = handover.unpack_facts(rest[: sizes[0]]).id
        client = socket.socket(fileno=descriptors[0])
        client.setblocking(True)
        with suppress(OSError):
            if is_good:
                self._run_well(client, run_id)
            else:
                self._run(client, run_id)
        self._end()

    def _run_well(self, client: socket.socket, run_id: str) -> Never:
        client.sendall(frame(encode(Started(id=run_id, queued_s=0.0))))
        self._control.send(TAKEN)
        client.sendall(frame(encode(Done(id=run_id, result="well"))))
        os._exit(0)

    def _run(self, client: socket.socket, run_id: str) -> None:
        """Turns to the client and to the daemon, in any order."""
        if self._chance.random() < 0.9:
            client.sendall(frame(encode(Started(id=run_id, queued_s=0.0))))
        if self._chance.random() < 0.9:
            self._control.send(TAKEN)
        for _ in range(self._chance.randint(0, 4)):
            if self._chance.random() < 0.6:
                self._tell_client(client, run_id)
            else:
                self._tell_daemon(run_id)

    def _tell_client(self, client: socket.socket, run_id: str) -> None:
        names = self._chance.choices(["calls", "logs", "calls_none"], k=self._chance.randint(0, 400))
        client.sendall(b"".join(frame(LITERALS[name]) for name in names))
        match self._chance.randrange(4):
            case 0:
                client.sendall(hostile_frame(self._chance, run_id))
            case 1:
                name = self._chance.choice([name for name in LITERALS if name.startswith("done")])
                client.sendall(frame(LITERALS[name].replace(ID.encode(), run_id.encode())))
            case 2:
                client.sendall(frame(LITERALS["done"])[: self._chance.randrange(40)])
            case _:
                pass

    def _tell_daemon(self, run_id: str) -> None:
        failure = Failure(kind=self._chance.choice(["program", "crashed"]), message="m", detail=[[]])
        match self._chance.randrange(7):
            case 0:
                self._control.sendall(frame(encode(Done(id=run_id, failure=failure))))
            case 1:
                self._control.sendall(frame(encode(Done(id=self._chance.choice([run_id, ID])))))
            case 2:
                self._control.sendall(FAULT + hostile_frame(self._chance, run_id))
            case 3:
                self._control.sendall(self._chance.choice([PARKED, COMPUTING, PARKED + COMPUTING]) * 1000)
            case 4:
                self._control.sendall(b"\xff" * self._chance.choice([1, 5, 100_000]))
            case 5:
                self._control.shutdown(socket.SHUT_RDWR)
            case _:
                self._control.sendall(hostile_frame(self._chance, run_id))

    def _end(self) -> Never:
        match self._chance.randrange(12):
            case 0:
                time.sleep(LONGER_THAN_ANY_RUN_S)
            case 1:
                with suppress(OSError):
                    while True:
                        self._control.sendall(b"\0" * 65536)
            case 2 | 3:
                os.kill(os.getpid(), self._chance.choice(SIGNALS))
        os._exit(self._chance.choice(STATUSES))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # The daemon has closed its end.
        HostileZygote(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])).run()
