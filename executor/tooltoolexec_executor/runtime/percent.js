// Percent-encoding and its sets, as the URL standard has them.

const { PERCENT, percentEncode, percentDecode } = (() => {
  const StringToWellFormed = uncurry(String.prototype.toWellFormed);

  // The standard's percent-encode sets, a bit each; each but CONTROL also encodes what is named in `sets` below.
  const PERCENT = {
    __proto__: null, CONTROL: 1, FRAGMENT: 2, QUERY: 4, SPECIAL_QUERY: 8, PATH: 16, USERINFO: 32, FORM: 64,
  };
  const sets = new Uint8Array(128);
  for (let unit = 0; unit < 128; unit++) if (unit < 0x20 || unit === 0x7f) sets[unit] = 0xff;
  const addToSet = (set, units) => {
    for (const unit of units) sets[unit.charCodeAt(0)] |= set;
  };
  addToSet(PERCENT.FRAGMENT, " \"<>`");
  addToSet(PERCENT.QUERY, " \"#<>");
  addToSet(PERCENT.SPECIAL_QUERY, " \"#<>'");
  addToSet(PERCENT.PATH, " \"#<>?^`{}");
  addToSet(PERCENT.USERINFO, " \"#<>?^`{}/:;=@[\\]|");
  addToSet(PERCENT.FORM, " \"#<>?^`{}/:;=@[\\]|$%&+,!'()~");

  const DIGITS = "0123456789ABCDEF";
  const escapeByte = (byte) => "%" + DIGITS[byte >> 4] + DIGITS[byte & 15];

  // UTF-8 of `text` with every byte outside ASCII or in `set` as %XX; a set of the form writes a blank as "+".
  function percentEncode(text, set) {
    let done = "";
    let start = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      if (unit < 0x80 && (sets[unit] & set) === 0) continue;
      done += StringSlice(text, start, i);
      start = i + 1;
      if (unit === 0x20 && set === PERCENT.FORM) done += "+";
      else if (unit < 0x80) done += escapeByte(unit);
      else {
        while (start < text.length && StringCharCodeAt(text, start) >= 0x80) start++;
        const bytes = utf8Bytes(StringSlice(text, i, start));
        const length = TypedArrayLength(bytes);
        for (let at = 0; at < length; at++) done += escapeByte(bytes[at]);
        i = start - 1;
      }
    }
    return start === 0 ? text : done + StringSlice(text, start);
  }

  const hexValue = (unit) => {
    if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
    const letter = unit | 0x20;
    return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
  };

  // `text` with each %XX as the byte it is, read as UTF-8.
  function percentDecode(text) {
    if (StringIndexOf(text, "%") === -1) return StringToWellFormed(text);
    const bytes = utf8Bytes(text);
    const length = TypedArrayLength(bytes);
    let kept = 0;
    for (let i = 0; i < length; i++) {
      let byte = bytes[i];
      if (byte === 0x25 && i + 2 < length) {
        const high = hexValue(bytes[i + 1]);
        const low = hexValue(bytes[i + 2]);
        if (high !== -1 && low !== -1) {
          byte = high * 16 + low;
          i += 2;
        }
      }
      bytes[kept++] = byte;
    }
    return utf8Text(new Uint8ArrayConstructor(TypedArrayBuffer(bytes), 0, kept));
  }

  return { PERCENT, percentEncode, percentDecode };
})();
