// A value as text, close to Node's util.inspect for common values. It runs no getter, no proxy trap and no method of
// the value (but for what an Error says of itself), and never throws: what it cannot read it names.

const LINE_WIDTH = 72;
const MAX_DEPTH = 2;
const MAX_ITEMS = 100;
const MAX_TEXT = 10_000;

// Proxies cannot be told from their targets afterwards, so the runtime keeps note of the program's.
const knownProxies = new WeakSet();
function noted(proxy) {
  WeakSetAdd(knownProxies, proxy);
  return proxy;
}
const makeRevocable = ProxyConstructor.revocable;
ProxyConstructor.revocable = (target, handler) => {
  const pair = makeRevocable(target, handler);
  noted(pair.proxy);
  return pair;
};
globalThis.Proxy = new ProxyConstructor(ProxyConstructor, {
  __proto__: null,
  construct: (target, args, newTarget) => noted(ReflectConstruct(target, args, newTarget)),
});

function isIdentifier(key) {
  for (let i = 0; i < key.length; i++) {
    const unit = StringCharCodeAt(key, i);
    const letter = (unit | 32) >= 97 && (unit | 32) <= 122;
    if (!(letter || unit === 95 || unit === 36 || (i > 0 && unit >= 48 && unit <= 57))) return false;
  }
  return key.length > 0;
}

function quoteText(text) {
  const json = quote(text.length > MAX_TEXT ? StringSlice(text, 0, MAX_TEXT) : text);
  const inner = StringReplaceAll(StringSlice(json, 1, -1), '\\"', '"');
  const more = text.length > MAX_TEXT ? "... " + (text.length - MAX_TEXT) + " more characters" : "";
  if (StringIndexOf(text, "'") === -1) return "'" + inner + "'" + more;
  if (StringIndexOf(text, '"') === -1) return '"' + inner + '"' + more;
  if (StringIndexOf(text, "`") === -1) return "`" + inner + "`" + more;
  return "'" + StringReplaceAll(inner, "'", "\\'") + "'" + more;
}

function inspectKey(key) {
  if (typeof key === "symbol") return "[" + SymbolToString(key) + "]";
  return isIdentifier(key) ? key : quoteText(key);
}

// The own data property `key` of `object`, without running a getter.
function dataProperty(object, key) {
  const descriptor = ReflectGetOwnPropertyDescriptor(object, key);
  return descriptor !== undefined && hasOwn(descriptor, "value") ? descriptor.value : undefined;
}

function constructorName(object) {
  for (let proto = object, steps = 0; proto !== null && steps < 100; proto = ReflectGetPrototypeOf(proto), steps++) {
    if (WeakSetHas(knownProxies, proto)) return "Object";
    const constructor = dataProperty(proto, "constructor");
    if (typeof constructor === "function" && !WeakSetHas(knownProxies, constructor)) {
      const name = dataProperty(constructor, "name");
      if (typeof name === "string" && name !== "") return name;
    }
  }
  return null;
}

function inspectFunction(fn) {
  const name = dataProperty(fn, "name");
  const source = FunctionToString(fn);
  const kind = StringIndexOf(source, "class") === 0 ? "class" : StringIndexOf(source, "async") === 0 ? "AsyncFunction" : "Function";
  if (kind === "class") return "[class " + (typeof name === "string" && name ? name : "(anonymous)") + "]";
  return "[" + kind + (typeof name === "string" && name ? ": " + name : " (anonymous)") + "]";
}

// From the expression itself: its `toString` would ask properties that may be the program's.
function inspectRegExp(regexp) {
  let text = "/" + RegExpSource(regexp) + "/";
  for (let i = 0; i < RegExpFlags.length; i++) if (RegExpFlags[i].isSet(regexp)) text += RegExpFlags[i].letter;
  return text;
}

function inspectPrimitive(value, nested) {
  switch (typeof value) {
    case "string":
      return nested ? quoteText(value) : value;
    case "number":
      return value === 0 && 1 / value < 0 ? "-0" : NumberToString(value);
    case "bigint":
      return BigIntToString(value) + "n";
    case "symbol":
      return SymbolToString(value);
    default:
      return "" + value; // undefined, a boolean or null
  }
}

// One inspection: the objects being rendered (for cycles) and the room that is left.
class Inspection {
  open = { __proto__: null };
  depth = 0;
  circular = undefined;
  items = 0;

  isOpen(value) {
    for (let i = 0; i < this.depth; i++) if (this.open[i] === value) return true;
    return false;
  }

  property(object, key) {
    const descriptor = ReflectGetOwnPropertyDescriptor(object, key);
    if (descriptor === undefined) return "undefined";
    if (hasOwn(descriptor, "value")) return this.value(descriptor.value);
    if (descriptor.get === undefined) return "[Setter]";
    return descriptor.set === undefined ? "[Getter]" : "[Getter/Setter]";
  }

