"""Framing: any split of the stream gives the same bodies, and a body too large is never waited for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltoolexec_protocol.errors import ProtocolError
from tooltoolexec_protocol.framing import HEADER_BYTES, FrameReader, body_length, frame


def drain(reader: FrameReader, bound: int = 1000) -> list[bytes]:
    bodies = []
    while (body := reader.next_body(bound)) is not None:
        bodies.append(body)
    return bodies


def test_a_frame_is_four_big_endian_bytes_of_length_and_the_body() -> None:
    assert frame(b'{"type":"status"}') == b'\x00\x00\x00\x11{"type":"status"}'
    assert frame(b"x" * 258)[:4] == b"\x00\x00\x01\x02"


def test_an_empty_body_is_a_frame() -> None:
    reader = FrameReader()
    reader.feed(frame(b""))
    assert drain(reader) == [b""]
    assert reader.is_empty


def test_bytes_fed_one_by_one_give_the_frames() -> None:
    reader = FrameReader()
    bodies = []
    for byte in frame(b"first") + frame(b"") + frame(b"third"):
        reader.feed(bytes([byte]))
        bodies += drain(reader)
    assert bodies == [b"first", b"", b"third"]


def test_many_frames_in_one_feed_come_out_in_order() -> None:
    reader = FrameReader()
    bodies = [str(number).encode() for number in range(1000)]
    reader.feed(b"".join(map(frame, bodies)))
    assert drain(reader) == bodies
    assert reader.is_empty


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_buffer_can_be_fed_and_reused(kind: type[bytes | bytearray | memoryview]) -> None:
    source = bytearray(frame(b"abc"))
    reader = FrameReader()
    reader.feed(kind(source))
    source[:] = b"\xff" * len(source)
    assert drain(reader) == [b"abc"]


@given(st.lists(st.binary(max_size=40), max_size=8), st.data())
def test_any_split_of_the_stream_gives_the_same_bodies(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    reader = FrameReader()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[start:end])
        found += drain(reader)
    assert found == bodies
    assert reader.is_empty


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_a_reader_that_takes_what_is_wanted_never_reads_beyond_a_frame(bodies: list[bytes]) -> None:
    stream = b"".join(map(frame, bodies))
    for body in bodies:
        reader = FrameReader()  # A fresh one: nothing of the next frame may be in the one before.
        while missing := reader.wanted(1000):
            assert len(stream) >= missing
            reader.feed(stream[:missing])
            stream = stream[missing:]
        assert reader.next_body(1000) == body
        assert reader.is_empty
    assert stream == b""


def test_an_oversized_frame_is_refused_by_its_header_alone() -> None:
    reader = FrameReader()
    reader.feed((11).to_bytes(HEADER_BYTES, "big"))
    with pytest.raises(ProtocolError) as caught:
        reader.next_body(10)
    assert caught.value.code == "too_large"
    assert str(caught.value) == "A frame of 11 bytes is over the limit of 10 bytes."
    with pytest.raises(ProtocolError):
        reader.wanted(10)


def test_a_frame_at_the_bound_passes() -> None:
    reader = FrameReader()
    reader.feed(frame(b"x" * 10))
    assert reader.next_body(10) == b"x" * 10
    assert body_length(b"\xff\xff\xff\xff", 2**32 - 1) == 2**32 - 1


@pytest.mark.parametrize("length", range(1, 9))
def test_a_torn_frame_is_no_border(length: int) -> None:
    reader = FrameReader()
    reader.feed(frame(b"abcde")[:length])
    assert reader.next_body(100) is None
    assert not reader.is_empty


def test_frames_that_never_end_where_a_feed_ends_do_not_pile_up() -> None:
    reader = FrameReader()
    stream = frame(b"x" * 1000)
    reader.feed(stream[:10])
    for _ in range(1000):
        reader.feed(stream[10:] + stream[:10])
        assert drain(reader) == [b"x" * 1000]
    assert len(reader._buffer) <= 2 * len(stream)
