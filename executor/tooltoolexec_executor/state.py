"""What every session of one daemon shares, and what of it a reload exchanges."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

import msgspec
import trio

from tooltoolexec_executor.access import Access
from tooltoolexec_executor.admission import Admission, Bounds
from tooltoolexec_executor.config import Config
from tooltoolexec_executor.connections import Connections
from tooltoolexec_executor.descriptors import Room, make_room
from tooltoolexec_executor.pool import Pool
from tooltoolexec_executor.runs import Runs
from tooltoolexec_executor.tally import Tally
from tooltoolexec_protocol.address import Address
from tooltoolexec_protocol.messages import VERSION, Report, Welcome, WireLimits

log = logging.getLogger("tooltoolexec")

VERSION_NUMBER = version("tooltoolexec")
VERSION_TEXT = f"tooltoolexec {VERSION_NUMBER}"
_TOLD_AT_ONCE = 32
FIXED = (
    *("listen", "socket_mode", "socket_group", "warm", "metrics", "log", "require_sandbox", "jitless"),
    *("insecure_no_tls", "insecure_any_user"),
)
"""Settings of the sockets and of the workers, which stay as they were at the start."""


class DaemonState:
    """Made once per daemon.

    Attributes:
        draining: set when it takes no more runs.
        closing: set when it ends those under way.

    Raises:
        StartError: this process may not open what the settings take.
    """

    def __init__(self, config: Config, access: Access) -> None:
        room = make_room(config)
        self.admission = Admission(_bounds(config, room))
        self.connections = Connections(room.connections, config.connections_per_client)
        self.tally = Tally()
        self.pool = Pool(min(config.warm, config.workers), self.tally)
        self.runs = Runs(self.tally)
        # Those who are told that there is no seat for them have none that counts; so many may be told at a time.
        self.turned_away = trio.Semaphore(_TOLD_AT_ONCE)
        self.last_words: set[trio.Event] = set()
        """The ends of TLS connections whose run is over, and whose client has not got all of it."""
        self.listening: list[tuple[Address, int | None]] = []
        """Where it listens, with the mode of a Unix socket that was passed to it."""
        self.draining, self.closing = trio.Event(), trio.Event()
        self.begun_at = time.monotonic()
        self._leaving: set[trio.CancelScope] = set()
        self._set(config, access)

    def _set(self, config: Config, access: Access) -> None:
        self.config, self.access = config, access
        self.defaults, self.maxima = config.default_limits(), config.maximum_limits()
        self.welcome = Welcome(
            version=VERSION,
            server=VERSION_TEXT,
            defaults=WireLimits.of(self.defaults),
            maxima=WireLimits.of(self.maxima),
            features=["handles", "outbound"],
        )

    def reload(self, config: Config, access: Access) -> None:
        """Take other settings over, but for those that cannot change at run time: they are named in the log.

        Raises:
            ConfigError: they do not go together with what stays.
            StartError: this process may not open what they take. In either case nothing has changed.
        """
        kept = {name: getattr(self.config, name) for name in FIXED}
        changed = [name for name in FIXED if getattr(config, name) != kept[name]]
        if changed:
            log.warning("not reloaded, because they take a restart: %s", ", ".join(changed))
        config = msgspec.structs.replace(config, **kept)
        # What stays is held against what is new: a port must not lose its TLS, nor a socket those who may connect.
        config.check_together()
        for address, mode in self.listening:
            config.check_address(address, mode)
            access.check_address(address)
        room = make_room(config)
        self.connections.change(room.connections, config.connections_per_client)
        self._set(config, access)
        self.admission.change(_bounds(config, room))

    @contextmanager
    def until_leaving(self) -> Iterator[trio.CancelScope]:
        """For what is cut short when the daemon begins to drain, or to close where it drains already."""
        with trio.CancelScope() as scope:
            self._leaving.add(scope)
            if self.closing.is_set():  # It came too late to be told.
                scope.cancel()
            try:
                yield scope
            finally:
                self._leaving.discard(scope)

    def drain(self) -> None:
        """Take no more runs. Those that wait and idle connections are told; those under way go on."""
        self.draining.set()
        for scope in self._leaving:
            scope.cancel()

    def close(self) -> None:
        """End the runs under way, and let all waiting sessions go."""
        self.closing.set()
        self.drain()
        self.runs.shut_down()

    def report(self) -> Report:
        """What `status` answers."""
        return Report(
            server=VERSION_TEXT,
            pid=os.getpid(),
            uptime_s=time.monotonic() - self.begun_at,
            workers=self.config.workers,
            idle_now=self.pool.idle,
            running_now=self.runs.under_way,
            parked_now=self.admission.parked,
            parked=self.admission.bounds.parked,
            queued_now=self.admission.queued,
            queue=self.config.queue,
            connections_now=self.connections.now,
            draining=self.draining.is_set(),
            refused=dict(self.tally.refused),
            runs=dict(self.tally.runs),
        )


def _bounds(config: Config, room: Room) -> Bounds:
    return Bounds(
        computing=config.workers,
        parked=room.parked,
        queue=config.queue,
        queue_s=config.queue_s,
        per_client=config.runs_per_client,
        queue_per_client=config.queue_per_client,
    )