  value(value) {
    if (typeof value === "function") return WeakSetHas(knownProxies, value) ? "[Function (proxy)]" : inspectFunction(value);
    if (typeof value !== "object" || value === null) return inspectPrimitive(value, true);
    if (WeakSetHas(knownProxies, value)) return "[Proxy]";
    if (this.isOpen(value)) {
      this.circular = value;
      return "[Circular *1]";
    }
    if (++this.items > 10_000) return "...";
    if (this.depth > MAX_DEPTH) return "[" + (ArrayIsArray(value) ? "Array" : (constructorName(value) ?? "Object: null prototype")) + "]";
    this.open[this.depth++] = value;
    try {
      const text = this.object(value);
      return this.circular === value ? "<ref *1> " + text : text;
    } finally {
      delete this.open[--this.depth];
    }
  }

  object(value) {
    if (ErrorIsError(value)) return this.error(value);
    if (ArrayIsArray(value)) return this.list(value, value.length, "", (i) => this.slot(value, i));
    if (ArrayBufferIsView(value) && TypedArrayTag(value) !== undefined) {
      const length = TypedArrayLength(value);
      return this.list(value, length, TypedArrayTag(value) + "(" + length + ") ", (i) => inspectPrimitive(value[i], true));
    }
    const proto = ReflectGetPrototypeOf(value);
    const kind = proto === ObjectPrototype || proto === null ? undefined : lineage(value);
    if (kind === MapPrototype) return this.map(value);
    if (kind === SetPrototype) return this.set(value);
    if (kind === PromisePrototype) return "Promise {}";
    if (kind === ArrayBufferPrototype) return "ArrayBuffer { byteLength: " + ArrayBufferByteLength(value) + " }";
    if (proto === DatePrototype) return NumberIsFinite(DateGetTime(value)) ? DateToISOString(value) : "Invalid Date";
    if (proto === RegExpPrototype) return inspectRegExp(value);
    const name = constructorName(value);
    return this.fields(value, name === "Object" ? "" : name === null ? "[Object: null prototype] " : name + " ", undefined);
  }

  slot(array, index) {
    return hasOwn(array, index) ? this.property(array, index) : "<empty>";
  }

  // Entries come as a linked list, last first, because growing an array could reach a setter.
  list(value, length, prefix, itemText) {
    let entries = undefined;
    const shown = MathMin(length, MAX_ITEMS);
    for (let i = 0; i < shown; i++) entries = { text: itemText(i), before: entries };
    if (length > shown) entries = { text: "... " + (length - shown) + " more item" + (length - shown > 1 ? "s" : ""), before: entries };
    return prefix + this.wrap(entries, "[", "]");
  }

  map(value) {
    let entries = undefined;
    MapForEach(value, (item, key) => {
      entries = { text: this.value(key) + " => " + this.value(item), before: entries };
    });
    return "Map(" + MapSize(value) + ") " + this.wrap(entries, "{", "}");
  }

  set(value) {
    let entries = undefined;
    SetForEach(value, (item) => {
      entries = { text: this.value(item), before: entries };
    });
    return "Set(" + SetSize(value) + ") " + this.wrap(entries, "{", "}");
  }

  error(value) {
    const stack = stackOf(value);
    const text = stack !== undefined ? stack : "[" + describeError(value) + "]";
    let own = undefined;
    const keys = ReflectOwnKeys(value);
    for (let i = 0; i < keys.length; i++) {
      if (isEnumerable(value, keys[i])) own = { text: inspectKey(keys[i]) + ": " + this.property(value, keys[i]), before: own };
    }
    return own === undefined ? text : text + " " + this.wrap(own, "{", "}");
  }

  fields(value, prefix) {
    let entries = undefined;
    const keys = ReflectOwnKeys(value);
    for (let i = 0; i < keys.length && i < 1000; i++) {
      const key = keys[i];
      const descriptor = ReflectGetOwnPropertyDescriptor(value, key);
      if (descriptor !== undefined && descriptor.enumerable) {
        entries = { text: inspectKey(key) + ": " + this.property(value, key), before: entries };
      }
    }
    return prefix + this.wrap(entries, "{", "}");
  }

  wrap(entries, open, close) {
    if (entries === undefined) return open + close;
    let inline = "";
    let block = "";
    const indent = "\n" + StringRepeat("  ", this.depth);
    for (let entry = entries; entry !== undefined; entry = entry.before) {
      const comma = entry === entries ? "" : ",";
      inline = entry.text + (comma ? comma + " " : "") + inline;
      block = indent + entry.text + comma + block;
    }
    if (inline.length + this.depth * 2 <= LINE_WIDTH && StringIndexOf(inline, "\n") === -1) return open + " " + inline + " " + close;
    return open + block + "\n" + StringRepeat("  ", this.depth - 1) + close;
  }
}

function inspect(value, nested) {
  if (typeof value !== "object" && typeof value !== "function") return inspectPrimitive(value, nested);
  try {
    return new Inspection().value(value);
  } catch {
    return "[value that cannot be shown]";
  }
}
