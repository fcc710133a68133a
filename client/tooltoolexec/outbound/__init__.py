"""A program's HTTP requests, made by the host: what a handler is given and gives back, and a stock one.

await executor.execute(code, outbound=HttpOutbound(allow=["api.example.com"]))
"""

from tooltoolexec.outbound.exchange import Outbound, OutboundError, OutboundRequest, OutboundResponse
from tooltoolexec.outbound.http import HttpOutbound

__all__ = ["HttpOutbound", "Outbound", "OutboundError", "OutboundRequest", "OutboundResponse"]
