"""``tooltoolexec doctor``: how well workers are locked down on this machine, found out by trying.

Exit codes: 0 every required layer holds; 1 one does not, or V8 does not run under them.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import click

from tooltoolexec_executor import settings
from tooltoolexec_executor.config import ConfigError

if TYPE_CHECKING:
    from tooltoolexec_executor.doctor_trials import Trials

_ON, _OFF, _IMPOSSIBLE = "on", "off", "impossible"
_NAME_WIDTH, _STATE_WIDTH, _REQUIRED_WIDTH = 14, 17, 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One layer, or V8 itself: how it stands, and the acts that it alone was seen to refuse."""

    name: str
    required: bool
    state: str
    why: str = ""
    refused: list[str] = field(default_factory=list)

    def line(self) -> str:
        """For people."""
        state = "impossible here" if self.state == _IMPOSSIBLE else self.state
        notes = [self.why] if self.why else []
        notes += [f"refuses: {', '.join(self.refused)}"] if self.refused else []
        required = "required" if self.required else ""
        return (
            f"{self.name:{_NAME_WIDTH}}{state:{_STATE_WIDTH}}{required:{_REQUIRED_WIDTH}}{'; '.join(notes)}"
        ).rstrip()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--jitless", "jitless_option", is_flag=True, default=None, help="As workers are under serve --jitless.")
def doctor(*, as_json: bool, jitless_option: bool | None) -> None:
    """Show how workers are locked down on this machine.

    Each layer is proved by trying what it forbids, in a process that has no other layer. Exits with 1 when a required
    layer does not hold.
    """
    jitless = _is_jitless(jitless_option)
    versions = {"v8": _v8_version(jitless=jitless), "mini_racer": _mini_racer(), "kernel": platform.release()}
    try:
        findings = list(_examine(jitless=jitless))
    except Exception as error:  # Whatever is wrong with this machine is what the user wants to know.
        findings = [Finding("doctor", required=True, state=_OFF, why=_words(error))]
    good = all(finding.state == _ON for finding in findings if finding.required)
    if as_json:
        layers = [asdict(finding) for finding in findings]
        click.echo(json.dumps({**versions, "jitless": jitless, "good": good, "layers": layers}, indent=2))
    else:
        for name, value in versions.items():
            click.echo(f"{name.replace('_', '-'):{_NAME_WIDTH}}{value}")
        for finding in findings:
            click.echo(finding.line())
    sys.exit(0 if good else 1)


def _mini_racer() -> str:
    try:
        return version("mini-racer")
    except PackageNotFoundError:
        return "not installed"


def _is_jitless(option: bool | None) -> bool:
    """As `serve` decides it: by the option, or by the environment."""
    variable = f"{settings.ENVIRONMENT_PREFIX}JITLESS"
    given = {variable: os.environ[variable]} if variable in os.environ else {}
    try:
        return settings.load(None, given, {"jitless": option}).jitless
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def _words(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{error}. Run: pip install 'tooltoolexec[executor]'"
    return f"{type(error).__name__}: {error}"


def _v8_version(*, jitless: bool) -> str:
    """V8's version; loads it, as the processes that are tried expect."""
    try:
        from tooltoolexec_executor.worker import native, v8  # noqa: PLC0415 - where it is missing, that is a finding

        if jitless:
            native.disable_compiler()
        died_of = _signal_of_loading(v8.load)
        if died_of:
            return f"cannot be loaded: it ends its process by {died_of}; `ulimit -v` may leave too few addresses"
        v8.load()
        return v8.version()
    except Exception as error:  # As above.
        return f"cannot be loaded: {_words(error)}"


def _signal_of_loading(load: Callable[[], None]) -> str:
    """The signal by which V8 ends a process that loads it, if it does; tried in one of its own."""
    child = os.fork()
    if child == 0:
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            load()
        finally:
            os._exit(0)  # An exception comes again in the process that asks.
    status = os.waitpid(child, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""


def _examine(*, jitless: bool) -> Iterator[Finding]:
    from tooltoolexec_executor.doctor_trials import open_trials  # noqa: PLC0415 - as above
    from tooltoolexec_executor.worker import runtime  # noqa: PLC0415 - as above

    with open_trials(jitless=jitless) as trials:
        layers = _standing(jitless=jitless)
        for layer in layers:
            yield _proved(layer, trials) if layer.state == _ON else layer
        yield _jit(trials, jitless=jitless)
        taken = [layer.name for layer in layers if layer.state == _ON]  # As a worker: without what cannot be had.
        refused, done = trials.outcome(trials.forbidden(), taken)
        why = f"can still {', '.join(done)}" if done else f"all {len(refused)} forbidden acts that can be tried"
        yield Finding("worker", required=True, state=_OFF if done else _ON, why=why)
        runs = trials.runs_v8(runtime.read().core, taken)
        why = "1 + 1, in an isolate made after the lock-down" if runs else "no isolate can be made under the lock-down"
        yield Finding("isolate", required=True, state=_ON if runs else _OFF, why=why)


def _standing(*, jitless: bool) -> list[Finding]:
    """Each layer as a zygote finds it, in a process that then ends: some of it can never be taken back."""
    from tooltoolexec_executor.lockdown import Lockdown  # noqa: PLC0415 - as above

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            lockdown = Lockdown(jitless=jitless)
            lockdown.enter()
            lockdown.check()
            os.write(writing, json.dumps([asdict(layer) for layer in lockdown.layers()]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        found: list[dict[str, Any]] = json.loads(stream.read() or b"[]")
    os.waitpid(child, 0)
    if not found:
        raise RuntimeError("the process that locks itself down ended early")
    return [Finding(**layer) for layer in found]


def _proved(layer: Finding, trials: Trials) -> Finding:
    """The same, with what the layer alone refuses; off if that is not what it should refuse."""
    from tooltoolexec_executor.doctor_trials import acts_of  # noqa: PLC0415 - as above
    from tooltoolexec_executor.lockdown.landlock import Ruleset  # noqa: PLC0415 - as above

    abi = Ruleset().abi if layer.name == "landlock" else 0
    why = f"version {abi}" if abi else layer.why
    refused, done = trials.outcome(acts_of(layer.name, landlock=abi), trials.alone(layer.name))
    if done:
        return Finding(layer.name, layer.required, _OFF, f"does not refuse: {', '.join(done)}", refused)
    return Finding(layer.name, layer.required, _ON, why or ("" if refused else "nothing to try here"), refused)


def _jit(trials: Trials, *, jitless: bool) -> Finding:
    if not jitless:
        return Finding("jitless", required=False, state=_OFF, why="not asked for: V8 compiles")
    from tooltoolexec_executor.doctor_trials import JITLESS_ACT  # noqa: PLC0415 - as above

    refused, done = trials.outcome((JITLESS_ACT,), trials.alone("seccomp"))
    return Finding("jitless", required=False, state=_OFF if done else _ON, refused=refused)
