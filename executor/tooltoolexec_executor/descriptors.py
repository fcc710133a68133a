"""How many descriptors the daemon may have open, and how many connections and parked runs that leaves room for."""

from __future__ import annotations

import logging
import resource
from typing import NamedTuple

from tooltoolexec_executor.config import Config
from tooltoolexec_executor.errors import StartError

log = logging.getLogger("tooltoolexec")

_MOST = 1 << 20
_OWN = 64
"""For the loop, the listeners, the log and the zygotes."""
_OBSERVERS = 40
"""For those who ask for metrics, and the socket they come to."""
_PER_WORKER = 3
"""Its control socket, its pidfd, and its run's connection for the moment of the handover."""
_TLS = 2
"""What a client that speaks TLS takes beside its connection, before its run and during it: its plain side."""
_LEAST_CONNECTIONS = 16


class Room(NamedTuple):
    """What fits: how many connections can wait for their runs, and how many runs can be parked."""

    connections: int
    parked: int


def make_room(config: Config) -> Room:
    """Raise this process's limit as far as it may, and see what of the configuration fits into it.

    Where not all of it does, fewer runs can be parked.

    Raises:
        StartError: there is no room for the workers that compute and a few connections.
    """
    limit = _raise_limit()
    connections = min(config.connections, _LEAST_CONNECTIONS)
    per_run = _PER_WORKER + _TLS * (config.tls_cert is not None)
    own = _OWN + _OBSERVERS * (config.metrics is not None)
    per_connection = 1 + _TLS * (config.tls_cert is not None)
    needed = own + per_run * config.workers + _PER_WORKER * config.warm + per_connection * connections
    if limit < needed:
        raise StartError(
            f"The daemon may open {limit} descriptors and needs {needed}, for its workers and a few connections. "
            "Raise the limit (ulimit -n, LimitNOFILE) or lower --workers."
        )
    parked = min(config.parked, (limit - needed) // per_run)
    if parked < config.parked:
        log.info(
            "The daemon may open %d descriptors, which leaves room for %d parked runs, not %d. Raise the limit "
            "(ulimit -n, LimitNOFILE) for more.", limit, parked, config.parked,
        )  # fmt: skip
    more = (limit - needed - per_run * parked) // per_connection
    return Room(min(config.connections, connections + more), parked)


def _raise_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return _MOST if soft == resource.RLIM_INFINITY else soft
