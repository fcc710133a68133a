"""TextEncoder, TextDecoder, atob and btoa: against Node, and against literals where Node knows no better."""

from __future__ import annotations

import base64
import json

from . import both

TEXTS = [
    "",
    "a",
    "é",
    "€",
    "😀",
    "a\ud800",
    "\udc00b",
    "\ud800\ud800\udc00",
    "\udfff\udbff",
    "\x00\x7f\x80\u07ff\u0800\uffff",
    "\ufeffx",
]

# Bytes of UTF-8, whole and broken, and what they are as text.
UTF8: dict[bytes, str] = {
    b"": "",
    b"abc": "abc",
    b"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80": "é€😀",
    b"\xef\xbb\xbfx": "x",
    b"\xef\xbb\xbf\xef\xbb\xbfx": "\ufeffx",
    b"x\xef\xbb\xbf": "x\ufeff",
    b"\xef\xbb": "\ufffd",
    b"\xff": "\ufffd",
    b"\x80\x80": "\ufffd\ufffd",
    b"\xc0\x80": "\ufffd\ufffd",
    b"\xc1\xbf": "\ufffd\ufffd",
    b"\xc3": "\ufffd",
    b"\xc3x": "\ufffdx",
    b"\xe2\x82": "\ufffd",
    b"\xe2\x82x": "\ufffdx",
    b"\xe0\x80\x80": "\ufffd\ufffd\ufffd",
    b"\xe0\xa0\x80": "\u0800",
    b"\xed\xa0\x80": "\ufffd\ufffd\ufffd",
    b"\xed\x9f\xbf": "\ud7ff",
    b"\xf0\x80\x80\x80": "\ufffd\ufffd\ufffd\ufffd",
    b"\xf0\x90\x80\x80": "\U00010000",
    b"\xf4\x8f\xbf\xbf": "\U0010ffff",
    b"\xf4\x90\x80\x80": "\ufffd\ufffd\ufffd\ufffd",
    b"\xf5\x80": "\ufffd\ufffd",
    b"\xf0\x9f\x98": "\ufffd",
    b"\xf0\x9fx\x98": "\ufffdx\ufffd",
    b"\xf0\x9f\xf0\x9f\x98\x80": "\ufffd😀",
}

UTF16: dict[bytes, str] = {
    b"a\0b\0": "ab",
    b"\xff\xfea\0": "a",
    b"\x3d\xd8\x00\xde": "😀",
    b"\x3d\xd8": "\ufffd",
    b"\x3d\xd8a\0": "\ufffda",
    b"\x00\xdea\0": "\ufffda",
    b"\x3d\xd8\x3d\xd8\x00\xde": "\ufffd😀",
    b"a": "\ufffd",
    b"a\0b": "a\ufffd",
    b"\x3d\xd8a": "\ufffd",
}

LABELS = {
    "utf-8": "UTF-8  utf8 unicode-1-1-utf-8 x-unicode20utf8 unicode11utf8 Unicode20UTF8",
    "utf-16le": "utf-16 UTF-16LE ucs-2 unicode csunicode iso-10646-ucs-2 unicodefeff",
    "windows-1252": "latin1 ascii us-ascii iso-8859-1 ISO_8859-1:1987 l1 cp1252 x-cp1252 ansi_x3.4-1968 cp819 ibm819 "
    "iso-ir-100 csisolatin1 iso8859-1 iso88591 iso_8859-1 windows-1252",
}

PRELUDE = """
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const decode = (hex, label, options) => new TextDecoder(label, options).decode(bytes(hex));
// The text in parts of `size` bytes, streamed.
const streamed = (hex, label, size, options) => {
  const decoder = new TextDecoder(label, options);
  const all = bytes(hex);
  let text = "";
  for (let at = 0; at < all.length; at += size) text += decoder.decode(all.subarray(at, at + size), { stream: true });
  return text + decoder.decode();
};
const into = (text, size) => {
  const target = new Uint8Array(size);
  return [new TextEncoder().encodeInto(text, target), target];
};
"""


def test_text_is_encoded_as_utf_8() -> None:
    def utf8(text: str) -> list[int]:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return list(whole.encode())

    both.holds({f"new TextEncoder().encode({json.dumps(text)})": {"Uint8Array": utf8(text)} for text in TEXTS})


def test_bytes_are_decoded_with_a_replacement_for_each_broken_sequence() -> None:
    both.holds({f"decode('{data.hex()}')": text for data, text in UTF8.items()}, prelude=PRELUDE)
    both.holds({f"decode('{data.hex()}', 'utf-16le')": text for data, text in UTF16.items()}, prelude=PRELUDE)


