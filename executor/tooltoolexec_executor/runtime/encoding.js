// TextEncoder and TextDecoder, as the Encoding standard has them, for UTF-8, UTF-16LE and windows-1252.

(() => {
  const StringToLowerCase = uncurry(String.prototype.toLowerCase);
  const ArrayBufferDetached = getter(ArrayBuffer.prototype, "detached");
  const RangeErrorConstructor = RangeError;
  const EMPTY = { __proto__: null };
  const BYTE_ORDER_MARK = 0xfeff;

  // The labels of the encodings, as the standard's table has them.
  const encodings = { __proto__: null };
  const define = (name, labels) => {
    for (const label of labels.split(" ")) encodings[label] = name;
  };
  define("utf-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8");
  define("utf-16le", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le");
  define(
    "windows-1252",
    "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 " +
      "iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
  );

  const isBlank = (unit) => unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0c || unit === 0x0d;

  function encodingOf(label) {
    let start = 0;
    let end = label.length;
    while (start < end && isBlank(StringCharCodeAt(label, start))) start++;
    while (end > start && isBlank(StringCharCodeAt(label, end - 1))) end--;
    const encoding = encodings[StringToLowerCase(StringSlice(label, start, end))];
    if (encoding !== undefined) return encoding;
    const shown = StringSlice(label, 0, 60);
    const known = "there are utf-8, utf-16le and latin1 (windows-1252).";
    throw new RangeErrorConstructor(`There is no decoder for "${shown}"; ${known}`);
  }

  // A dictionary argument of Web IDL: an object, or nothing.
  function optionsOf(value) {
    if (value === undefined || value === null) return EMPTY;
    if (typeof value === "object" || typeof value === "function") return value;
    throw new TypeErrorConstructor("The options must be an object.");
  }

  // The bytes, not copied, of an ArrayBuffer or a view; none of a buffer that was transferred. `what` names the value.
  function bytesOfSource(value, what) {
    const isView = ArrayBufferIsView(value);
    const isTyped = isView && TypedArrayTag(value) !== undefined;
    let buffer = value;
    if (isView) buffer = isTyped ? TypedArrayBuffer(value) : DataViewBuffer(value);
    let isDetached;
    try {
      isDetached = ArrayBufferDetached(buffer);
    } catch {
      throw new TypeErrorConstructor(`${what} must be an ArrayBuffer or a view of one.`);
    }
    if (isDetached) return new Uint8ArrayConstructor(0);
    if (!isView) return new Uint8ArrayConstructor(buffer);
    if (isTyped) return new Uint8ArrayConstructor(buffer, TypedArrayByteOffset(value), TypedArrayByteLength(value));
    return new Uint8ArrayConstructor(buffer, DataViewByteOffset(value), DataViewByteLength(value));
  }

  // Reading a private field first tells an instance from anything else, with a TypeError.
  class TextEncoder {
    #encoding = "utf-8";

    get encoding() {
      return this.#encoding;
    }

    encode(input = "") {
      this.#encoding;
      return utf8Bytes(`${input}`);
    }

    encodeInto(source, destination) {
      this.#encoding;
      const text = `${source}`;
      if (!ArrayBufferIsView(destination) || TypedArrayTag(destination) !== "Uint8Array") {
        throw new TypeErrorConstructor("encodeInto needs a Uint8Array to write into.");
      }
      return writeUtf8(text, destination, TypedArrayLength(destination));
    }
  }

  class TextDecoder {
    #encoding;
    #fatal;
    #ignoreBOM;
    #decoder;
    #begun = false;

    constructor(label = "utf-8", options = undefined) {
      this.#encoding = encodingOf(`${label}`);
      const given = optionsOf(options);
      this.#fatal = !!given.fatal;
      this.#ignoreBOM = !!given.ignoreBOM;
    }

    get encoding() {
      return this.#encoding;
    }

    get fatal() {
      return this.#fatal;
    }

    get ignoreBOM() {
      return this.#ignoreBOM;
    }

    decode(input = undefined, options = undefined) {
      const encoding = this.#encoding;
      if (input !== undefined) bytesOfSource(input, "What is decoded");
      const continues = !!optionsOf(options).stream;
      // Only now: what gave the option may have changed the buffer.
      const bytes = input === undefined ? new Uint8ArrayConstructor(0) : bytesOfSource(input, "What is decoded");
      const decoder = this.#decoder ?? new DECODERS[encoding](this.#fatal ? refuseMalformed : replaceMalformed);
      const isFirst = this.#decoder === undefined || !this.#begun;
      this.#decoder = continues ? decoder : undefined;
      const text = decoder.push(bytes, !continues);
      this.#begun = text !== "" || !isFirst;
      const hasMark = encoding !== "windows-1252" && text !== "" && StringCharCodeAt(text, 0) === BYTE_ORDER_MARK;
      return isFirst && hasMark && !this.#ignoreBOM ? StringSlice(text, 1) : text;
    }
  }

  defineInterface(TextEncoder);
  defineInterface(TextDecoder);
})();
