"""Every exception a user of tooltoolexec can meet, in one tree.

TooltoolexecError
├── ExecutorError            the transport or the daemon failed the caller; no outcome is to be had
│   ├── ConnectError         nothing answers at the address
│   ├── RefusedError         the daemon said no, and `code` says why
│   └── ConnectionLostError  the connection ended before an outcome, and nobody knows one
├── ProtocolError            the peer sent what the protocol does not allow; the connection is over
├── LocalProtocolError       this side was about to: a defect of the calling code
├── CodecError               a value that cannot cross to or from a program (also a ValueError)
├── HandleReleased       the isolate of the function that was called has ended
├── AddressError             an address nobody can connect to or listen on (also a ValueError)
└── ToolError                raised by a tool: its message is meant for the program
    ├── ToolNotFoundError    the dispatch has no such tool
    └── HandleError          the program's own function, called by the host, threw
"""

from __future__ import annotations

from tooltoolexec_protocol import texts


class TooltoolexecError(Exception):
    """The root of everything this project raises on purpose."""


class ExecutorError(TooltoolexecError):
    """No outcome is to be had from the executor. Nothing a program, a tool or a gate does raises it."""


class ConnectError(ExecutorError):
    """Nothing answers at `address`: start the daemon there, or name another address."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"Cannot connect to {address}: {reason}")
        self.address = address
        self.reason = reason


class RefusedError(ExecutorError):
    """The daemon refused this client. `code` is one of the protocol's refusal codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ConnectionLostError(ExecutorError):
    """The connection ended before the run's outcome and the daemon cannot be asked for it."""


class ProtocolError(TooltoolexecError):
    """The peer broke the protocol. Send it a refusal with `code`, then close the connection."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LocalProtocolError(TooltoolexecError):
    """This side tried to send what the connection's state does not allow. Fix the calling code."""


class CodecError(TooltoolexecError, ValueError):
    """A value cannot cross between the host and a program. The message says which and why."""


class AddressError(TooltoolexecError, ValueError):
    """A text is no address. The message says what an address looks like."""


class ToolError(TooltoolexecError):
    """A tool's failure, told to the program in the tool's own words.

    Args:
        message: what the program reads as the thrown Error's message.
        code: optional text the program reads as the Error's `code`.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class ToolNotFoundError(ToolError):
    """No such tool. Every place that refuses a call composes its text from here."""

    def __init__(self, tool: str) -> None:
        super().__init__(texts.compose(texts.TOOL_NOT_FOUND, tool=tool))
        self.tool = tool


class HandleError(ToolError):
    """A retained function threw, took too long, or gave what cannot cross. The message is the thrown error's.

    Raised by a tool, it tells the program the same.
    """


class HandleReleased(TooltoolexecError):  # noqa: N818 - what happened, rather than a mistake
    """A retained function is gone: its run's isolate has ended. The message says why, where that could be told."""
