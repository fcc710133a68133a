"""A daemon's life is its nesting: the pool's nursery around the sessions' around the listeners'.

listening ──SIGTERM, SIGINT, the parent's end──▶ closing: no new runs, running ones end with `shutdown` ──▶ gone
"""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, ExitStack, aclosing

import trio

from tooltoolexec_executor.config import Config
from tooltoolexec_executor.listeners import EmbeddedListener, Listener, listen
from tooltoolexec_executor.session import Session
from tooltoolexec_executor.state import DaemonState

log = logging.getLogger("tooltoolexec")

_CLOSING_S = 3.0
"""How long sessions may take to tell their clients when the daemon ends."""


async def serve(config: Config) -> None:
    """Listen on the configured addresses until a signal ends the daemon.

    Raises:
        StartError: this process may open too few descriptors, or an address cannot be listened on.
    """
    state = DaemonState.of(config)
    with _signals() as signals, ExitStack() as sockets:
        listeners = [sockets.enter_context(listen(address)) for address in config.addresses()]
        for listener in listeners:
            log.info("listening on %s", listener.address)
        await _live(state, listeners, signals)


async def serve_embedded(config: Config, control: socket.socket) -> None:
    """Serve the connections that come over `control`, until its end of file or a signal."""
    with _signals() as signals:
        await _live(DaemonState.of(config), [EmbeddedListener(control)], signals)


def _signals() -> AbstractContextManager[AsyncIterator[int]]:
    """SIGTERM and SIGINT, from before anybody may know that the daemon is there."""
    return trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT)


async def _live(
    state: DaemonState, listeners: Sequence[Listener | EmbeddedListener], signals: AsyncIterator[int]
) -> None:
    async with trio.open_nursery() as pool:
        pool.start_soon(state.pool.keep)
        async with trio.open_nursery() as sessions:
            async with trio.open_nursery() as accepting:
                for listener in listeners:
                    accepting.start_soon(_accept, listener, state, sessions, accepting.cancel_scope)
                accepting.start_soon(_await_signal, signals, accepting.cancel_scope)
            state.close()
            sessions.cancel_scope.deadline = trio.current_time() + _CLOSING_S
        pool.cancel_scope.cancel()


async def _accept(
    listener: Listener | EmbeddedListener, state: DaemonState, sessions: trio.Nursery, stop: trio.CancelScope
) -> None:
    async with aclosing(listener.accept()) as connections:
        async for connection, identity in connections:
            # Past the bound, clients wait in the kernel's backlog.
            await state.connections.acquire()
            sessions.start_soon(Session(state, connection, identity).serve)
    stop.cancel()


async def _await_signal(signals: AsyncIterator[int], stop: trio.CancelScope) -> None:
    async for number in signals:
        log.info("%s: closing", signal.Signals(number).name)
        stop.cancel()
        return
