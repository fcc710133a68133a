// Hosts of URLs, as the URL standard's host parser has them: names, IPv4 addresses in all their forms, IPv6 addresses.

const { parseHost } = (() => {
  const StringCharAt = uncurry(String.prototype.charAt);

  // Units that no host may have, and those that no name may have either: a bit each.
  const HOST = 1;
  const NAME = 2;
  const forbidden = new Uint8Array(128);
  for (let unit = 0; unit < 128; unit++) if (unit < 0x20 || unit === 0x7f) forbidden[unit] = NAME;
  for (const unit of "\0\t\n\r #/:<>?@[\\]^|") forbidden[unit.charCodeAt(0)] = HOST | NAME;
  forbidden[0x25] = NAME;

  function hasForbidden(text, set) {
    for (let i = 0; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      if (unit < 0x80 && (forbidden[unit] & set) !== 0) return true;
    }
    return false;
  }

  const isDigit = (unit) => unit >= 0x30 && unit <= 0x39;

  // The value of a hexadecimal digit, -1 of all else.
  const hexDigit = (unit) => {
    if (isDigit(unit)) return unit - 0x30;
    const letter = unit | 0x20;
    return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
  };

  // A part of an IPv4 address: decimal, octal with a 0 before it, or hexadecimal. NaN if it is none.
  function ipv4Number(part) {
    if (part === "") return NaN;
    const hasZero = part.length > 1 && StringCharAt(part, 0) === "0";
    const isHex = hasZero && (StringCharAt(part, 1) === "x" || StringCharAt(part, 1) === "X");
    const base = isHex ? 16 : hasZero ? 8 : 10;
    let value = 0;
    for (let i = isHex ? 2 : 0; i < part.length; i++) {
      const digit = hexDigit(StringCharCodeAt(part, i));
      if (digit === -1 || digit >= base) return NaN;
      value = value * base + digit;
    }
    return value;
  }

  // Where the last label begins, a dot at the very end aside.
  function lastLabel(name) {
    const end = name.length > 1 && StringCharAt(name, name.length - 1) === "." ? name.length - 1 : name.length;
    let start = end;
    while (start > 0 && StringCharAt(name, start - 1) !== ".") start--;
    return StringSlice(name, start, end);
  }

  function endsInNumber(name) {
    const label = lastLabel(name);
    if (label === "") return false;
    let digits = 0;
    while (digits < label.length && isDigit(StringCharCodeAt(label, digits))) digits++;
    return digits === label.length || ipv4Number(label) >= 0;
  }

  // The address in its usual form; null if a part is no number or too large.
  function parseIpv4(name) {
    const text = StringCharAt(name, name.length - 1) === "." ? StringSlice(name, 0, name.length - 1) : name;
    let address = 0;
    let room = 2 ** 32;
    let end;
    for (let start = 0, parts = 1; start <= text.length; start = end + 1, parts++) {
      end = StringIndexOf(text, ".", start);
      const isLast = end === -1;
      if (isLast) end = text.length;
      const value = ipv4Number(StringSlice(text, start, end));
      // The last part fills what those before it leave.
      if (parts > 4 || !(value < (isLast ? room : 256))) return null;
      room /= 256;
      address += isLast ? value : value * room;
    }
    let shown = "";
    for (let shift = 24; shift >= 0; shift -= 8) shown += ((address >>> shift) & 255) + (shift > 0 ? "." : "");
    return shown;
  }

  // The last two pieces of an IPv6 address as the IPv4 address they are written as; false if it is none.
  function readEmbeddedIpv4(text, start, pieces, piece) {
    let at = start;
    for (let part = 0; part < 4; part++) {
      if (part > 0 && StringCharAt(text, at++) !== ".") return false;
      const first = at;
      let value = 0;
      while (at < text.length && isDigit(StringCharCodeAt(text, at))) {
        if (at > first && value === 0) return false; // A leading 0.
        value = value * 10 + StringCharCodeAt(text, at++) - 0x30;
        if (value > 255) return false;
      }
      if (at === first) return false;
      const place = piece + (part >> 1);
      pieces[place] = pieces[place] * 256 + value;
    }
    return at === text.length;
  }

  // The eight pieces; null if `text` is no IPv6 address.
  function parseIpv6(text) {
    const pieces = { __proto__: null, 0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0 };
    let piece = 0;
    let gap = -1;
    let at = 0;
    if (StringCharAt(text, 0) === ":") {
      if (StringCharAt(text, 1) !== ":") return null;
      at = 2;
      gap = 0;
    }
    while (at < text.length) {
      if (piece === 8) return null;
      if (StringCharAt(text, at) === ":") {
        if (gap !== -1) return null;
        at++;
        gap = piece;
        continue;
      }
      const first = at;
      let value = 0;
      for (let digit; at < first + 4 && at < text.length; at++) {
        digit = hexDigit(StringCharCodeAt(text, at));
        if (digit === -1) break;
        value = value * 16 + digit;
      }
      if (StringCharAt(text, at) === ".") {
        if (at === first || piece > 6 || !readEmbeddedIpv4(text, first, pieces, piece)) return null;
        piece += 2;
        break;
      }
      if (at < text.length && (at === first || StringCharAt(text, at) !== ":")) return null;
      if (at < text.length && ++at === text.length) return null; // A colon ends it.
      pieces[piece++] = value;
    }
    if (gap === -1) return piece === 8 ? pieces : null;
    // What stands behind the gap moves to the end.
    for (let from = piece - 1, to = 7; from >= gap; from--, to--) {
      if (to === from) return piece === 8 ? null : pieces;
      pieces[to] = pieces[from];
      pieces[from] = 0;
    }
    return pieces;
  }

  // Pieces in hexadecimal, the first of the longest runs of zeros as "::".
  function ipv6Text(pieces) {
    let gap = -1;
    let longest = 1;
    for (let start = 0; start < 8; start++) {
      let end = start;
      while (end < 8 && pieces[end] === 0) end++;
      if (end - start > longest) {
        gap = start;
        longest = end - start;
      }
    }
    let text = "";
    for (let i = 0; i < 8; i++) {
      if (i === gap) {
        text += i === 0 ? "::" : ":";
        i += longest - 1;
      } else {
        text += NumberToString(pieces[i], 16) + (i < 7 ? ":" : "");
      }
    }
    return text;
  }

  // The host as it stands in a URL, null if `text` is none. A host of a scheme that is not special is opaque.
  function parseHost(text, isOpaque) {
    if (StringCharAt(text, 0) === "[") {
      const last = text.length - 1;
      const pieces = StringCharAt(text, last) === "]" ? parseIpv6(StringSlice(text, 1, last)) : null;
      return pieces === null ? null : "[" + ipv6Text(pieces) + "]";
    }
    if (isOpaque) return hasForbidden(text, HOST) ? null : percentEncode(text, PERCENT.CONTROL);
    const name = asciiHost(percentDecode(text));
    if (name === null || name === "" || hasForbidden(name, NAME)) return null;
    return endsInNumber(name) ? parseIpv4(name) : name;
  }

  return { parseHost };
})();
