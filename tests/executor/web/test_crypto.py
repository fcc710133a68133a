"""crypto: digests are those of any other implementation, randomness is the operating system's."""

from __future__ import annotations

import hashlib
import json
import random
import uuid

import pytest

from tooltoolexec import Limits
from tooltoolexec.sync import local

from .both import holds, of_all, probe, thrown

ALGORITHMS = ("SHA-1", "SHA-256", "SHA-384", "SHA-512")
HEX = "const hex = (buffer) => new Uint8Array(buffer).toHex();"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_digest_of_every_length_is_hashlibs(algorithm: str) -> None:
    """All ways in which the last block and its padding can fall, and some random ones."""
    lengths = [*range(300), *random.Random(1).sample(range(300, 70_000), 8)]
    code = (
        f"async () => {{ {HEX} const out = []; for (const length of {lengths}) {{"
        "const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + length) & 255);"
        f"out.push(hex(await crypto.subtle.digest('{algorithm}', bytes))) }} return out }}"
    )
    with local() as executor:
        run = executor.execute(code)
    assert run.error is None, run.error
    name = algorithm.replace("-", "").lower()
    expected = [hashlib.new(name, bytes((i * 31 + n) & 255 for i in range(n))).hexdigest() for n in lengths]
    assert run.result == expected


def test_a_megabyte_is_digested_within_a_second_of_processor_time() -> None:
    code = f"async () => {{ {HEX} return hex(await crypto.subtle.digest('SHA-256', new Uint8Array(2 ** 20))) }}"
    with local() as executor:
        run = executor.execute(code, limits=Limits(cpu_s=1))
    assert run.error is None, run.error
    assert run.result == hashlib.sha256(bytes(2**20)).hexdigest()


def test_what_digest_takes_is_as_in_node() -> None:
    digest = "crypto.subtle.digest"
    probe(
        of_all(
            f"{digest}('SHA-256', new Uint8Array([1, 2]).buffer)",
            f"{digest}('sha-256', new Uint8Array([1, 2]))",
            f"{digest}({{ name: 'Sha-1' }}, new Uint8Array([1, 2]))",
            f"{digest}('SHA-384', new DataView(new ArrayBuffer(8), 2, 3))",
            f"{digest}('SHA-512', new Float64Array([1, 2]))",
            f"{digest}('SHA-1', new Uint16Array([1, 2, 3]).subarray(1))",
            f"{digest}('SHA-256', 'text')",
            f"{digest}('SHA-256', [1])",
            f"{digest}('SHA-256')",
            f"{digest}('MD5', new Uint8Array())",
            f"{digest}({{}}, new Uint8Array())",
            f"{digest}('SHA\\u017f-1', new Uint8Array())",
            f"{digest}('constructor', new Uint8Array())",
            f"const p = {digest}('MD5', new Uint8Array()); p.catch(() => 1); return p instanceof Promise",
            f"const bytes = new Uint8Array([1]); const d = {digest}('SHA-1', bytes); bytes[0] = 2; return d",
        )
    )


def test_random_values_fill_what_is_given_as_in_node() -> None:
    views = (
        "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array "
        "BigInt64Array BigUint64Array"
    )
    probe(
        of_all(
            *[
                f"const a = new {v}(9); return crypto.getRandomValues(a) === a && new Set(a).size > 1"
                for v in views.split()
            ],
            "const a = new Uint8Array(40); crypto.getRandomValues(a.subarray(10, 30)); "
            "return [a.slice(0, 10), a.slice(30), new Set(a.slice(10, 30)).size > 5]",
            "crypto.getRandomValues(new Uint8Array(0)).length",
            "new Set(crypto.getRandomValues(new Uint8Array(65536))).size",
            "crypto.getRandomValues(new Uint8Array(65537))",
            "crypto.getRandomValues(new Uint32Array(16385))",
            "crypto.getRandomValues(new Float32Array(1))",
            "crypto.getRandomValues(new DataView(new ArrayBuffer(4)))",
            "crypto.getRandomValues()",
            "Object.prototype.toString.call(crypto)",
            "Object.prototype.toString.call(crypto.subtle)",
            "crypto.subtle === crypto.subtle",
            "new Crypto()",
            "new SubtleCrypto()",
        )
    )
    holds(
        {f"crypto.getRandomValues({no_view})": thrown("TypeError") for no_view in ("[1, 2]", "new ArrayBuffer(4)", "5")}
    )
    holds(
        {"try { crypto.getRandomValues(new Uint8Array(65537)) } catch (e) { return e instanceof DOMException }": True}
    )


def test_uuids_are_of_version_4_and_no_two_alike_in_a_run_or_between_runs() -> None:
    with local() as executor:
        runs = [executor.execute("Array.from({ length: 500 }, () => crypto.randomUUID())").result for _ in range(3)]
    texts = [text for run in runs for text in run]
    assert len(set(texts)) == 1500
    for text in texts:
        parsed = uuid.UUID(text)
        assert (str(parsed), parsed.version, parsed.variant) == (text, 4, uuid.RFC_4122)


def test_random_bytes_are_spread_evenly() -> None:
    """Every value of a byte comes as often as it should: six standard deviations would be far from chance."""
    code = (
        "const counts = new Array(256).fill(0); for (let i = 0; i < 8; i++)"
        "for (const byte of crypto.getRandomValues(new Uint8Array(65536))) counts[byte]++; return counts"
    )
    with local() as executor:
        counts = executor.execute(code).result
    expected = 8 * 65536 / 256
    assert sum(counts) == 8 * 65536
    assert all(abs(count - expected) < 6 * expected**0.5 for count in counts), json.dumps(counts)
