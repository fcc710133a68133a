"""Run model-written JavaScript against your own tools.

`connect` and `local` give an `Executor` for asyncio and trio, `tooltoolexec.sync` the same for code that blocks, and
`execute` runs one program in an executor this process keeps for itself.
"""

from tooltoolexec.embedded import local
from tooltoolexec.executor import Executor, connect
from tooltoolexec.handles import BlockingHandle, Handle, Retained
from tooltoolexec.provider import Provider, Tool
from tooltoolexec.run import Failure, Run, Stats
from tooltoolexec.shared import execute
from tooltoolexec.version import __version__
from tooltoolexec_protocol.codec import parse_dispatch_arguments, parse_for_dispatch, stringify_for_dispatch
from tooltoolexec_protocol.envelope import ExecutionState, create_envelope_dispatch
from tooltoolexec_protocol.errors import (
    AddressError,
    CodecError,
    ConnectError,
    ConnectionLostError,
    ExecutorError,
    HandleError,
    HandleReleased,
    LocalProtocolError,
    ProtocolError,
    RefusedError,
    ToolError,
    ToolNotFoundError,
    TooltoolexecError,
)
from tooltoolexec_protocol.limits import Limits
from tooltoolexec_protocol.names import RESERVED_PROVIDER_NAMES

__all__ = [
    "RESERVED_PROVIDER_NAMES",
    "AddressError",
    "BlockingHandle",
    "CodecError",
    "ConnectError",
    "ConnectionLostError",
    "ExecutionState",
    "Executor",
    "ExecutorError",
    "Failure",
    "Handle",
    "HandleError",
    "HandleReleased",
    "Limits",
    "LocalProtocolError",
    "ProtocolError",
    "Provider",
    "RefusedError",
    "Retained",
    "Run",
    "Stats",
    "Tool",
    "ToolError",
    "ToolNotFoundError",
    "TooltoolexecError",
    "__version__",
    "connect",
    "create_envelope_dispatch",
    "execute",
    "local",
    "parse_dispatch_arguments",
    "parse_for_dispatch",
    "stringify_for_dispatch",
]
