// application/x-www-form-urlencoded and URLSearchParams, as the URL standard has them.

const { searchParamsFor, refillSearchParams } = (() => {
  const StringCharAt = uncurry(String.prototype.charAt);
  const StringToWellFormed = uncurry(String.prototype.toWellFormed);
  const SymbolIterator = Symbol.iterator;
  const ArraySort = uncurry(Array.prototype.sort);

  // A list of { name, value }: keyed, with its size, because growing an array could reach a setter.
  const makeList = () => ({ __proto__: null, size: 0 });
  const push = (list, name, value) => {
    list[list.size++] = { __proto__: null, name, value };
  };

  function parseForm(text) {
    const list = makeList();
    let end;
    for (let start = 0; start < text.length; start = end + 1) {
      end = StringIndexOf(text, "&", start);
      if (end === -1) end = text.length;
      if (end === start) continue;
      const piece = StringReplaceAll(StringSlice(text, start, end), "+", " ");
      const at = StringIndexOf(piece, "=");
      const name = at === -1 ? piece : StringSlice(piece, 0, at);
      push(list, percentDecode(name), at === -1 ? "" : percentDecode(StringSlice(piece, at + 1)));
    }
    return list;
  }

  function serialiseForm(list) {
    let text = "";
    for (let i = 0; i < list.size; i++) {
      const { name, value } = list[i];
      text += (i === 0 ? "" : "&") + percentEncode(name, PERCENT.FORM) + "=" + percentEncode(value, PERCENT.FORM);
    }
    return text;
  }

  const wellFormed = (value) => StringToWellFormed(`${value}`);

  const needArguments = (given, needed) => {
    if (given < needed) throw new TypeErrorConstructor(`${needed} arguments are needed, ${given} are given.`);
  };

  // The pairs of an iterable of pairs; iterating is the program's here, as the standard has it.
  function listOfSequence(sequence) {
    const list = makeList();
    for (const pair of sequence) {
      if ((typeof pair !== "object" && typeof pair !== "function") || pair === null || pair[SymbolIterator] == null) {
        throw new TypeErrorConstructor("Each pair for URLSearchParams must be iterable, as [name, value].");
      }
      const items = { __proto__: null, 0: "", 1: "" };
      let size = 0;
      for (const item of pair) {
        if (size < 2) items[size] = wellFormed(item);
        size++;
      }
      if (size !== 2) throw new TypeErrorConstructor("Each pair for URLSearchParams must be a name and a value.");
      push(list, items[0], items[1]);
    }
    return list;
  }

  function listOfRecord(record) {
    const list = makeList();
    const keys = ReflectOwnKeys(record);
    for (let i = 0; i < keys.length; i++) {
      if (!isEnumerable(record, keys[i])) continue;
      const name = wellFormed(keys[i]);
      const value = wellFormed(record[keys[i]]);
      // Two keys that differ only in halves of surrogate pairs are one name.
      let same = StringIndexOf(name, "\ufffd") === -1 ? list.size : 0;
      while (same < list.size && list[same].name !== name) same++;
      if (same < list.size) list[same].value = value;
      else push(list, name, value);
    }
    return list;
  }

  function listOf(init) {
    if ((typeof init === "object" && init !== null) || typeof init === "function") {
      return init[SymbolIterator] == null ? listOfRecord(init) : listOfSequence(init);
    }
    const text = `${init}`;
    return parseForm(StringCharAt(text, 0) === "?" ? StringSlice(text, 1) : text);
  }

  let entryOf;
  let searchParamsFor;
  let refillSearchParams;

  class URLSearchParams {
    #list;
    // A URL's: called with the new text after each change.
    #changed;

    static {
      entryOf = (params, index) => params.#list[index];
      searchParamsFor = (query, changed) => {
        const params = new URLSearchParams(undefined);
        params.#list = parseForm(query);
        params.#changed = changed;
        return params;
      };
      refillSearchParams = (params, query) => {
        params.#list = parseForm(query);
      };
    }

    constructor(init = "") {
      this.#list = listOf(init);
    }

    #report() {
      if (this.#changed !== undefined) this.#changed(serialiseForm(this.#list));
    }

    // The pairs for which `keeps` answers true become the list.
    #filter(keeps) {
      const old = this.#list;
      const list = makeList();
      for (let i = 0; i < old.size; i++) if (keeps(old[i])) push(list, old[i].name, old[i].value);
      this.#list = list;
    }

    #indexOf(name, value) {
      const list = this.#list;
      for (let i = 0; i < list.size; i++) {
        if (list[i].name === name && (value === undefined || list[i].value === value)) return i;
      }
      return -1;
    }

    get size() {
      return this.#list.size;
    }

    append(name, value) {
      this.#list;
      needArguments(arguments.length, 2);
      push(this.#list, wellFormed(name), wellFormed(value));
      this.#report();
    }

    delete(name, value = undefined) {
      this.#list;
      needArguments(arguments.length, 1);
      const key = wellFormed(name);
      const only = value === undefined ? undefined : wellFormed(value);
      this.#filter((pair) => pair.name !== key || (only !== undefined && pair.value !== only));
      this.#report();
    }

    get(name) {
      this.#list;
      needArguments(arguments.length, 1);
      const at = this.#indexOf(wellFormed(name));
      return at === -1 ? null : this.#list[at].value;
    }

    getAll(name) {
      this.#list;
      needArguments(arguments.length, 1);
      const key = wellFormed(name);
      const values = [];
      for (let i = 0; i < this.#list.size; i++) {
        if (this.#list[i].name === key) ownValue(values, values.length, this.#list[i].value);
      }
      return values;
    }

    has(name, value = undefined) {
      this.#list;
      needArguments(arguments.length, 1);
      const key = wellFormed(name);
      return this.#indexOf(key, value === undefined ? undefined : wellFormed(value)) !== -1;
    }

    set(name, value) {
      this.#list;
      needArguments(arguments.length, 2);
      const key = wellFormed(name);
      const text = wellFormed(value);
      const at = this.#indexOf(key);
      if (at === -1) {
        push(this.#list, key, text);
      } else {
        const first = this.#list[at];
        first.value = text;
        this.#filter((pair) => pair === first || pair.name !== key);
      }
      this.#report();
    }

    sort() {
      const list = this.#list;
      const pairs = [];
      for (let i = 0; i < list.size; i++) ownValue(pairs, i, list[i]);
      ArraySort(pairs, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
      for (let i = 0; i < list.size; i++) list[i] = pairs[i];
      this.#report();
    }

    toString() {
      return serialiseForm(this.#list);
    }
  }

  defineIterable(URLSearchParams, entryOf);
  defineInterface(URLSearchParams);
  return { searchParamsFor, refillSearchParams };
})();
