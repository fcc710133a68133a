// The class URL; its parser is in urlparse.js, its parts are in urlparts.js.

(() => {
  const StringToWellFormed = uncurry(String.prototype.toWellFormed);
  const SHOWN = 100;

  const usvString = (value) => StringToWellFormed(`${value}`);

  // The record of a text and perhaps a base; null if it is no URL.
  function parsed(text, base) {
    const baseRecord = base === undefined ? null : parseUrl(base, null);
    return base !== undefined && baseRecord === null ? null : parseUrl(text, baseRecord);
  }

  function refusal(text, base) {
    const shown = (value) => quote(value.length > SHOWN ? StringSlice(value, 0, SHOWN) + "…" : value);
    const needed = "; a URL without a base begins with its scheme, as https://.";
    const hint = base === undefined ? needed : ` with the base ${shown(base)}.`;
    return new TypeErrorConstructor(`Invalid URL: ${shown(text)}${hint}`);
  }

  // Web IDL's arguments `(USVString url, optional USVString base)`.
  function textsOf(count, name, url, base) {
    if (count === 0) throw new TypeErrorConstructor(`${name} needs the text of a URL.`);
    const text = usvString(url);
    return { __proto__: null, text, base: base === undefined ? undefined : usvString(base) };
  }

  class URL {
    #record;
    #params;

    constructor(url, base = undefined) {
      const given = textsOf(arguments.length, "URL", url, base);
      this.#record = parsed(given.text, given.base);
      if (this.#record === null) throw refusal(given.text, given.base);
    }

    static parse(url, base = undefined) {
      const given = textsOf(arguments.length, "URL.parse", url, base);
      const record = parsed(given.text, given.base);
      if (record === null) return null;
      const made = new URL("about:blank");
      made.#record = record;
      return made;
    }

    static canParse(url, base = undefined) {
      const given = textsOf(arguments.length, "URL.canParse", url, base);
      return parsed(given.text, given.base) !== null;
    }

    get href() {
      return urlText(this.#record);
    }

    set href(value) {
      this.#record;
      const text = usvString(value);
      const record = parseUrl(text, null);
      if (record === null) throw refusal(text, undefined);
      this.#record = record;
      this.#refill();
    }

    get origin() {
      return urlOrigin(this.#record);
    }

    get searchParams() {
      const record = this.#record;
      this.#params ??= searchParamsFor(record.query ?? "", (query) => {
        this.#record.query = query === "" ? null : query;
      });
      return this.#params;
    }

    // The parameters follow a change of the query.
    #refill() {
      if (this.#params !== undefined) refillSearchParams(this.#params, this.#record.query ?? "");
    }

    toString() {
      return urlText(this.#record);
    }

    toJSON() {
      return urlText(this.#record);
    }

    static {
      for (const name of ReflectOwnKeys(URL_PARTS)) {
        const { read, write } = URL_PARTS[name];
        const accessors = {
          get [name]() {
            return read(this.#record);
          },
          set [name](value) {
            const record = this.#record;
            write(record, usvString(value));
            if (name === "search") this.#refill();
          },
        };
        const { get, set } = ReflectGetOwnPropertyDescriptor(accessors, name);
        ReflectDefineProperty(URL.prototype, name, { __proto__: null, get, set, configurable: true });
      }
    }
  }

  defineInterface(URL);
})();