def test_fatal_decoders_refuse_exactly_what_others_replace() -> None:
    expected = {}
    for label, cases in (("utf-8", UTF8), ("utf-16le", UTF16)):
        for data, text in cases.items():
            outcome = both.thrown("TypeError") if "\ufffd" in text else text
            expected[f"decode('{data.hex()}', '{label}', {{ fatal: true }})"] = outcome
    both.holds(expected, prelude=PRELUDE)


def test_bytes_in_parts_are_the_same_text() -> None:
    both.holds(
        {
            f"streamed('{data.hex()}', '{label}', {size})": text
            for label, cases in (("utf-8", UTF8), ("utf-16le", UTF16))
            for data, text in cases.items()
            for size in (1, 2, 3)
        },
        prelude=PRELUDE,
    )


def test_every_byte_of_windows_1252_is_a_character() -> None:
    # Python's own table leaves out five bytes, which the standard takes for controls.
    text = "".join(
        bytes([b]).decode("cp1252") if b not in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else chr(b) for b in range(256)
    )
    both.holds({"new TextDecoder('latin1').decode(Uint8Array.from({ length: 256 }, (_, i) => i))": text})


def test_labels_are_taken_in_any_case_and_with_blanks_around() -> None:
    both.holds(
        {
            f"new TextDecoder({json.dumps(spelling)}).encoding": name
            for name, labels in LABELS.items()
            for label in labels.split()
            for spelling in (label, f" \t\n\f\r{label} ")
        }
    )


def test_other_labels_are_refused_by_name() -> None:
    shown = both.in_sandbox(
        {"big5": "new TextDecoder('big5')", "__proto__": "new TextDecoder('__proto__')"}, messages=True
    )
    message = "; there are utf-8, utf-16le and latin1 (windows-1252)."
    assert shown == {
        name: {"thrown": ["RangeError", f'There is no decoder for "{name}"{message}']} for name in ("big5", "__proto__")
    }


def test_encoders_and_decoders_are_as_in_node() -> None:
    both.probe(
        both.of_all(
            "new TextEncoder().encode()",
            "new TextEncoder().encode(undefined)",
            "new TextEncoder().encode(null)",
            "new TextEncoder().encode({ toString: () => 'x' })",
            "new TextEncoder().encode(Symbol())",
            "new TextEncoder().encoding",
            "new TextEncoder('latin1').encoding",
            "TextEncoder()",
            *(f"into({json.dumps(text)}, {size})" for text in TEXTS for size in (0, 1, 2, 3, 4, 7)),
            "new TextEncoder().encodeInto('x', new Uint16Array(1))",
            "new TextEncoder().encodeInto('x', new ArrayBuffer(1))",
            "new TextEncoder().encodeInto('x')",
            "const b = new Uint8Array(6); new TextEncoder().encodeInto('ab', b.subarray(2, 3)); return b",
            "new TextDecoder().decode()",
            "new TextDecoder().decode(undefined, { stream: true })",
            "new TextDecoder().decode(new ArrayBuffer(2))",
            "new TextDecoder().decode(new DataView(new Uint8Array([97, 98, 99]).buffer, 1, 1))",
            "new TextDecoder().decode(new Uint16Array([0x6261, 0x6463]).subarray(1))",
            "new TextDecoder().decode('x')",
            "new TextDecoder().decode([97])",
            "new TextDecoder().decode(null)",
            "new TextDecoder().decode({})",
            "new TextDecoder('utf-8', 5)",
            "new TextDecoder(undefined, null).fatal",
            "new TextDecoder(null)",
            "new TextDecoder('')",
            "new TextDecoder('utf-8\\u00a0')",
            "new TextDecoder('utf-8', { fatal: 1 }).fatal",
            "new TextDecoder('utf-8', { ignoreBOM: 'x' }).ignoreBOM",
            "decode('efbbbf78', 'utf-8', { ignoreBOM: true })",
            "decode('fffe7800', 'utf-16le', { ignoreBOM: true })",
            "streamed('efbbbf78efbbbf', 'utf-8', 1)",
            "streamed('efbbbf78', 'utf-8', 1, { ignoreBOM: true })",
            "const d = new TextDecoder(); return [d.decode(bytes('efbbbf61')), d.decode(bytes('efbbbf62'))]",
            "const d = new TextDecoder(); return [d.decode(bytes('e282'), { stream: true }), d.decode(bytes('ac'))]",
            "const d = new TextDecoder(); return [d.decode(bytes('e282')), d.decode(bytes('ac'))]",
            "const d = new TextDecoder('utf-8', { fatal: true }); try { d.decode(bytes('ff')) } catch {} "
            "return d.decode(bytes('61'))",
            "new TextDecoder().decode(bytes('61'), 5)",
            "new TextDecoder().decode(bytes('61'), null)",
            "TextDecoder('utf-8')",
            "[TextEncoder.length, TextDecoder.length, TextDecoder.prototype.decode.length]",
            "Object.prototype.toString.call(new TextDecoder())",
            "Object.prototype.toString.call(new TextEncoder())",
            "Object.keys(TextDecoder.prototype).sort()",
            "Object.keys(TextEncoder.prototype).sort()",
            "TextDecoder.prototype.encoding",
            "TextEncoder.prototype.encode.call({})",
        ),
        prelude=PRELUDE,
        differing={
            "new TextDecoder().decode(bytes('61'), 5)": (
                both.thrown("TypeError"),
                "by Web IDL, a number is no dictionary",
            )
        },
    )


