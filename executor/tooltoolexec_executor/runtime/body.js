// Bodies of requests and responses, after the Fetch standard but without streams: a body is there as a whole, and the
// member `body` is null.

const { makeBody, bodyFrom, cloneBody, useBody, addBodyMembers, dictionary } = (() => {
  const paramsSize = getter(URLSearchParams.prototype, "size");
  const paramsText = uncurry(URLSearchParams.prototype.toString);

  // What `read` gives for `value`, or undefined where `value` is not of its kind.
  function attempt(read, value) {
    try {
      return read(value);
    } catch {
      return undefined;
    }
  }

  const copyOf = (bytes) => new Uint8ArrayConstructor(bytes);

  // A body is made once and read once: `bytes` is null for none, `type` what content-type it would like.
  const makeBody = (bytes, type) => ({ __proto__: null, bytes, type, used: false });

  function bodyFrom(value) {
    if (value === undefined || value === null) return makeBody(null, null);
    if (!isObject(value)) return makeBody(utf8Bytes(`${value}`), "text/plain;charset=UTF-8");
    if (ArrayBufferIsView(value)) {
      const isData = TypedArrayTag(value) === undefined;
      const buffer = isData ? DataViewBuffer(value) : TypedArrayBuffer(value);
      const offset = isData ? DataViewByteOffset(value) : TypedArrayByteOffset(value);
      const length = isData ? DataViewByteLength(value) : TypedArrayByteLength(value);
      return makeBody(copyOf(new Uint8ArrayConstructor(buffer, offset, length)), null);
    }
    if (attempt(ArrayBufferByteLength, value) !== undefined) {
      return makeBody(copyOf(new Uint8ArrayConstructor(value)), null);
    }
    if (attempt(paramsSize, value) !== undefined) {
      return makeBody(utf8Bytes(paramsText(value)), "application/x-www-form-urlencoded;charset=UTF-8");
    }
    // The standard would send "[object Object]".
    throw new TypeErrorConstructor(
      "A body is a text, URLSearchParams, an ArrayBuffer or a view of one: pass an object as JSON.stringify(object).",
    );
  }

  function useBody(body) {
    if (body.used) throw new TypeErrorConstructor("The body was read already: read it once, or clone() before.");
    body.used = body.bytes !== null;
    return body.bytes;
  }

  const readBody = (body) => useBody(body) ?? new Uint8ArrayConstructor(0);

  // Without a byte order mark.
  function textOf(body) {
    const text = utf8Text(readBody(body));
    return text !== "" && StringCharCodeAt(text, 0) === 0xfeff ? StringSlice(text, 1) : text;
  }

  function cloneBody(body) {
    if (body.used) throw new TypeErrorConstructor("The body was read already: clone() before it is read.");
    return makeBody(body.bytes, body.type);
  }

  // The methods of both classes; `bodyOf` throws for an object of another class.
  const bodyMembers = (bodyOf) => ({
    async text() {
      return textOf(bodyOf(this));
    },
    async json() {
      return JSONParse(textOf(bodyOf(this)));
    },
    async bytes() {
      return copyOf(readBody(bodyOf(this)));
    },
    async arrayBuffer() {
      return TypedArrayBuffer(copyOf(readBody(bodyOf(this))));
    },
    async blob() {
      bodyOf(this);
      throw new TypeErrorConstructor("There are no Blobs here: use bytes() or arrayBuffer().");
    },
    async formData() {
      bodyOf(this);
      throw new TypeErrorConstructor("There is no FormData here: for a form use new URLSearchParams(await text()).");
    },
    get body() {
      bodyOf(this);
      return null;
    },
    get bodyUsed() {
      return bodyOf(this).used;
    },
  });

  function addBodyMembers(Class, bodyOf) {
    const members = bodyMembers(bodyOf);
    for (const key of ReflectOwnKeys(members)) {
      ReflectDefineProperty(Class.prototype, key, ReflectGetOwnPropertyDescriptor(members, key));
    }
    defineInterface(Class);
  }

  // A dictionary may be undefined or null; its members are read as the program has them.
  function dictionary(init, what) {
    if (init === undefined || init === null) return { __proto__: null };
    if (!isObject(init)) throw new TypeErrorConstructor("The options of a " + what + " must be an object.");
    return init;
  }

  return { makeBody, bodyFrom, cloneBody, useBody, addBodyMembers, dictionary };
})();
