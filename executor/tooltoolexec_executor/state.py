"""What every session of one daemon shares."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

import trio

from tooltoolexec_executor.admission import Admission
from tooltoolexec_executor.config import Config
from tooltoolexec_executor.descriptors import make_room
from tooltoolexec_executor.pool import Pool
from tooltoolexec_executor.runs import Runs
from tooltoolexec_protocol.limits import EffectiveLimits
from tooltoolexec_protocol.messages import VERSION, Welcome, WireLimits

VERSION_TEXT = f"tooltoolexec {version('tooltoolexec')}"


@dataclass(slots=True)
class DaemonState:
    """Made once per daemon by `of`; `closing` is set when it takes no more runs."""

    config: Config
    defaults: EffectiveLimits
    maxima: EffectiveLimits
    admission: Admission
    pool: Pool
    connections: trio.Semaphore
    welcome: Welcome
    runs: Runs = field(default_factory=Runs)
    closing: trio.Event = field(default_factory=trio.Event)
    begun_at: float = field(default_factory=time.monotonic)
    _until_closing: set[trio.CancelScope] = field(default_factory=set)

    @contextmanager
    def until_closing(self) -> Iterator[None]:
        """For what nobody waits for once the daemon closes: it is then cut short."""
        with trio.CancelScope() as scope:
            self._until_closing.add(scope)
            try:
                yield
            finally:
                self._until_closing.discard(scope)

    def close(self) -> None:
        """Take no more runs, end those under way, and let idle and waiting sessions go."""
        self.closing.set()
        self.runs.shut_down()
        for scope in self._until_closing:
            scope.cancel()

    @classmethod
    def of(cls, config: Config) -> DaemonState:
        """The state a configuration asks for.

        Raises:
            StartError: this process may not open what it takes.
        """
        defaults, maxima = config.default_limits(), config.maximum_limits()
        room = make_room(config)
        return cls(
            config=config,
            defaults=defaults,
            maxima=maxima,
            admission=Admission(config.workers, room.parked, config.queue, config.queue_s),
            pool=Pool(min(config.warm, config.workers)),
            connections=trio.Semaphore(room.connections),
            welcome=Welcome(
                version=VERSION, server=VERSION_TEXT, defaults=WireLimits.of(defaults), maxima=WireLimits.of(maxima)
            ),
        )