def test_long_texts_go_both_ways_whole() -> None:
    sources = {
        f"const t = {json.dumps(text)}.repeat(30011); "
        "return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(t)) === t": True
        for text in ("a", "é", "a€", "😀", "a😀", "\ufeff", "xy\x00é€😀z")
    }
    both.holds(
        sources | {f"atob(btoa('é\x00\xff'.repeat({n}))).length": 3 * n for n in (0, 1, 63, 64, 65, 2047, 30011)}
    )


def test_a_buffer_that_was_transferred_is_empty_and_one_that_option_getters_shrink_is_read_as_it_is() -> None:
    both.holds(
        {
            "const b = new ArrayBuffer(3); b.transfer(); return new TextDecoder().decode(b)": "",
            "const b = new Uint8Array(3); b.buffer.transfer(); return new TextDecoder().decode(b)": "",
            "const b = new ArrayBuffer(4, { maxByteLength: 8 }); const view = new Uint8Array(b); return "
            "new TextDecoder().decode(view, { get stream() { b.resize(1); return false } })": "\0",
            "const view = new Uint8Array(3); return new TextDecoder().decode(view, { get stream() "
            "{ view.buffer.transfer(); return false } })": "",
        }
    )


GOOD = [
    "", "YQ==", "YWI=", "YWJj", "YQ", "YWI", "YW Jj", " Y\tW\nJ\fj\r ", "YR==", "YX", "//8=", "++++", "YQ = =", "AAAA",
    "abcdabcd",
]  # fmt: skip
BAD = [
    "a", "a=", "a==", "a===", "=", "==", "===", "====", "YQ=", "YWI==", "YWJj=", "Y=Q=", "YQ==YQ==", "-_-_",
    "YQ==\u00a0", "YQ==\x0b", "é", "Y\x00Q=", "A", "AAAAA", "YQ==a", "\ud83d\ude00",
]  # fmt: skip


def test_atob_decodes_forgivingly() -> None:
    both.probe(both.of_all(*(f"atob({json.dumps(text)})" for text in [*GOOD, *BAD])))
    both.holds({f"atob({json.dumps(text)})": both.thrown("InvalidCharacterError") for text in BAD})


def test_btoa_encodes_bytes_and_nothing_else() -> None:
    texts = ["", "a", "ab", "abc", "\x00\xff", "é", "".join(map(chr, range(256)))]
    both.holds({f"btoa({json.dumps(t)})": base64.b64encode(t.encode("latin-1")).decode() for t in texts})
    both.holds({f"btoa({json.dumps(t)})": both.thrown("InvalidCharacterError") for t in ["Ā", "a😀", "\ud800"]})


def test_atob_and_btoa_take_what_functions_of_the_web_take() -> None:
    both.probe(
        both.of_all(
            "atob()",
            "btoa()",
            "btoa(undefined)",
            "btoa(null)",
            "btoa(12)",
            "atob(null)",
            "atob(undefined)",
            "btoa({})",
            "btoa(Symbol())",
            "[atob.length, btoa.length, atob.name, btoa.name]",
            "new atob('')",
            "try { atob('!') } catch (e) { return [e instanceof DOMException, e.code, e.name] }",
        ),
        differing={"new atob('')": (both.thrown("TypeError"), "by Web IDL, operations are no constructors")},
    )
