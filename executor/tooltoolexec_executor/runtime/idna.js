// Names of hosts outside ASCII in their xn-- form: UTS #46 for ordinary names, and Punycode (RFC 3492).
//
// Instead of the table of UTS #46 stands what it was made from, compatibility normalisation and lower case, which V8
// has. Beyond that, labels that begin with a combining mark are refused, and blanks, controls and unassigned characters
// anywhere. Directions of writing are not checked, nor what an xn-- label that a program writes stands for.

const { asciiHost } = (() => {
  const StringCharAt = uncurry(String.prototype.charAt);
  const StringNormalize = uncurry(String.prototype.normalize);
  const StringToLowerCase = uncurry(String.prototype.toLowerCase);
  const StringCodePointAt = uncurry(String.prototype.codePointAt);
  const RegExpExec = uncurry(RegExp.prototype.exec);
  const MathFloor = Math.floor;
  // Encoding takes time by the square of a name's length; what DNS resolves has 253 characters.
  const LONGEST = 1000;
  const matches = (pattern, text) => RegExpExec(pattern, text) !== null;
  // Made where they are used: V8 reads a pattern when its literal is evaluated, and classes of Unicode take long.
  const hasNonAscii = (text) => matches(/[^\0-\x7f]/, text);
  const isIgnored = (text) => matches(/^[\xad\u034f\u180b-\u180d\u180f\u200b\u2060\ufe00-\ufe0f\ufeff]$/, text);
  const hasRefused = (text) => matches(/[\p{C}\p{Z}\ufffc\ufffd]/u, text);
  const startsWithMark = (text) => matches(/^\p{M}/u, text);

  const sizeOf = (point) => (point > 0xffff ? 2 : 1);

  // Characters one by one, so that a sigma at the end of a word is a sigma as elsewhere.
  function fold(name) {
    let text = "";
    for (let i = 0, size; i < name.length; i += size) {
      size = sizeOf(StringCodePointAt(name, i));
      const character = StringSlice(name, i, i + size);
      if (!isIgnored(character)) text += StringToLowerCase(character);
    }
    return StringNormalize(text, "NFKC");
  }

  // Punycode's parameters.
  const BASE = 36;
  const LOWEST = 1;
  const HIGHEST = 26;

  function adapt(delta, count, isFirst) {
    delta = MathFloor(delta / (isFirst ? 700 : 2));
    delta += MathFloor(delta / count);
    let k = 0;
    for (; delta > 455; k += BASE) delta = MathFloor(delta / (BASE - LOWEST));
    return k + MathFloor((36 * delta) / (delta + 38));
  }

  const digitOf = (digit) => StringFromCharCode(digit < 26 ? 0x61 + digit : 0x16 + digit);

  // `delta` in digits whose weights depend on `bias`.
  function encodeDelta(delta, bias) {
    let text = "";
    for (let k = BASE; ; k += BASE) {
      const threshold = MathMin(MathMax(k - bias, LOWEST), HIGHEST);
      if (delta < threshold) return text + digitOf(delta);
      text += digitOf(threshold + ((delta - threshold) % (BASE - threshold)));
      delta = MathFloor((delta - threshold) / (BASE - threshold));
    }
  }

  function punycode(label) {
    let text = "";
    let total = 0;
    for (let i = 0; i < label.length; i += sizeOf(StringCodePointAt(label, i)), total++) {
      if (StringCharCodeAt(label, i) < 0x80) text += StringCharAt(label, i);
    }
    const basic = text.length;
    if (basic > 0) text += "-";
    let delta = 0;
    let bias = 72;
    for (let done = basic, point = 0x80; done < total; delta++, point++) {
      let next = 0x110000;
      for (let i = 0, each; i < label.length; i += sizeOf(each)) {
        each = StringCodePointAt(label, i);
        if (each >= point && each < next) next = each;
      }
      delta += (next - point) * (done + 1);
      point = next;
      for (let i = 0, each; i < label.length; i += sizeOf(each)) {
        each = StringCodePointAt(label, i);
        if (each < point) delta++;
        if (each !== point) continue;
        text += encodeDelta(delta, bias);
        bias = adapt(delta, done + 1, done === basic);
        delta = 0;
        done++;
      }
    }
    return text;
  }

  // `name` in lower case and ASCII; null if it is no name.
  function asciiHost(name) {
    if (!hasNonAscii(name)) return StringToLowerCase(name);
    // Twice, because normalising can give capitals.
    const text = StringReplaceAll(fold(fold(name)), "\u3002", ".");
    if (text.length > LONGEST || hasRefused(text)) return null;
    let ascii = "";
    let end;
    for (let start = 0; start <= text.length; start = end + 1) {
      end = StringIndexOf(text, ".", start);
      if (end === -1) end = text.length;
      const label = StringSlice(text, start, end);
      if (startsWithMark(label)) return null;
      ascii += hasNonAscii(label) ? "xn--" + punycode(label) : label;
      if (end < text.length) ascii += ".";
    }
    return ascii;
  }

  return { asciiHost };
})();
