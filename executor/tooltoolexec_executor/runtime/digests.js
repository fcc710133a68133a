// SHA-1 and SHA-2 after FIPS 180-4, on 32-bit integers: a 64-bit word is two of them, the high one first.

const { digestNamed } = (() => {
  const BigUint64ArrayConstructor = BigUint64Array;
  const Int32ArrayConstructor = Int32Array;
  const BigIntOf = BigInt;
  const StringToLowerCase = uncurry(String.prototype.toLowerCase);

  // The largest whole number whose `power`th power is not over `number`, by Newton's method from above: all roots taken
  // here are below 8, with 64 bits of fraction.
  function root(number, power) {
    for (let guess = 1n << 67n; ; ) {
      const next = ((power - 1n) * guess + number / guess ** (power - 1n)) / power;
      if (next >= guess) return guess;
      guess = next;
    }
  }

  // SHA-2's constants are the first bits of fractions: of cube roots (rounds), of square roots (initial states). One
  // table of 64-bit words serves all; SHA-256 takes the upper halves. Made when first needed.
  function fractions(from, count, power) {
    const wide = new BigUint64ArrayConstructor(count);
    let found = 0;
    for (let n = 2; found < from + count; n++) {
      let isPrime = true;
      for (let d = 2; d * d <= n; d++) if (n % d === 0) isPrime = false;
      // The assignment keeps the low 64 bits.
      if (isPrime && found++ >= from) wide[found - 1 - from] = root(BigIntOf(n) << (64n * power), power);
    }
    const halves = new Int32ArrayConstructor(TypedArrayBuffer(wide));
    const words = new Int32ArrayConstructor(2 * count);
    for (let i = 0; i < count; i++) {
      words[2 * i] = halves[2 * i + 1];
      words[2 * i + 1] = halves[2 * i];
    }
    return words;
  }

  let rounds;
  const roundConstants = () => (rounds ??= fractions(0, 80, 3n));
  let states;
  const initialStates = () => (states ??= fractions(0, 16, 2n));

  const schedule = new Int32ArrayConstructor(160);

  // The block at `at` as big-endian words, into the schedule.
  function readWords(bytes, at, count) {
    for (let i = 0; i < count; i++, at += 4) {
      schedule[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
  }

  function sha1Block(state, bytes, at) {
    const w = schedule;
    readWords(bytes, at, 16);
    for (let i = 16; i < 80; i++) {
      const x = w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16];
      w[i] = (x << 1) | (x >>> 31);
    }
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (let i = 0; i < 80; i++) {
      let f;
      if (i < 20) f = ((b & c) | (~b & d)) + 0x5a827999;
      else if (i < 40) f = (b ^ c ^ d) + 0x6ed9eba1;
      else if (i < 60) f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
      else f = (b ^ c ^ d) + 0xca62c1d6;
      const next = (((a << 5) | (a >>> 27)) + f + e + w[i]) | 0;
      e = d;
      d = c;
      c = (b << 30) | (b >>> 2);
      b = a;
      a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
  }

  function sha256Block(state, bytes, at) {
    const w = schedule;
    const k = roundConstants();
    readWords(bytes, at, 16);
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15], y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let a = state[0], b = state[1], c = state[2], d = state[3];
    let e = state[4], f = state[5], g = state[6], h = state[7];
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + k[2 * i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }

  const carry = (low) => (low / 0x100000000) | 0;

  function expand512(w) {
    for (let i = 32; i < 160; i += 2) {
      const xh = w[i - 30], xl = w[i - 29], yh = w[i - 4], yl = w[i - 3];
      const s0h = ((xh >>> 1) | (xl << 31)) ^ ((xh >>> 8) | (xl << 24)) ^ (xh >>> 7);
      const s0l = ((xl >>> 1) | (xh << 31)) ^ ((xl >>> 8) | (xh << 24)) ^ ((xl >>> 7) | (xh << 25));
      const s1h = ((yh >>> 19) | (yl << 13)) ^ ((yl >>> 29) | (yh << 3)) ^ (yh >>> 6);
      const s1l = ((yl >>> 19) | (yh << 13)) ^ ((yh >>> 29) | (yl << 3)) ^ ((yl >>> 6) | (yh << 26));
      const low = (w[i - 31] >>> 0) + (s0l >>> 0) + (w[i - 13] >>> 0) + (s1l >>> 0);
      w[i + 1] = low;
      w[i] = w[i - 32] + s0h + w[i - 14] + s1h + carry(low);
    }
  }

  function sha512Block(state, bytes, at) {
    const w = schedule;
    const k = roundConstants();
    readWords(bytes, at, 32);
    expand512(w);
    let ah = state[0], al = state[1], bh = state[2], bl = state[3], ch = state[4], cl = state[5], dh = state[6], dl = state[7];
    let eh = state[8], el = state[9], fh = state[10], fl = state[11], gh = state[12], gl = state[13], hh = state[14], hl = state[15];
    for (let i = 0; i < 160; i += 2) {
      const s1h = ((eh >>> 14) | (el << 18)) ^ ((eh >>> 18) | (el << 14)) ^ ((el >>> 9) | (eh << 23));
      const s1l = ((el >>> 14) | (eh << 18)) ^ ((el >>> 18) | (eh << 14)) ^ ((eh >>> 9) | (el << 23));
      const chl = (el & fl) ^ (~el & gl);
      const t1 = (hl >>> 0) + (s1l >>> 0) + (chl >>> 0) + (k[i + 1] >>> 0) + (w[i + 1] >>> 0);
      const t1h = (hh + s1h + ((eh & fh) ^ (~eh & gh)) + k[i] + w[i] + carry(t1)) | 0;
      const s0h = ((ah >>> 28) | (al << 4)) ^ ((al >>> 2) | (ah << 30)) ^ ((al >>> 7) | (ah << 25));
      const s0l = ((al >>> 28) | (ah << 4)) ^ ((ah >>> 2) | (al << 30)) ^ ((ah >>> 7) | (al << 25));
      const t2 = (s0l >>> 0) + (((al & bl) ^ (al & cl) ^ (bl & cl)) >>> 0);
      const t2h = (s0h + ((ah & bh) ^ (ah & ch) ^ (bh & ch)) + carry(t2)) | 0;
      hh = gh;
      hl = gl;
      gh = fh;
      gl = fl;
      fh = eh;
      fl = el;
      const e = (dl >>> 0) + (t1 >>> 0);
      el = e | 0;
      eh = (dh + t1h + carry(e)) | 0;
      dh = ch;
      dl = cl;
      ch = bh;
      cl = bl;
      bh = ah;
      bl = al;
      const a = (t1 >>> 0) + (t2 >>> 0);
      al = a | 0;
      ah = (t1h + t2h + carry(a)) | 0;
    }
    add64(state, 0, ah, al);
    add64(state, 2, bh, bl);
    add64(state, 4, ch, cl);
    add64(state, 6, dh, dl);
    add64(state, 8, eh, el);
    add64(state, 10, fh, fl);
    add64(state, 12, gh, gl);
    add64(state, 14, hh, hl);
  }

  function add64(state, at, high, low) {
    const sum = (state[at + 1] >>> 0) + (low >>> 0);
    state[at + 1] = sum;
    state[at] += high + carry(sum);
  }

  // The whole blocks, then the rest with its padding: a one, zeros, the length in bits.
  function digest(block, size, state, bytes, outBytes) {
    const length = TypedArrayLength(bytes);
    const whole = length - (length % size);
    for (let at = 0; at < whole; at += size) block(state, bytes, at);
    const lengthBytes = size / 8;
    const left = length - whole;
    const tailLength = left + 1 + lengthBytes > size ? 2 * size : size;
    const tail = new Uint8ArrayConstructor(tailLength);
    for (let i = 0; i < left; i++) tail[i] = bytes[whole + i];
    tail[left] = 0x80;
    for (let i = tailLength - 1, bits = length * 8; bits > 0; i--) {
      tail[i] = bits % 256;
      bits = (bits - (bits % 256)) / 256;
    }
    for (let at = 0; at < tailLength; at += size) block(state, tail, at);
    const out = new Uint8ArrayConstructor(outBytes);
    for (let i = 0; i < outBytes; i++) out[i] = state[i >> 2] >>> (24 - 8 * (i & 3));
    return out;
  }

  function sha1(bytes) {
    const state = new Int32ArrayConstructor(5);
    state[0] = 0x67452301;
    state[1] = 0xefcdab89;
    state[2] = 0x98badcfe;
    state[3] = 0x10325476;
    state[4] = 0xc3d2e1f0;
    return digest(sha1Block, 64, state, bytes, 20);
  }

  function sha256(bytes) {
    const all = initialStates();
    const state = new Int32ArrayConstructor(8);
    for (let i = 0; i < 8; i++) state[i] = all[2 * i];
    return digest(sha256Block, 64, state, bytes, 32);
  }

  // From the word at `first` on: SHA-384 begins with the second eight.
  function sha512(bytes, first, outBytes) {
    const all = initialStates();
    const state = new Int32ArrayConstructor(16);
    for (let i = 0; i < 16; i++) state[i] = all[2 * first + i];
    return digest(sha512Block, 128, state, bytes, outBytes);
  }

  const functions = {
    __proto__: null,
    "sha-1": sha1,
    "sha-256": sha256,
    "sha-384": (bytes) => sha512(bytes, 8, 48),
    "sha-512": (bytes) => sha512(bytes, 0, 64),
  };

  // The digest of this name, which takes bytes and gives bytes; undefined when there is none.
  return { digestNamed: (name) => functions[StringToLowerCase(name)] };
})();
