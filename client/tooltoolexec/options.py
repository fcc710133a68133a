"""What may be asked of a run, checked before anything is sent."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from tooltoolexec import tracing
from tooltoolexec.logs import OnLog
from tooltoolexec.outbound.exchange import Outbound
from tooltoolexec.provider import Provider
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.envelope import Dispatch
from tooltoolexec_protocol.limits import LABEL_CHARACTERS, Limits
from tooltoolexec_protocol.messages import AskedLimits, Execute


class RunOptions(TypedDict, total=False):
    """The keyword arguments of `Executor.execute`, for its blocking twins."""

    dispatch: Dispatch | None
    gate: None
    runtime: None
    outbound: Outbound | None
    retain_handles: bool
    limits: Limits | None
    on_log: OnLog | None
    identity: Any
    labels: Mapping[str, str] | None


def refuse_unavailable(**options: object) -> None:
    """Raises ValueError for an option of a later version that is asked for."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise ValueError(f"{name} is not available in this version.")


def build_request(
    code: str,
    providers: Sequence[Provider],
    *,
    answers_calls: bool,
    makes_requests: bool,
    limits: Limits | None,
    labels: Mapping[str, str] | None,
    retain_handles: bool = False,
) -> Execute:
    """The run's request, under a new id.

    Raises:
        TypeError: a part has the wrong type.
        ValueError: the labels are too long.
    """
    if not isinstance(code, str):
        raise TypeError(f"code is a text, not {type(code).__name__}")
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits are a Limits, not {type(limits).__name__}")
    if not isinstance(retain_handles, bool):
        raise TypeError(f"retain_handles is True or False, not {type(retain_handles).__name__}")
    labels = {} if labels is None else labels
    if not isinstance(labels, Mapping) or not all(isinstance(text, str) for pair in labels.items() for text in pair):
        raise TypeError("labels are a dict from text to text")
    size = sum(len(name) + len(text) for name, text in labels.items())
    if size > LABEL_CHARACTERS:
        raise ValueError(texts.labels_too_long(size, LABEL_CHARACTERS))
    labels = tracing.traced(labels, LABEL_CHARACTERS)
    return Execute(
        id=secrets.token_hex(16),
        code=code,
        providers=[provider.spec() for provider in providers],
        dispatch=answers_calls,
        outbound=makes_requests,
        retain_handles=retain_handles,
        limits=AskedLimits() if limits is None else AskedLimits.of(limits),
        labels=labels,
    )
