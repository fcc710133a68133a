// Headers, after the Fetch standard. A list keeps what was given in order; what a program reads is sorted and combined.

const { isToken, isObject, HeaderList, fillHeaders, headersAround } = (() => {
  const StringToLowerCase = uncurry(String.prototype.toLowerCase);
  const SymbolIterator = Symbol.iterator;

  const MARKS = "!#$%&'*+-.^_`|~";
  function isToken(text) {
    for (let i = 0; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      const isAlphanumeric = (unit >= 48 && unit <= 57) || ((unit | 32) >= 97 && (unit | 32) <= 122);
      if (!isAlphanumeric && (unit > 126 || StringIndexOf(MARKS, text[i]) === -1)) return false;
    }
    return text !== "";
  }

  function nameOf(value) {
    const name = `${value}`;
    if (!isToken(name)) throw new TypeErrorConstructor("Headers: " + quote(name) + " is no header name.");
    return StringToLowerCase(name);
  }

  function isValue(text) {
    for (let i = 0; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      if (unit === 0 || unit === 10 || unit === 13 || unit > 255) return false;
    }
    return true;
  }

  const isBlank = (unit) => unit === 32 || unit === 9 || unit === 10 || unit === 13;

  function valueOf(given) {
    const text = `${given}`;
    let start = 0;
    let end = text.length;
    while (start < end && isBlank(StringCharCodeAt(text, start))) start++;
    while (start < end && isBlank(StringCharCodeAt(text, end - 1))) end--;
    const value = StringSlice(text, start, end);
    if (!isValue(value)) throw new TypeErrorConstructor("Headers: a value has a character that no header may have.");
    return value;
  }

  // The fields in the order of their arrival: numbered keys of an object without a prototype.
  class HeaderList {
    size = 0;
    fields = { __proto__: null };
    isSealed = false;
    #sorted;

    append(name, value) {
      this.#sorted = undefined;
      this.fields[this.size++] = { __proto__: null, name, value };
    }

    // What stands for the name together; null without it.
    get(name) {
      let text = null;
      for (let i = 0; i < this.size; i++) {
        const field = this.fields[i];
        if (field.name === name) text = text === null ? field.value : text + ", " + field.value;
      }
      return text;
    }

    // Put `value` at the place of the first field of that name, and drop the others; undefined drops them all.
    replace(name, value) {
      this.#sorted = undefined;
      let kept = 0;
      for (let i = 0; i < this.size; i++) {
        const field = this.fields[i];
        if (field.name === name) {
          if (value === undefined) continue;
          field.value = value;
          value = undefined;
        }
        this.fields[kept++] = field;
      }
      while (this.size > kept) delete this.fields[--this.size];
      if (value !== undefined) this.append(name, value);
    }

    take(other) {
      for (let i = 0; i < other.size; i++) this.append(other.fields[i].name, other.fields[i].value);
      return this;
    }

    // Add it where the name is not there yet; null is nothing.
    suggest(name, value) {
      if (value !== null && this.get(name) === null) this.append(name, value);
    }

    // Add a field that the host sent; false when it is none.
    takePair(pair) {
      if (!ArrayIsArray(pair) || pair.length !== 2) return false;
      const name = pair[0];
      const value = pair[1];
      if (typeof name !== "string" || typeof value !== "string" || !isToken(name) || !isValue(value)) return false;
      this.append(StringToLowerCase(name), value);
      return true;
    }

    // Sorted by name and combined, but for set-cookie, whose fields stay apart.
    sorted() {
      if (this.#sorted !== undefined) return this.#sorted;
      const list = (this.#sorted = new HeaderList());
      const seen = new MapConstructor();
      for (let i = 0; i < this.size; i++) {
        const { name, value } = this.fields[i];
        const before = name === "set-cookie" ? undefined : MapGet(seen, name);
        if (before !== undefined) {
          before.value += ", " + value;
          continue;
        }
        let at = list.size++;
        for (; at > 0 && list.fields[at - 1].name > name; at--) list.fields[at] = list.fields[at - 1];
        list.fields[at] = { __proto__: null, name, value };
        MapSet(seen, name, list.fields[at]);
      }
      return list;
    }
  }

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  function appendPair(list, pair) {
    let size = 0;
    let name;
    let value;
    if (isObject(pair)) {
      for (const part of pair) {
        if (++size === 1) name = part;
        else value = part;
        if (size > 2) break;
      }
    }
    if (size !== 2) throw new TypeErrorConstructor("Headers: each item must be a pair of a name and a value.");
    list.append(nameOf(name), valueOf(value));
  }

  // The standard asks the program's own iterators and keys here, and so does this.
  function fill(list, init) {
    if (init === undefined) return;
    if (!isObject(init)) throw new TypeErrorConstructor("Headers are made of an object, of pairs or of other Headers.");
    if (isHeaders(init)) {
      list.take(listOf(init));
    } else if (init[SymbolIterator] !== undefined && init[SymbolIterator] !== null) {
      for (const pair of init) appendPair(list, pair);
    } else {
      const keys = ReflectOwnKeys(init);
      for (let i = 0; i < keys.length; i++) {
        const descriptor = ReflectGetOwnPropertyDescriptor(init, keys[i]);
        if (descriptor?.enumerable) list.append(nameOf(keys[i]), valueOf(init[keys[i]]));
      }
    }
  }

  let isHeaders;
  let listOf;
  let around;

  class Headers {
    #list = new HeaderList();

    constructor(init = undefined) {
      fill(this.#list, init);
    }

    static {
      isHeaders = (value) => #list in value;
      listOf = (headers) => headers.#list;
      around = (list) => {
        const headers = new Headers();
        headers.#list = list;
        return headers;
      };
    }

    #changeable() {
      const list = this.#list;
      if (list.isSealed) {
        throw new TypeErrorConstructor("These headers cannot be changed: copy them with new Headers(headers).");
      }
      return list;
    }

    append(name, value) {
      if (arguments.length < 2) throw new TypeErrorConstructor("Headers.append needs a name and a value.");
      const key = nameOf(name);
      const text = valueOf(value);
      this.#changeable().append(key, text);
    }

    delete(name) {
      const key = nameOf(name);
      this.#changeable().replace(key, undefined);
    }

    get(name) {
      return this.#list.get(nameOf(name));
    }

    getSetCookie() {
      const cookies = [];
      let count = 0;
      for (let i = 0; i < this.#list.size; i++) {
        const field = this.#list.fields[i];
        if (field.name === "set-cookie") ownValue(cookies, count++, field.value);
      }
      return cookies;
    }

    has(name) {
      return this.#list.get(nameOf(name)) !== null;
    }

    set(name, value) {
      if (arguments.length < 2) throw new TypeErrorConstructor("Headers.set needs a name and a value.");
      const key = nameOf(name);
      const text = valueOf(value);
      this.#changeable().replace(key, text);
    }
  }

  defineInterface(Headers);
  defineIterable(Headers, (headers, index) => listOf(headers).sorted().fields[index]);
  return { isToken, isObject, HeaderList, fillHeaders: fill, headersAround: around };
})();
