"""What all fuzzers share: how much they send, the chance each conversation is made of, and hostile frames."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protocol.test_messages import SCRAPS, mutate
from protocol.wire_examples import ID, WIRE
from tooltoolexec_protocol.framing import frame

SEED = int(os.environ.get("TOOLTOOLEXEC_FUZZ_SEED", "20260101"))
FIRST = int(os.environ.get("TOOLTOOLEXEC_FUZZ_FIRST", "0"))
FEW = 3_000
MANY = int(os.environ.get("TOOLTOOLEXEC_FUZZ_FRAMES", "100000"))
_FRAMES_A_SECOND = 400
"""Far fewer than the slowest fuzzer sends: what the longer mode may take follows from it."""

LITERALS = {name: literal.encode() for name, (_, literal) in WIRE.items()}

frame_counts = pytest.mark.parametrize(
    "frames",
    [
        pytest.param(FEW, id="few"),
        pytest.param(MANY, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(120 + MANY // _FRAMES_A_SECOND)]),
    ],
)


class Budget:
    """Counts the frames sent and hands out conversations until there have been enough."""

    def __init__(self, frames: int, fuzzer: str) -> None:
        self.frames = frames
        self.sent = 0
        self.conversations = 0
        self._fuzzer = fuzzer

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if self.sent >= self.frames:
            raise StopIteration
        self.conversations += 1
        return FIRST + self.conversations - 1

    def chance(self, number: int) -> random.Random:
        """All that a conversation depends on."""
        return random.Random(f"{self._fuzzer}/{SEED}/{number}")

    @contextmanager
    def replayable(self, number: int) -> Iterator[None]:
        """What goes wrong inside says how to have it again."""
        before = self.sent
        try:
            yield
        except BaseException as error:
            error.add_note(
                f"fuzzer {self._fuzzer}: seed {SEED}, conversation {number}, frames {before} to {self.sent}; "
                f"TOOLTOOLEXEC_FUZZ_SEED={SEED} TOOLTOOLEXEC_FUZZ_FIRST={number} begins with it"
            )
            raise


def literal(chance: random.Random, run_id: str = ID) -> bytes:
    """A well-formed body of any message, about `run_id`."""
    return chance.choice(list(LITERALS.values())).replace(ID.encode(), run_id.encode())


def hostile_body(chance: random.Random, run_id: str = ID) -> bytes:
    """A body that is wrong in most cases."""
    match chance.randrange(8):
        case 0:
            return chance.randbytes(chance.randrange(60))
        case 1:
            return b"".join(chance.choices(SCRAPS, k=chance.randint(1, 6)))
        case 2:
            return literal(chance, run_id)
        case 3:
            return literal(chance, run_id)[: chance.randrange(40)]
        case _:
            return mutate(literal(chance, run_id), chance)


def hostile_frame(chance: random.Random, run_id: str = ID) -> bytes:
    """A frame with such a body, or one whose length is a lie."""
    body = hostile_body(chance, run_id)
    match chance.randrange(12):
        case 0:
            return (
                struct.pack("!I", chance.choice([2**32 - 1, 2**31, 10**9, 250_000_000, chance.randrange(2**32)])) + body
            )
        case 1:
            return struct.pack("!I", max(0, len(body) + chance.randint(-5, 5))) + body
        case _:
            return frame(body)


def pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """`data`, cut at random borders: single bytes where it is short, a few hundred pieces where it is long."""
    at = 0
    least = 1 + len(data) // 300
    longest = least * chance.choice([1, 7, 60, 1000])
    while at < len(data):
        size = chance.randint(least, longest)
        yield data[at : at + size]
        at += size


class Memory:
    """How much a process has grown since, at its peak. Linux only, as the daemon is."""

    def __init__(self, pid: int | str = "self") -> None:
        self._folder = Path(f"/proc/{pid}")
        (self._folder / "clear_refs").write_text("5")  # The peak begins anew.
        self._before = self._field("VmRSS")

    def growth_mb(self) -> float:
        return (self._field("VmHWM") - self._before) / 1024

    def _field(self, name: str) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name))


def threads_of(pid: int) -> int:
    """How many threads a process has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))
