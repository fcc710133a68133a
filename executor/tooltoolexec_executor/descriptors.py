"""How many descriptors the daemon may have open, and how many connections that leaves room for."""

from __future__ import annotations

import resource

from tooltoolexec_executor.config import Config
from tooltoolexec_executor.errors import StartError

_MOST = 1 << 20
_OWN = 64
"""For the loop, the listeners, the log and the zygotes."""
_PER_WORKER = 3
"""Its control socket, its pidfd, and its run's connection for the moment of the handover."""
_LEAST_CONNECTIONS = 16


def room_for_connections(config: Config) -> int:
    """Raise this process's limit as far as it may, and give how many connections can wait for their runs.

    Raises:
        StartError: there is no room for the workers and a few connections.
    """
    limit = _raise_limit()
    reserved = _OWN + _PER_WORKER * (config.workers + config.parked + config.warm)
    room = limit - reserved
    if room < min(_LEAST_CONNECTIONS, config.connections):
        raise StartError(
            f"The daemon may open {limit} descriptors and needs {reserved + _LEAST_CONNECTIONS}, for its workers and a "
            "few connections. Raise the limit (ulimit -n, LimitNOFILE) or lower --workers and --parked."
        )
    return min(config.connections, room)


def _raise_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return _MOST if soft == resource.RLIM_INFINITY else soft
