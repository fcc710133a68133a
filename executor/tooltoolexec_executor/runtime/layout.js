// How pieces of a rendered value become lines, as Node's console lays them out: quoting, the names of keys, and when
// entries share a line, stand in columns or take a line each. Only texts come in here, never a program's value.

const { newList, append, quoteText, keyText, cutText, textWidth, layOut } = (() => {
  const LONGEST_TEXT = 10_000;
  const MOST_COLUMNS = 12;
  const SHORT_TEXT = 16;
  const MathSqrt = Math.sqrt;
  const MathRound = Math.round;
  const StringPadStart = uncurry(String.prototype.padStart);
  const StringPadEnd = uncurry(String.prototype.padEnd);
  const StringCodePointAt = uncurry(String.prototype.codePointAt);
  const StringToUpperCase = uncurry(String.prototype.toUpperCase);

  // A list that no setter on a prototype can see being filled.
  const newList = () => ({ __proto__: null, length: 0 });
  function append(list, text) {
    list[list.length++] = text;
  }

  const isSurrogate = (unit) => unit >= 0xd800 && unit < 0xe000;
  const isUnprintable = (unit) => unit < 32 || (unit > 126 && unit < 160) || isSurrogate(unit);
  const isPair = (text, at) =>
    StringCharCodeAt(text, at) < 0xdc00 && (StringCharCodeAt(text, at + 1) & 0xfc00) === 0xdc00;
  const shortEscapes = { __proto__: null, 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\" };

  function escapeOf(unit) {
    if (shortEscapes[unit] !== undefined) return shortEscapes[unit];
    const hex = NumberToString(unit, 16);
    return isSurrogate(unit) ? "\\u" + hex : "\\x" + (unit < 16 ? "0" : "") + StringToUpperCase(hex);
  }

  // `text` with escapes for control characters, backslashes, halves of surrogate pairs and, if asked, single quotes.
  function escapeText(text, singleQuotes) {
    let escaped = "";
    let done = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      if (isSurrogate(unit) && isPair(text, i)) {
        i++;
      } else if (isUnprintable(unit) || unit === 92 || (unit === 39 && singleQuotes)) {
        escaped += StringSlice(text, done, i) + escapeOf(unit);
        done = i + 1;
      }
    }
    return done === 0 ? text : escaped + StringSlice(text, done);
  }

  function quoteLine(text) {
    if (StringIndexOf(text, "'") === -1) return "'" + escapeText(text, false) + "'";
    if (StringIndexOf(text, '"') === -1) return '"' + escapeText(text, false) + '"';
    if (StringIndexOf(text, "`") === -1 && StringIndexOf(text, "${") === -1) return "`" + escapeText(text, false) + "`";
    return "'" + escapeText(text, true) + "'";
  }

  const moreCharacters = (count) => "... " + count + " more character" + (count > 1 ? "s" : "");
  const cutText = (text) =>
    text.length > LONGEST_TEXT ? StringSlice(text, 0, LONGEST_TEXT) + moreCharacters(text.length - LONGEST_TEXT) : text;

  // `text` in quotes; one that is long and has line breaks is written as a sum of its lines.
  function quoteText(text, indent, lineWidth) {
    let trailer = "";
    if (text.length > LONGEST_TEXT) {
      trailer = moreCharacters(text.length - LONGEST_TEXT);
      text = StringSlice(text, 0, LONGEST_TEXT);
    }
    if (text.length <= SHORT_TEXT || text.length <= lineWidth - indent - 4) return quoteLine(text) + trailer;
    let quoted = "";
    let done = 0;
    for (let at = StringIndexOf(text, "\n"); at !== -1 && at + 1 < text.length; at = StringIndexOf(text, "\n", done)) {
      quoted += quoteLine(StringSlice(text, done, at + 1)) + " +\n" + StringRepeat(" ", indent + 2);
      done = at + 1;
    }
    return quoted + quoteLine(StringSlice(text, done)) + trailer;
  }

  function isIdentifier(key) {
    for (let i = 0; i < key.length; i++) {
      const unit = StringCharCodeAt(key, i);
      const letter = (unit | 32) >= 97 && (unit | 32) <= 122;
      if (!(letter || unit === 95 || (i > 0 && unit >= 48 && unit <= 57))) return false;
    }
    return key.length > 0;
  }

  // A key before its colon; one that is not enumerable stands in brackets.
  function keyText(key, enumerable) {
    if (typeof key === "symbol") return "[" + escapeText(cutText(SymbolToString(key)), true) + "]";
    if (key === "__proto__") return "['__proto__']";
    if (!enumerable) return "[" + escapeText(cutText(key), true) + "]";
    return key.length <= LONGEST_TEXT && isIdentifier(key) ? key : quoteText(key, 0, Infinity);
  }

  // First and last code points of what takes two columns, and of what takes none.
  const WIDE = [
    0x1100, 0x115f, 0x2e80, 0x303e, 0x3040, 0x3247, 0x3250, 0x4dbf, 0x4e00, 0xa4c6, 0xa960, 0xa97c, 0xac00, 0xd7a3,
    0xf900, 0xfaff, 0xfe30, 0xfe6b, 0xff01, 0xff60, 0xffe0, 0xffe6, 0x1f300, 0x1f64f, 0x1f900, 0x1f9ff,
    0x20000, 0x3fffd,
  ];
  const WIDTHLESS = [
    0, 0x1f, 0x7f, 0x9f, 0x300, 0x36f, 0x200b, 0x200f, 0x20d0, 0x20ff, 0xfe00, 0xfe0f, 0xfe20, 0xfe2f,
  ];
  function isWithin(ranges, point) {
    for (let i = 0; i < ranges.length && ranges[i] <= point; i += 2) if (point <= ranges[i + 1]) return true;
    return false;
  }

  // Columns that `text` takes in a terminal.
  function textWidth(text) {
    let width = 0;
    for (let i = 0; i < text.length; i++) {
      const point = StringCodePointAt(text, i);
      if (point > 0xffff) i++;
      if (point > 31 && point < 127) width++;
      else width += isWithin(WIDTHLESS, point) ? 0 : isWithin(WIDE, point) ? 2 : 1;
    }
    return width;
  }

  // How many columns entries are put in, 1 for none: about a square, no wider than a line.
  function columnsFor(count, longest, total, entries, room) {
    const cell = longest + 2;
    if (cell * 3 >= room || (total / cell <= 5 && longest > 6)) return 1;
    const typical = MathMax(cell - 3 - MathSqrt(cell - total / entries), 1);
    const square = MathRound(MathSqrt(2.5 * typical * count) / typical);
    const fitting = MathMin(room / cell, MOST_COLUMNS);
    return MathMin(square, fitting - (fitting % 1));
  }

  // The entries of a long array in columns, a line of them an entry; the list itself where columns do not suit.
  // `hasRest` says that the last entry only counts the items left out.
  function inColumns(entries, { hasRest, numbers }, room) {
    const count = entries.length - (hasRest ? 1 : 0);
    const widths = newList();
    let total = 0;
    let longest = 0;
    for (let i = 0; i < count; i++) {
      append(widths, textWidth(entries[i]));
      total += widths[i] + 2;
      longest = MathMax(longest, widths[i]);
    }
    const columns = columnsFor(count, longest, total, entries.length, room);
    if (columns <= 1) return entries;
    const lines = newList();
    for (let start = 0; start < count; start += columns) {
      const end = MathMin(start + columns, count);
      let line = "";
      for (let i = start; i < end; i++) {
        const isLast = i === end - 1;
        const text = isLast ? entries[i] : entries[i] + ", ";
        let width = isLast ? 0 : 2;
        for (let j = i - start; j < count; j += columns) width = MathMax(width, widths[j] + (isLast ? 0 : 2));
        const padded = width + entries[i].length - widths[i];
        line += numbers ? StringPadStart(text, padded) : isLast ? text : StringPadEnd(text, padded);
      }
      append(lines, line);
    }
    if (hasRest) append(lines, entries[count]);
    return lines;
  }

  function onOneLine(entries, form, room) {
    let length = 2 * entries.length + form.open.length + form.base.length + 10;
    for (let i = 0; i < entries.length && length <= room; i++) length += entries[i].length;
    if (length > room || StringIndexOf(form.base, "\n") !== -1) return undefined;
    let line = entries[0];
    for (let i = 1; i < entries.length; i++) line += ", " + entries[i];
    return StringIndexOf(line, "\n") === -1 ? line : undefined;
  }

  // The entries of a value in its form (kinds.js). `flat` says that they are not nested too deep for one line.
  function layOut(entries, form, flat, indent, lineWidth) {
    const head = (form.base === "" ? "" : form.base + " ") + form.open;
    const room = lineWidth - indent;
    let lines = entries;
    if (form.columns !== undefined && entries.length > 6) lines = inColumns(entries, form.columns, room);
    if (lines === entries && flat) {
      const line = onOneLine(entries, form, room);
      if (line !== undefined) return head + " " + line + " " + form.close;
    }
    const margin = "\n" + StringRepeat(" ", indent);
    let text = head;
    for (let i = 0; i < lines.length; i++) text += (i === 0 ? "" : ",") + margin + "  " + lines[i];
    return text + margin + form.close;
  }

  return { newList, append, quoteText, keyText, cutText, textWidth, layOut };
})();
