"""Sockets that a forked child must not hold on to: the far end would not notice that its real peer has gone."""

from __future__ import annotations

import os
import socket
import weakref

_open: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def close_in_child(sock: socket.socket) -> None:
    """Have `sock` closed in every process forked from this one while it lives."""
    _open.add(sock)


def _close_all() -> None:
    for sock in list(_open):
        sock.close()
    _open.clear()


if hasattr(os, "register_at_fork"):  # Windows never forks.
    os.register_at_fork(after_in_child=_close_all)
