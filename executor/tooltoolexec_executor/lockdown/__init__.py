"""What a worker gives up before it makes its isolate, in the one order that works.

    zygote, once      cgroup ─▶ network ─▶ a user of its own ─▶ capabilities
    worker, first     resource limits ─▶ no new privileges ─▶ memory closed, dies with parent ─▶ landlock ─▶ seccomp

Build a `Lockdown` in the zygote, `enter` it there, `check` it, and `apply` it in each child, first of all. The layers
in `layers.WITHOUT` are required: whoever builds it decides what to do when `layers` says that one cannot be had. The
others are taken where the machine and the user allow.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection

from tooltoolexec_executor.lockdown import (
    capabilities,
    cgroup,
    identity,
    landlock,
    memory,
    network,
    process,
    rlimits,
    seccomp,
)
from tooltoolexec_executor.lockdown.layers import (
    WITHOUT,
    WORKER_LAYERS,
    ZYGOTE_LAYERS,
    ImpossibleError,
    Layer,
    State,
    meaning,
)

__all__ = ["Layer", "Lockdown", "State"]


class Lockdown:
    """The layers, and how each stands. Building it changes nothing about the process.

    Args:
        jitless: V8 compiles nothing, so the filter lets no memory become executable.
        only: the layers to take; all of them by default.
    """

    def __init__(self, *, jitless: bool = False, only: Collection[str] = (*ZYGOTE_LAYERS, *WORKER_LAYERS)) -> None:
        self._only = only
        self._states: dict[str, tuple[State, str]] = {}
        self._steps: dict[str, Callable[[], object]] = {
            "rlimits": rlimits.apply,
            "no_new_privs": process.forgo_privileges,
            "not_dumpable": process.close_memory,
        }
        self._prepare("landlock", lambda: landlock.Ruleset().apply)
        self._filter: seccomp.Filter | None = None
        self._prepare("seccomp", lambda: self._make_filter(jitless=jitless).load)
        self._jitless = jitless

    def enter(self) -> None:
        """Take what is taken once for all workers: in the zygote, which may be unable to read its files afterwards."""
        if self._jitless:
            memory.seal()
        self._take("cgroup", lambda: cgroup.enter(daemon=os.getppid()))
        self._take("network", network.leave)
        # While it is still allowed to; the right goes with the user.
        self._take("capabilities", capabilities.bound)
        self._take("user", identity.take)
        if self._states.get("network", (State.ON, ""))[0] is not State.ON:
            self._take("network", network.leave_as_user)
        self._take("capabilities", capabilities.drop)

    def apply(self) -> None:
        """Lock this process down for good. Call it while the process has one thread and no isolate.

        Raises:
            OSError: the machine cannot give a layer of which `check` did not find that.
        """
        for name in WORKER_LAYERS:
            if name in self._steps and name in self._only and self._is_possible(name):
                self._steps[name]()
            if name == "not_dumpable":
                process.die_with_parent()

    def seal(self) -> None:
        """Once the isolate is made: this process makes no further thread.

        Raises:
            OSError: the kernel refused it.
        """
        if self._filter is not None and self._is_possible("seccomp"):
            self._filter.seal()

    def check(self) -> None:
        """Find out, in a child that ends at once, which of a worker's layers can be had; `apply` leaves the others.

        Raises:
            RuntimeError: the child ended early. That says nothing about the machine, so nothing is left out for it.
        """
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            self._report_to(writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            lines = stream.read().splitlines()
        os.waitpid(child, 0)
        found = dict(json.loads(line) for line in lines)
        for name in self._chosen(WORKER_LAYERS):
            if self._is_possible(name):
                if name not in found:
                    raise RuntimeError(f"the process that tried out the lock-down ended at {name}")
                why = found[name]
                self._states[name] = (State.IMPOSSIBLE, why) if why else (State.ON, "")

    def layers(self) -> list[Layer]:
        """Each layer as it stands, in order."""
        return [
            Layer(name, name in WITHOUT, *self._states.get(name, (State.OFF, "not tried")))
            for name in self._chosen((*ZYGOTE_LAYERS, *WORKER_LAYERS))
        ]

    def missing(self) -> list[Layer]:
        """The required layers that cannot be had."""
        return [layer for layer in self.layers() if layer.required and layer.state is not State.ON]

    def _make_filter(self, *, jitless: bool) -> seccomp.Filter:
        self._filter = seccomp.Filter(jitless=jitless)
        return self._filter

    def _report_to(self, descriptor: int) -> None:
        """Take each layer and write what came of it, a line each; does not return."""
        try:
            for name in self._chosen(WORKER_LAYERS):
                if self._is_possible(name):
                    try:
                        self._steps[name]()
                        why = ""
                    except Exception as error:  # Whatever it is, it is why the layer cannot be had.
                        why = meaning(error)
                    os.write(descriptor, json.dumps([name, why]).encode() + b"\n")
        finally:
            os._exit(0)

    def _prepare(self, name: str, make: Callable[[], Callable[[], object]]) -> None:
        if name not in self._only:
            return
        try:
            self._steps[name] = make()
        except Exception as error:  # libseccomp may be missing or broken in any way.
            self._states[name] = (State.IMPOSSIBLE, meaning(error))

    def _take(self, name: str, step: Callable[[], str | None]) -> None:
        if name not in self._only:
            return
        try:
            self._states[name] = (State.ON, step() or "")
        except (ImpossibleError, OSError) as error:
            self._states[name] = (State.IMPOSSIBLE, meaning(error))

    def _is_possible(self, name: str) -> bool:
        return self._states.get(name, (State.ON, ""))[0] is State.ON

    def _chosen(self, names: Collection[str]) -> list[str]:
        return [name for name in names if name in self._only]
