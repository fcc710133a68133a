"""The daemon as a child of this process, on private sockets: nothing listens, and it ends when this process does.

One socket pair is the control channel. A new connection is another pair, one end of which goes over it. The daemon ends
at the control channel's end of file, so it ends however this process ends.
"""

from __future__ import annotations

import importlib.util
import json
import math
import socket
import subprocess
import sys
from array import array
from collections.abc import Mapping
from dataclasses import asdict

import anyio

from tooltoolexec import forks
from tooltoolexec.executor import THREADS, Executor
from tooltoolexec.transport import Transport
from tooltoolexec_protocol.errors import ExecutorError
from tooltoolexec_protocol.limits import Limits

__all__ = ["local"]

_START_TIMEOUT_S = 30.0
"""For the first greeting, which waits until the daemon's modules are loaded and V8 is up."""
_DRAIN_S = 5.0
_LAST_MOMENT_S = 1.0
_POLL_S = 0.005
_NEW_CONNECTION = b"c"


class EmbeddedDialer:
    """Starts the daemon, hands it connections, and sees it end."""

    name = "the embedded executor"

    def __init__(self, config: dict[str, object]) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start the child; the first greeting waits until it is up.

        Raises:
            ExecutorError: the executor's part of this distribution is not installed, or the child cannot be started.
        """
        if any(
            importlib.util.find_spec(module) is None for module in ("tooltoolexec_executor", "py_mini_racer", "trio")
        ):
            raise ExecutorError("The embedded executor is not installed. Run: pip install 'tooltoolexec[executor]'")
        try:
            self._control, theirs = socket.socketpair()
        except OSError as error:
            raise ExecutorError(f"The embedded executor cannot be started: {error}") from error
        forks.close_in_child(self._control)
        self._control.setblocking(False)
        self._sending = anyio.Lock()
        command = [sys.executable, "-m", "tooltoolexec_executor", "embedded", "--fd", str(theirs.fileno())]
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - anyio's would need threads to start it.
                    [*command, "--config", json.dumps(self._config)],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    process_group=0,  # A Ctrl-C at the terminal is this process's to handle.
                )
            except OSError as error:
                self._control.close()
                raise ExecutorError(f"The embedded executor cannot be started: {error}") from error

    async def dial(self) -> Transport:
        """One end of a new pair, the other being on its way to the daemon."""
        ours, theirs = socket.socketpair()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [theirs.fileno()]))]
        try:
            with theirs:
                async with self._sending:
                    while True:
                        try:
                            self._control.sendmsg([_NEW_CONNECTION], rights)
                            break
                        except BlockingIOError:
                            await anyio.wait_writable(self._control)
        except BaseException:
            ours.close()
            raise
        return Transport(ours)

    def hint(self) -> str:
        """Nothing else can be at the other end."""
        return ""

    async def why_silent(self, reason: str) -> str:
        """The child's exit status, where it has one: its sockets end a moment before it does."""
        if self._process is None or not await _ends_within(self._process, _LAST_MOMENT_S):
            return reason
        return f"it ended with status {self._process.returncode}"

    @property
    def has_ended(self) -> bool:
        """Whether the child is gone."""
        return self._process is not None and self._process.poll() is not None

    async def aclose(self) -> None:
        """Ask the daemon to end, give it some seconds, then end it."""
        process, self._process = self._process, None
        if process is None:
            return
        self._control.close()
        if not await _ends_within(process, _DRAIN_S):
            process.kill()
            process.wait()  # Of a killed process: no wait to speak of.


async def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with anyio.move_on_after(seconds):
        while process.poll() is None:  # noqa: ASYNC110 - a child's end is no event of the loop.
            await anyio.sleep(_POLL_S)
    return process.poll() is not None


def local(
    *,
    workers: int | None = None,
    parked: int | None = None,
    queue: int | None = None,
    defaults: Limits | None = None,
    maxima: Limits | None = None,
    threads: int = THREADS,
) -> Executor:
    """An executor whose daemon is a child of this process; `async with` starts it.

    Args:
        workers: how many runs may compute at a time.
        parked: how many more may wait for their tools.
        queue: how many more may wait for a worker.
        defaults: limits of a run that does not say.
        maxima: what a run may ask for; `math.inf` for no maximum.
        threads: how many plain functions may run at a time, over all runs.

    Raises:
        TypeError: an option has the wrong type.
        ValueError: an option is out of range.
    """
    dialer = embedded_dialer({"workers": workers, "parked": parked, "queue": queue}, defaults, maxima)
    return Executor(dialer, token="", threads=threads, connect_timeout_s=_START_TIMEOUT_S)


def embedded_dialer(counts: Mapping[str, int | None], defaults: Limits | None, maxima: Limits | None) -> EmbeddedDialer:
    """The dialer of `local`; `counts` are those of its numbers that the daemon takes. Raises as it does."""
    config: dict[str, object] = {}
    for name, count in counts.items():
        if count is None:
            continue
        if isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"{name} is a number, not {type(count).__name__}")
        if count < (least := 1 if name == "workers" else 0):
            raise ValueError(f"{name} must be at least {least}, not {count}")
        config[name] = count
    for name, limits in (("defaults", defaults), ("maxima", maxima)):
        if limits is None:
            continue
        if not isinstance(limits, Limits):
            raise TypeError(f"{name} are a Limits, not {type(limits).__name__}")
        # JSON has no infinity: null is "no bound", as on the wire.
        config[name] = {
            key: None if value == math.inf else value for key, value in asdict(limits).items() if value is not None
        }
    return EmbeddedDialer(config)
