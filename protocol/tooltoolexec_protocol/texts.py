"""Every text that models and hosts match on, once each. The JavaScript runtime gets them from here as well.

Constants are whole texts. Functions compose a text from its facts.
"""

from __future__ import annotations

import re

COMPLETED = "Execution has already completed."
OUTSIDE_ENVELOPE = "The dispatch answered outside the result envelope."
OVERLOADED = "The executor is overloaded. Try again later."
SHUTDOWN = "The executor is shutting down."
CRASHED = "The worker ended unexpectedly."
UNAUTHORIZED = "This daemon needs a valid token. Ask its operator for one."
FORBIDDEN = "This user may not connect to this daemon. Ask its operator."
DRAINING = "This daemon takes no more runs. Connect again."
BUSY = "This client has too many connections open. Close some of them."
STALLED = "The program is waiting for something that can never happen."
UNSHOWABLE = "The program threw a value that cannot be shown."
NO_MODULES = "Programs have no modules: import and export are not available."
HANDLES_NOT_RETAINED = "Handles are not retained in this execution."
HANDLE_NEEDS_FUNCTION = "__retainHandle takes a function."
HANDLE_ARGUMENTS = "The arguments of a retained function are a JSON array."
FUNCTION_RETURNED = "The function returned a function or a symbol, which cannot cross."
NETWORK_CLOSED = "Network access is closed for this execution."
REQUEST_FAILED = "The request failed (internal error)"
FUNCTION_RESULT = "The program returned a function or a symbol, which cannot cross. The result is None."

# Composed in the sandbox as well, so they are templates: `compose` fills the named places here, the runtime there.
TOOL_NOT_FOUND = 'Tool "{tool}" not found'
PAYLOAD = "The payload of {n} bytes is over the limit of {m} bytes."
CALLS = "The run allows {n} tool calls."
PROVIDER_SOURCE = 'Provider "{name}" source failed: {message}'
UNBOUND_SOURCE = "it does not bind the name {name}"
DROPPED_LINES = "{n} more log lines were dropped: the run logs at most {m} bytes."
UNAWAITED = "{call} was called and never awaited; it {ending}."
MORE_UNAWAITED = "{n} more calls were never awaited."
PENDING_PROMISE = "{path} is a promise. Await it before you pass it on or return it."
HANDLES_AT_MOST = "A run retains at most {n} functions."
UNKNOWN_HANDLE = "The run has no retained function {id}."
HANDLE_OVERDUE = "The function did not return within {n} ms."
TOO_DEEP = "The value is nested deeper than {n} levels."

SANDBOX_TEXTS = {
    "completed": COMPLETED,
    "outsideEnvelope": OUTSIDE_ENVELOPE,
    "unshowable": UNSHOWABLE,
    "handlesNotRetained": HANDLES_NOT_RETAINED,
    "networkClosed": NETWORK_CLOSED,
    "functionResult": FUNCTION_RESULT,
    "handleNeedsFunction": HANDLE_NEEDS_FUNCTION,
    "handleArguments": HANDLE_ARGUMENTS,
    "functionReturned": FUNCTION_RETURNED,
    "handlesAtMost": HANDLES_AT_MOST,
    "unknownHandle": UNKNOWN_HANDLE,
    "handleOverdue": HANDLE_OVERDUE,
    "toolNotFound": TOOL_NOT_FOUND,
    "payload": PAYLOAD,
    "calls": CALLS,
    "providerSource": PROVIDER_SOURCE,
    "unboundSource": UNBOUND_SOURCE,
    "droppedLines": DROPPED_LINES,
    "unawaited": UNAWAITED,
    "moreUnawaited": MORE_UNAWAITED,
    "pendingPromise": PENDING_PROMISE,
    "tooDeep": TOO_DEEP,
}
"""What the JavaScript runtime is given at start, by the name it uses."""


def compose(template: str, **facts: object) -> str:
    """Fill the named places of `template`; a fact's own braces stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda place: str(facts.get(place[1], place[0])), template)


def timeout(wall_s: float) -> str:
    """The wall limit, in seconds, ran out."""
    return f"Execution timed out after {round(wall_s * 1000)} ms."


def cpu(cpu_s: float) -> str:
    """The CPU limit, in seconds, ran out."""
    return f"Execution used more than {round(cpu_s * 1000)} ms of CPU time."


def memory(memory_mb: float) -> str:
    """The heap or the process outgrew its limit, in MiB."""
    return f"Execution ran out of memory (limit {memory_mb:g} MiB)."


def handles_idle(idle_s: float) -> str:
    """A retained run was released because nobody used it."""
    return f"No handle was called for {idle_s:g} s, so the run's isolate was ended."


def limit_over_maximum(name: str, asked: str, maximum: str) -> str:
    """A request asks for more than the daemon's configuration allows."""
    return f"The limit {name} of {asked} is over this executor's maximum of {maximum}."


def answer_too_large(size: int, bound: int) -> str:
    """A dispatch answered with more bytes than one answer may have."""
    return f"The answer of {size} bytes is over the limit of {bound} bytes."


def integer_out_of_range(number: int | str) -> str:
    """A Python int that no JavaScript number holds exactly."""
    return f"The integer {number} does not fit a JavaScript number. Return it as text."


def tool_failed(tool: str) -> str:
    """A tool raised something that is not meant for the program to read."""
    return f"{tool} failed (internal error)"


def name_reserved(name: str) -> str:
    """Rule 1 of provider names."""
    return f'Provider name "{name}" is reserved. Give the provider a name the entry scope does not bind.'


def name_not_identifier(name: str) -> str:
    """Rule 2 of provider names."""
    return (
        f'Provider name "{name}" must be ASCII letters, digits, underscore and dollar, and must not start with a digit.'
    )


def name_refused(name: str) -> str:
    """Rule 3 of provider names."""
    return (
        f'Provider name "{name}" is on the list this executor refuses: every ECMAScript reserved word, '
        "the names strict mode reserves, and async. Pick a name outside it."
    )


def name_twice(name: str) -> str:
    """Rule 4 of provider names."""
    return f'Provider name "{name}" is declared twice. Give each provider its own name.'


def labels_too_long(count: int, most: int) -> str:
    """What a host attached to a run for the logs."""
    return f"The labels of {count} characters are over the limit of {most}."


def too_many_declared(count: int, what: str, most: int) -> str:
    """More providers or tools than a run may declare."""
    return f"The run declares {count} {what}; at most {most} are allowed."


def tools_collide(provider: str, first: str, second: str, identifier: str) -> str:
    """Two tools of one provider would be reached by one identifier."""
    return (
        f'Tools "{first}" and "{second}" of provider "{provider}" share the identifier {identifier}. '
        "Rename one of them."
    )
