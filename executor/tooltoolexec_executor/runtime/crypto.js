// crypto: getRandomValues, randomUUID and subtle.digest. Randomness is the operating system's; digests are computed here.

(() => {
  const POOL_BYTES = 2048;
  const QUOTA_BYTES = 65536;
  const HEX = "0123456789abcdef";

  // Random bytes not yet given out. Python puts them into the in area before `notify` returns, and they are no message.
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  function refill() {
    for (let i = 0; i < POOL_BYTES; i++) inBytes[i] = 0;
    post("r[" + POOL_BYTES + "]\n");
    notify();
    let bits = 0;
    for (let i = 0; i < POOL_BYTES; i++) bits |= pool[i] = inBytes[i];
    if (bits === 0) throw new ErrorConstructor("The operating system gave no random bytes.");
    used = 0;
  }
  function randomByte() {
    if (used === POOL_BYTES) refill();
    const byte = pool[used];
    pool[used++] = 0;
    return byte;
  }

  const integerViews = { __proto__: null };
  for (const View of [
    Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array,
  ]) integerViews[View.name] = true;

  // The bytes of a buffer or a view, not copied.
  function sourceBytes(data) {
    if (!ArrayBufferIsView(data)) {
      try {
        return new Uint8ArrayConstructor(data, 0, ArrayBufferByteLength(data));
      } catch {
        throw new TypeErrorConstructor("The data of a digest must be an ArrayBuffer or a view of one.");
      }
    }
    if (TypedArrayTag(data) === undefined) {
      return new Uint8ArrayConstructor(DataViewBuffer(data), DataViewByteOffset(data), DataViewByteLength(data));
    }
    return new Uint8ArrayConstructor(TypedArrayBuffer(data), TypedArrayByteOffset(data), TypedArrayByteLength(data));
  }

  function randomUUID() {
    let text = "";
    for (let i = 0; i < 16; i++) {
      let byte = randomByte();
      if (i === 6) byte = (byte & 0x0f) | 0x40;
      if (i === 8) byte = (byte & 0x3f) | 0x80;
      if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
      text += HEX[byte >> 4] + HEX[byte & 15];
    }
    return text;
  }

  class Crypto {
    constructor(token = undefined) {
      if (token !== pool) throw new TypeErrorConstructor("Crypto has no constructor: use crypto.");
    }

    get subtle() {
      return subtle;
    }

    getRandomValues(array) {
      if (!ArrayBufferIsView(array)) throw new TypeErrorConstructor("getRandomValues needs an integer typed array.");
      const tag = TypedArrayTag(array);
      if (tag === undefined || integerViews[tag] !== true) {
        throw new DOMExceptionClass("getRandomValues needs an integer typed array.", "TypeMismatchError");
      }
      const length = TypedArrayByteLength(array);
      if (length > QUOTA_BYTES) {
        const message = "getRandomValues fills at most " + QUOTA_BYTES + " bytes at a time, not " + length + ".";
        throw new DOMExceptionClass(message, "QuotaExceededError");
      }
      const bytes = new Uint8ArrayConstructor(TypedArrayBuffer(array), TypedArrayByteOffset(array), length);
      for (let i = 0; i < length; i++) bytes[i] = randomByte();
      return array;
    }

    randomUUID() {
      return randomUUID();
    }
  }

  class SubtleCrypto {
    constructor(token = undefined) {
      if (token !== pool) throw new TypeErrorConstructor("SubtleCrypto has no constructor: use crypto.subtle.");
    }

    async digest(algorithm, data) {
      const isObject = (typeof algorithm === "object" && algorithm !== null) || typeof algorithm === "function";
      const name = isObject ? algorithm.name : algorithm;
      if (name === undefined) throw new TypeErrorConstructor("A digest needs the name of an algorithm.");
      const digest = digestNamed(`${name}`);
      if (digest === undefined) throw new DOMExceptionClass("Unrecognized algorithm name", "NotSupportedError");
      return TypedArrayBuffer(digest(sourceBytes(data)));
    }
  }

  const subtle = new SubtleCrypto(pool);
  defineInterface(Crypto);
  defineInterface(SubtleCrypto);
  defineGlobal("crypto", new Crypto(pool));
})();
