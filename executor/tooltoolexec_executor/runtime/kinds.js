// What each kind of value looks like when it is inspected: its name, its brackets, what stands in them besides keys.

const { formOf, prefixOf, showAs, visitEntries, isOverflow } = (() => {
  const MOST_HOLES = 100_000;
  const LONGEST_CHAIN = 100;
  const MapEntries = uncurry(Map.prototype.entries);
  const SetEntries = uncurry(Set.prototype.entries);
  const MapIteratorNext = uncurry(ReflectGetPrototypeOf(new Map().entries()).next);
  const SetIteratorNext = uncurry(ReflectGetPrototypeOf(new Set().entries()).next);
  const WeakMapHas = uncurry(WeakMap.prototype.has);
  const ObjectToString = uncurry(Object.prototype.toString);
  const RangeErrorPrototype = RangeError.prototype;
  const TO_STRING_TAG = Symbol.toStringTag;

  // Visit the entries of a Map or a Set, key and value, until `visit` answers false. Throws for anything else.
  function visitEntries(collection, isMap, visit) {
    const next = isMap ? MapIteratorNext : SetIteratorNext;
    const iterator = isMap ? MapEntries(collection) : SetEntries(collection);
    for (let step = next(iterator); !step.done && visit(step.value[0], step.value[1]) !== false; step = next(iterator));
  }

  // A name with what sets it apart, and a blank. A value without prototype is called by its `kind`.
  function prefixOf(name, tag, kind, size) {
    if (name !== null) return name + size + " " + (tag !== "" && tag !== name ? "[" + tag + "] " : "");
    return "[" + kind + size + ": null prototype] " + (tag !== "" && tag !== kind ? "[" + tag + "] " : "");
  }

  // `base` stands before the brackets, or alone where nothing is to stand in them. `fill` appends the entries that are
  // no properties; `columns` says for arrays how they may stand in columns: `{ hasRest, numbers }`.
  const makeForm = (prefix, open, close, keys, fill, base = "") =>
    ({ __proto__: null, base, open: prefix + open, close, keys, fill, columns: undefined });

  function arrayForm(inspection, value, name, tag) {
    const length = value.length;
    const prefix = name !== "Array" || tag !== "" ? prefixOf(name, tag, "Array", "(" + length + ")") : "";
    const fill = length === 0 ? undefined : (entries) => fillArray(inspection, form, value, length, entries);
    const form = makeForm(prefix, "[", "]", ownKeys(value, inspection.hidden, true), fill);
    return form;
  }

  function fillArray(inspection, form, array, length, entries) {
    const most = inspection.maxItems;
    let index = 0;
    while (index < length && entries.length < most && !inspection.isFull) {
      const start = index;
      while (index < length && !ObjectHasOwn(array, index) && index - start <= MOST_HOLES) index++;
      const holes = index - start;
      if (holes > MOST_HOLES) {
        index = start;
        break; // Counting on would take too long.
      }
      if (holes > 0) append(entries, "<" + holes + " empty item" + (holes > 1 ? "s" : "") + ">");
      else append(entries, inspection.slot(ReflectGetOwnPropertyDescriptor(array, index++)));
    }
    fillRest(entries, length - index);
    form.columns = arrayColumns(entries, most, form.keys, (i) => {
      const item = dataProperty(array, i);
      return typeof item === "number" || typeof item === "bigint";
    });
  }

  function fillRest(entries, left) {
    if (left > 0) append(entries, moreItems(left));
  }

  function arrayColumns(entries, most, keys, isNumber) {
    const count = entries.length + keys.length;
    let numbers = true;
    for (let i = 0; i < count && numbers; i++) numbers = isNumber(i);
    return { __proto__: null, hasRest: count > most, numbers };
  }

  function typedArrayForm(inspection, value, name, tag) {
    const length = TypedArrayLength(value);
    const prefix = prefixOf(name, tag, TypedArrayTag(value), "(" + length + ")");
    const keys = ownKeys(value, inspection.hidden, true);
    if (length === 0) return makeForm(prefix, "[", "]", keys, undefined);
    const form = makeForm(prefix, "[", "]", keys, (entries) => {
      const shown = MathMin(length, inspection.maxItems);
      for (let i = 0; i < shown; i++) append(entries, inspectPrimitive(value[i], true));
      inspection.values += shown;
      fillRest(entries, length - shown);
      form.columns = arrayColumns(entries, inspection.maxItems, keys, (i) => i < length);
    });
    return form;
  }

  function mapForm(inspection, value, name, tag) {
    const size = MapSize(value);
    return makeForm(prefixOf(name, tag, "Map", "(" + size + ")"), "{", "}", ownKeys(value, inspection.hidden, false),
      size === 0 ? undefined : (entries) => {
        visitEntries(value, true, (key, item) => {
          append(entries, inspection.nested(key) + " => " + inspection.nested(item));
          return entries.length < inspection.maxItems;
        });
        fillRest(entries, size - entries.length);
      });
  }

  function setForm(inspection, value, name, tag) {
    const size = SetSize(value);
    return makeForm(prefixOf(name, tag, "Set", "(" + size + ")"), "{", "}", ownKeys(value, inspection.hidden, false),
      size === 0 ? undefined : (entries) => {
        visitEntries(value, false, (item) => {
          append(entries, inspection.nested(item));
          return entries.length < inspection.maxItems;
        });
        fillRest(entries, size - entries.length);
      });
  }

  function bufferForm(inspection, value, name, tag) {
    const size = ArrayBufferByteLength(value);
    const fill = (entries) => {
      const bytes = new Uint8ArrayConstructor(value, 0, MathMin(size, inspection.maxItems));
      let text = "";
      for (let i = 0; i < TypedArrayLength(bytes); i++) {
        text += (i === 0 ? "" : " ") + (bytes[i] < 16 ? "0" : "") + NumberToString(bytes[i], 16);
      }
      const left = size - TypedArrayLength(bytes);
      if (left > 0) text += " ... " + left + " more byte" + (left > 1 ? "s" : "");
      append(entries, "[Uint8Contents]: <" + text + ">");
      append(entries, "byteLength: " + size);
    };
    return makeForm(prefixOf(name, tag, "ArrayBuffer", ""), "{", "}", ownKeys(value, inspection.hidden, false), fill);
  }

  function dataViewForm(inspection, value, name, tag) {
    const size = DataViewByteLength(value);
    const keys = ownKeys(value, inspection.hidden, false);
    return makeForm(prefixOf(name, tag, "DataView", ""), "{", "}", keys, (entries) => {
      append(entries, "byteLength: " + size);
      append(entries, "byteOffset: " + DataViewByteOffset(value));
      append(entries, "buffer: " + inspection.nested(DataViewBuffer(value)));
    });
  }

  // A kind that shows a fixed text for what cannot be read of it.
  const closedForm = (kind, text, probe) => (inspection, value, name, tag) => {
    probe(value);
    const keys = ownKeys(value, inspection.hidden, false);
    return makeForm(prefixOf(name, tag, kind, ""), "{", "}", keys, (entries) => append(entries, text));
  };

  // A kind that is one text, such as a date.
  const textForm = (kind, textOf) => (inspection, value, name, tag) => {
    const prefix = prefixOf(name, tag, kind, "");
    const text = (prefix === kind + " " ? "" : prefix) + textOf(value);
    return makeForm("", "{", "}", ownKeys(value, inspection.hidden, false), undefined, text);
  };

  const boxedForm = (kind, valueOf) => (inspection, value, name, tag) => {
    const primitive = valueOf(value);
    const called = name === kind ? kind : name === null ? kind + " (null prototype)" : kind + " (" + name + ")";
    const tagged = tag !== "" && tag !== name ? " [" + tag + "]" : "";
    const base = "[" + called + ": " + inspectPrimitive(primitive, true) + "]" + tagged;
    return makeForm("", "{", "}", ownKeys(value, inspection.hidden, kind === "String"), undefined, base);
  };

  // From the expression itself: its `toString` would ask properties that may be the program's.
  function regExpText(regexp) {
    let text = "/" + RegExpSource(regexp) + "/";
    for (let i = 0; i < RegExpFlags.length; i++) if (RegExpFlags[i].isSet(regexp)) text += RegExpFlags[i].letter;
    return text;
  }
  const dateText = (date) => (NumberIsFinite(DateGetTime(date)) ? DateToISOString(date) : "Invalid Date");

  // How instances of built-ins and of the runtime's own classes are shown, by prototype. Each throws for an object that
  // only looks like an instance; that one is shown as any other.
  const boxes = [Number, String, Boolean, BigInt, Symbol];
  const forms = new Map([
    [Map.prototype, mapForm],
    [Set.prototype, setForm],
    [ArrayBuffer.prototype, bufferForm],
    [DataView.prototype, dataViewForm],
    [Promise.prototype, closedForm("Promise", "<state unknown>", () => {})],
    [WeakMap.prototype, closedForm("WeakMap", "<items unknown>", (value) => WeakMapHas(value, value))],
    [WeakSet.prototype, closedForm("WeakSet", "<items unknown>", (value) => WeakSetHas(value, value))],
    [Date.prototype, textForm("Date", dateText)],
    [RegExp.prototype, textForm("RegExp", regExpText)],
    ...boxes.map(({ name, prototype }) => [prototype, boxedForm(name, uncurry(prototype.valueOf))]),
  ]);

  // Show instances with `prototype` by what `read(instance)` gives: an object without prototype, whose properties are
  // shown, or an array of pairs. `read` runs no program's code, and throws for what is no instance.
  function showAs(prototype, read) {
    MapSet(forms, prototype, (inspection, value, name, tag) => {
      const content = read(value);
      const isPairs = ArrayIsArray(content);
      const keys = isPairs ? undefined : ReflectOwnKeys(content);
      const count = isPairs ? content.length : keys.length;
      const fill = (entries) => {
        for (let i = 0; i < count && i < inspection.maxItems; i++) {
          if (isPairs) append(entries, inspection.nested(content[i][0]) + " => " + inspection.nested(content[i][1]));
          else append(entries, inspection.property(content, keys[i]));
        }
        fillRest(entries, count - inspection.maxItems);
      };
      const own = ownKeys(value, inspection.hidden, false);
      return makeForm(prefixOf(name, "", "Object", ""), "{", "}", own, count === 0 ? undefined : fill);
    });
  }

  function instanceForm(inspection, value, name, tag) {
    let proto = ReflectGetPrototypeOf(value);
    for (let steps = 0; proto !== null && proto !== ObjectPrototype && steps < LONGEST_CHAIN; steps++) {
      if (WeakSetHas(knownProxies, proto)) return undefined;
      const form = MapGet(forms, proto);
      if (form !== undefined) {
        try {
          return form(inspection, value, name, tag);
        } catch (error) {
          if (isOverflow(error)) throw error;
          return undefined;
        }
      }
      proto = ReflectGetPrototypeOf(proto);
    }
    return undefined;
  }

  // Whether the stack had no room: that says nothing of a value.
  const isOverflow = (error) => ReflectGetPrototypeOf(error) === RangeErrorPrototype;

  // Asked only where it looks up no tag of the program's.
  const isArguments = (value) =>
    ReflectGetPrototypeOf(value) === ObjectPrototype && !ObjectHasOwn(value, TO_STRING_TAG) &&
    !ObjectHasOwn(ObjectPrototype, TO_STRING_TAG) && ObjectToString(value) === "[object Arguments]";

  function formOf(inspection, value, name, tag) {
    if (typeof value === "function") {
      const base = functionBase(value, name, tag);
      return makeForm("", "{", "}", ownKeys(value, inspection.hidden, false), undefined, base);
    }
    if (ErrorIsError(value)) {
      const keys = ownKeys(value, inspection.hidden, false);
      const base = errorBase(value, name, tag, keys, inspection);
      return makeForm("", "{", "}", keys, undefined, base);
    }
    if (ArrayIsArray(value)) return arrayForm(inspection, value, name, tag);
    const isTypedArray = ArrayBufferIsView(value) && TypedArrayTag(value) !== undefined;
    if (isTypedArray) return typedArrayForm(inspection, value, name, tag);
    const form = instanceForm(inspection, value, name, tag);
    if (form !== undefined) return form;
    let prefix = name === "Object" && tag === "" ? "" : prefixOf(name, tag, "Object", "");
    if (name === "Object" && isArguments(value)) prefix = "[Arguments] ";
    return makeForm(prefix, "{", "}", ownKeys(value, inspection.hidden, false), undefined);
  }

  return { formOf, prefixOf, showAs, visitEntries, isOverflow };
})();
