// Text to bytes and back: UTF-8 of a text, and the decoders of the encodings that programs have.

const { writeUtf8, utf8Bytes, utf8Text, DECODERS, refuseMalformed, replaceMalformed } = (() => {
  const Uint16ArrayConstructor = Uint16Array;
  const RegExpExec = uncurry(RegExp.prototype.exec);
  const REPLACEMENT = 0xfffd;

  // Write UTF-8 of `text` while whole characters fit; a lone surrogate becomes U+FFFD. Units read and bytes written.
  function writeUtf8(text, bytes, room) {
    let written = 0;
    let read = 0;
    for (; read < text.length; read++) {
      let point = StringCharCodeAt(text, read);
      if (point < 0x80) {
        if (written === room) break;
        bytes[written++] = point;
        continue;
      }
      let units = 1;
      if (point >= 0xd800 && point < 0xe000) {
        const next = point < 0xdc00 && read + 1 < text.length ? StringCharCodeAt(text, read + 1) : 0;
        if (next >= 0xdc00 && next < 0xe000) {
          point = 0x10000 + ((point - 0xd800) << 10) + next - 0xdc00;
          units = 2;
        } else {
          point = REPLACEMENT;
        }
      }
      const size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      if (written + size > room) break;
      bytes[written++] = (size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0) | (point >> (6 * (size - 1)));
      for (let shift = 6 * (size - 2); shift >= 0; shift -= 6) bytes[written++] = 0x80 | ((point >> shift) & 0x3f);
      read += units - 1;
    }
    return { read, written };
  }

  const notAscii = /[^\0-\x7f]/;
  const isAscii = (text) => RegExpExec(notAscii, text) === null;

  function utf8Bytes(text) {
    const room = isAscii(text) ? text.length : utf8Length(text);
    const bytes = new Uint8ArrayConstructor(room);
    writeUtf8(text, bytes, room);
    return bytes;
  }

  // A decoder's `push(bytes, ends)` gives the text of the bytes that are complete; `ends`: no more will come.
  // `malformed` is called where U+FFFD is put, and may throw. Text is made in pieces, so that a big input needs little
  // beside it.
  const PIECE = 8192;
  let piece;

  class Utf8Decoder {
    needed = 0;
    point = 0;
    lower = 0x80;
    upper = 0xbf;
    malformed;

    constructor(malformed) {
      this.malformed = malformed;
    }

    reset() {
      this.needed = 0;
      this.lower = 0x80;
      this.upper = 0xbf;
    }

    // What a byte that begins a character says of those to come; false if none begins so.
    begin(byte) {
      if (byte < 0xc2 || byte > 0xf4) return false;
      if (byte < 0xe0) {
        this.needed = 1;
        this.point = byte & 0x1f;
      } else if (byte < 0xf0) {
        if (byte === 0xe0) this.lower = 0xa0;
        if (byte === 0xed) this.upper = 0x9f;
        this.needed = 2;
        this.point = byte & 0xf;
      } else {
        if (byte === 0xf0) this.lower = 0x90;
        if (byte === 0xf4) this.upper = 0x8f;
        this.needed = 3;
        this.point = byte & 0x7;
      }
      return true;
    }

    push(bytes, ends) {
      const length = TypedArrayLength(bytes);
      const units = (piece ??= new Uint16ArrayConstructor(PIECE));
      let text = "";
      let filled = 0;
      for (let i = 0; i < length; ) {
        if (filled > PIECE - 2) {
          text += textOfUnits(units, filled);
          filled = 0;
        }
        const byte = bytes[i];
        if (this.needed === 0 && byte < 0x80) {
          // Most text is mostly ASCII: a loop that touches nothing else.
          const stop = MathMin(length, i + PIECE - filled);
          do units[filled++] = bytes[i++];
          while (i < stop && bytes[i] < 0x80);
        } else if (this.needed === 0) {
          if (!this.begin(byte)) units[filled++] = this.malformed();
          i++;
        } else if (byte < this.lower || byte > this.upper) {
          this.reset();
          units[filled++] = this.malformed(); // And the byte may begin a character itself.
        } else {
          this.lower = 0x80;
          this.upper = 0xbf;
          this.point = (this.point << 6) | (byte & 0x3f);
          i++;
          if (--this.needed > 0) continue;
          if (this.point < 0x10000) {
            units[filled++] = this.point;
          } else {
            units[filled++] = 0xd7c0 + (this.point >> 10);
            units[filled++] = 0xdc00 + (this.point & 0x3ff);
          }
        }
      }
      text += textOfUnits(units, filled);
      if (ends && this.needed > 0) {
        this.reset();
        text += StringFromCharCode(this.malformed());
      }
      return text;
    }
  }

  class Utf16Decoder {
    byte = -1;
    lead = -1;
    malformed;

    constructor(malformed) {
      this.malformed = malformed;
    }

    push(bytes, ends) {
      const length = TypedArrayLength(bytes);
      const units = (piece ??= new Uint16ArrayConstructor(PIECE));
      let text = "";
      let filled = 0;
      for (let i = 0; i < length; i++) {
        if (filled > PIECE - 3) {
          text += textOfUnits(units, filled);
          filled = 0;
        }
        if (this.byte === -1) {
          this.byte = bytes[i];
          continue;
        }
        const unit = this.byte | (bytes[i] << 8);
        const lead = this.lead;
        this.byte = this.lead = -1;
        const isTrail = unit >= 0xdc00 && unit < 0xe000;
        if (lead !== -1) units[filled++] = isTrail ? lead : this.malformed();
        if (unit >= 0xd800 && unit < 0xdc00) this.lead = unit;
        else units[filled++] = isTrail && lead === -1 ? this.malformed() : unit;
      }
      text += textOfUnits(units, filled);
      if (ends && (this.byte !== -1 || this.lead !== -1)) {
        this.byte = this.lead = -1;
        text += StringFromCharCode(this.malformed());
      }
      return text;
    }
  }

  // What windows-1252 has from 0x80 to 0x9f.
  const WINDOWS_1252 =
    "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f" +
    "\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";

  class Windows1252Decoder {
    push(bytes) {
      const length = TypedArrayLength(bytes);
      const units = new Uint16ArrayConstructor(length);
      for (let i = 0; i < length; i++) {
        const byte = bytes[i];
        units[i] = byte >= 0x80 && byte < 0xa0 ? StringCharCodeAt(WINDOWS_1252, byte - 0x80) : byte;
      }
      return textOfUnits(units, length);
    }
  }

  const replaceMalformed = () => REPLACEMENT;
  const refuseMalformed = () => {
    throw new TypeErrorConstructor("The bytes are no text in this encoding; without `fatal`, U+FFFD stands for them.");
  };

  // All of `bytes` as text; a byte order mark stays.
  const utf8Text = (bytes) => new Utf8Decoder(replaceMalformed).push(bytes, true);

  const DECODERS = {
    __proto__: null, "utf-8": Utf8Decoder, "utf-16le": Utf16Decoder, "windows-1252": Windows1252Decoder,
  };
  return { writeUtf8, utf8Bytes, utf8Text, DECODERS, refuseMalformed, replaceMalformed };
})();
