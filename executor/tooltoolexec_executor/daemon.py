"""A daemon's life is its nesting: the pool's nursery around the sessions' around the listeners'.

    listening ──SIGTERM──▶ draining: no new runs ──the last run ended, grace is over, a second SIGTERM──▶ closing
        └──SIGINT, the parent's end──▶ closing: running ones end with `shutdown` ──▶ gone

SIGHUP reads the settings again, while listening.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, aclosing, nullcontext
from functools import partial

import msgspec
import trio

from tooltoolexec_executor.access import Access, Tokens, warn_of_risks
from tooltoolexec_executor.binding import bind, bind_tcp
from tooltoolexec_executor.config import Config, ConfigError
from tooltoolexec_executor.errors import ListenError, StartError
from tooltoolexec_executor.listeners import EmbeddedListener, Listener
from tooltoolexec_executor.reception import receive
from tooltoolexec_executor.state import DaemonState
from tooltoolexec_executor.systemd import Manager, address_of, mode_of, passed_sockets

log = logging.getLogger("tooltoolexec")

_CLOSING_S = 3.0
"""How long sessions may take to tell their clients when the daemon ends."""

Settings = tuple[Config, Access]
Read = Callable[[], Settings]
"""Reads the settings and the files they name. Raises ConfigError."""


async def serve(read: Read) -> None:
    """Listen on the configured addresses until a signal ends the daemon.

    Raises:
        ConfigError: the settings cannot work.
        StartError: this process may open too few descriptors, or an address cannot be listened on.
    """
    config, access = read()
    # Also while it ends, when nobody obeys it any more.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    state = DaemonState(config, access)
    with _signals(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals, ExitStack() as sockets:
        listeners = _listeners(config, access, sockets)
        observing = None
        place = config.metrics_address()
        if place is not None:
            from tooltoolexec_executor import observe  # noqa: PLC0415 - Prometheus' client is large; not all want it

            observing = partial(observe.observe, state, sockets.enter_context(bind_tcp(place)))
        state.listening = [
            (listener.address, mode_of(listener.address) if listener.is_inherited else None) for listener in listeners
        ]
        for listener in listeners:
            log.info("listening", extra={"fields": {"address": str(listener.address)}})
        manager = Manager(os.environ.pop("NOTIFY_SOCKET", ""))
        await _live(state, listeners, signals, manager, read=read, observing=observing)


async def serve_embedded(config: Config, control: socket.socket) -> None:
    """Serve the connections that come over `control`, until its end of file or a signal."""
    # It has one client, which owns it all.
    config = msgspec.structs.replace(
        config,
        runs_per_client=config.workers + config.parked,
        queue_per_client=config.queue,
        connections_per_client=config.connections,
    )
    with _signals(signal.SIGTERM, signal.SIGINT) as signals:
        await _live(DaemonState(config, Access(Tokens(()))), [EmbeddedListener(control)], signals, Manager())


def _signals(*numbers: int) -> AbstractContextManager[AsyncIterator[int]]:
    """From before anybody may know that the daemon is there."""
    return trio.open_signal_receiver(*numbers)


def _listeners(config: Config, access: Access, sockets: ExitStack) -> list[Listener]:
    passed = [sockets.enter_context(each) for each in passed_sockets(os.environ)]
    inherited = [(address_of(each, has_tls=access.tls is not None), each) for each in passed]
    for address, _each in inherited:
        config.check_address(address, mode_of(address))
        access.check_address(address)
    own = [(address, sockets.enter_context(bind(address, config))) for address in config.addresses()]
    if not inherited and not own:
        raise ListenError("There is nowhere to listen: no socket was passed to this process.")
    return [
        *(Listener(address, each, is_inherited=True) for address, each in inherited),
        *(Listener(address, each) for address, each in own),
    ]


async def _live(
    state: DaemonState,
    listeners: Sequence[Listener | EmbeddedListener],
    signals: AsyncIterator[int],
    manager: Manager,
    *,
    read: Read | None = None,
    observing: Callable[[], Awaitable[None]] | None = None,
) -> None:
    async with trio.open_nursery() as pool:
        pool.start_soon(state.pool.keep)
        pool.start_soon(_tell_readiness, state, manager)
        if observing is not None:
            pool.start_soon(observing)
        async with trio.open_nursery() as sessions:
            async with trio.open_nursery() as accepting:
                for listener in listeners:
                    accepting.start_soon(_accept, listener, state, sessions, accepting.cancel_scope)
                accepting.start_soon(_obey, signals, state, manager, read, accepting)
            manager.stopping()
            state.close()
            sessions.cancel_scope.deadline = trio.current_time() + _CLOSING_S
        pool.cancel_scope.cancel()


async def _tell_readiness(state: DaemonState, manager: Manager) -> None:
    await state.pool.first_worker.wait()
    manager.ready()
    log.info("ready")


async def _accept(
    listener: Listener | EmbeddedListener, state: DaemonState, sessions: trio.Nursery, stop: trio.CancelScope
) -> None:
    async with aclosing(listener.accept()) as arrivals:
        # What comes to a socket that stays once this daemon drains waits in its backlog for the next one.
        with state.until_leaving() if listener.is_inherited else nullcontext():
            async for arrival in arrivals:
                # Past the bound, clients wait in the kernel's backlog.
                await state.connections.wait_for_room()
                sessions.start_soon(receive, state, arrival)
            stop.cancel()


async def _obey(
    signals: AsyncIterator[int], state: DaemonState, manager: Manager, read: Read | None, accepting: trio.Nursery
) -> None:
    async for number in signals:
        log.info("signal", extra={"fields": {"name": signal.Signals(number).name}})
        if number == signal.SIGHUP:
            _reload(state, manager, read)
        elif number == signal.SIGTERM and not state.draining.is_set():
            manager.stopping()
            accepting.start_soon(_drain, state, accepting.cancel_scope)
        else:
            accepting.cancel_scope.cancel()
            return


async def _drain(state: DaemonState, stop: trio.CancelScope) -> None:
    """Let the runs under way come to their end, for as long as the settings allow; then stop."""
    facts = {"runs": state.runs.under_way, "grace_s": state.config.grace_s}
    state.drain()
    log.info("draining", extra={"fields": facts})
    with trio.move_on_after(state.config.grace_s):
        await state.admission.until_empty()
        for ended in tuple(state.last_words):
            await ended.wait()
    stop.cancel()


def _reload(state: DaemonState, manager: Manager, read: Read | None) -> None:
    if read is None or state.draining.is_set():
        return
    manager.reloading()
    try:
        config, access = read()
        state.reload(config, access)
        warn_of_risks(config)
        log.info("reloaded")
    except (ConfigError, StartError) as error:
        log.error("not reloaded, everything stays as it was: %s", error)  # noqa: TRY400 - a mistake in a file, not here
    except Exception:
        log.exception("not reloaded, everything stays as it was. This is a defect of the daemon.")
    manager.ready()
