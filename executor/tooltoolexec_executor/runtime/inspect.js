// A value as text, as Node's util.inspect shows it. It runs no code of the program's, takes bounded time and never
// throws: what it may not read it names. kinds.js has what is special about each kind of value.

const { inspect, inspectWith, inspectPrimitive, makeSettings, moreItems } = (() => {
  // How deep to go, whether to show what is not enumerable, how many items of each value, how wide a line may be.
  const makeSettings = (depth, hidden, maxItems = 100, lineWidth = 80) =>
    ({ __proto__: null, depth, hidden, maxItems, lineWidth });
  const SETTINGS = makeSettings(2, false);
  const DEEPEST = 100;
  const MOST_VALUES = 20_000;
  const MOST_TEXT = 256 * 1024;
  const ONE_LINE_LEVELS = 3;

  const moreItems = (count) => "... " + count + " more item" + (count > 1 ? "s" : "");

  function inspectPrimitive(value, quoted, indent = 0, lineWidth = SETTINGS.lineWidth) {
    switch (typeof value) {
      case "string":
        return quoted ? quoteText(value, indent, lineWidth) : value;
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

  // One inspection: how deep it is in what value, and the room that is left.
  class Inspection {
    depth;
    hidden;
    maxItems;
    lineWidth;
    level = 0;
    lastLevel = 0; // Of the object that was begun last.
    indent = 0;
    open = newList();
    references = undefined; // Number by object, of those that contain themselves.
    values = 0;
    text = 0;

    constructor(settings) {
      this.depth = MathMin(settings.depth, DEEPEST);
      this.hidden = settings.hidden;
      this.maxItems = settings.maxItems;
      this.lineWidth = settings.lineWidth;
    }

    // Whether to abbreviate whatever is still to come.
    get isFull() {
      return this.values > MOST_VALUES || this.text > MOST_TEXT;
    }

    value(value) {
      this.values++;
      if (typeof value !== "function" && (typeof value !== "object" || value === null)) {
        const text = inspectPrimitive(value, true, this.indent, this.lineWidth);
        this.text += text.length;
        return text;
      }
      while (WeakSetHas(knownProxies, value)) {
        const target = proxyTarget(value);
        if (target === undefined) return "[Proxy]";
        if (target === null) return "<Revoked Proxy>";
        value = target;
      }
      for (let i = 0; i < this.open.length; i++) if (this.open[i] === value) return this.circular(value);
      return this.object(value);
    }

    circular(value) {
      this.references ??= new MapConstructor();
      let number = MapGet(this.references, value);
      if (number === undefined) {
        number = MapSize(this.references) + 1;
        MapSet(this.references, value, number);
      }
      return "[Circular *" + number + "]";
    }

    object(value) {
      const name = constructorName(value);
      const tag = tagOf(value);
      const form = formOf(this, value, name, tag);
      const { keys } = form;
      if (form.fill === undefined && keys.length === 0) return form.base === "" ? form.open + form.close : form.base;
      if (this.level > this.depth || this.isFull) {
        const called = StringSlice(prefixOf(name, tag, "Object", ""), 0, -1);
        return name === null ? called : "[" + called + "]";
      }
      this.lastLevel = ++this.level;
      append(this.open, value);
      const entries = newList();
      if (form.fill !== undefined) form.fill(entries);
      let i = 0;
      for (; i < keys.length && !this.isFull; i++) append(entries, this.property(value, keys[i]));
      const left = keys.length - i + keys.omitted;
      if (left > 0) append(entries, moreItems(left));
      delete this.open[--this.open.length];
      const number = this.references === undefined ? undefined : MapGet(this.references, value);
      if (number !== undefined) form.base = "<ref *" + number + ">" + (form.base === "" ? "" : " " + form.base);
      const flat = this.lastLevel - this.level < ONE_LINE_LEVELS;
      this.level--;
      // What stands in the entries is counted already.
      this.text += form.base.length + form.open.length + entries.length * (this.indent + 4);
      return layOut(entries, form, flat, this.indent, this.lineWidth);
    }

    // A value that stands two columns further in.
    nested(value) {
      this.indent += 2;
      const text = this.value(value);
      this.indent -= 2;
      return text;
    }

    // What a property holds, its getter not asked.
    slot(descriptor) {
      if (ObjectHasOwn(descriptor, "value")) return this.nested(descriptor.value);
      if (descriptor.get === undefined) return descriptor.set === undefined ? "undefined" : "[Setter]";
      return descriptor.set === undefined ? "[Getter]" : "[Getter/Setter]";
    }

    property(object, key) {
      const descriptor = ReflectGetOwnPropertyDescriptor(object, key);
      const name = keyText(key, descriptor.enumerable);
      this.text += name.length;
      return name + ": " + this.slot(descriptor);
    }
  }

  // `settings` as `makeSettings` gives them.
  function inspectWith(value, settings) {
    try {
      return new Inspection(settings).value(value);
    } catch {
      return "[value that cannot be shown]"; // The stack has no room for it.
    }
  }

  // `quoted` is whether a text stands in quotes.
  function inspect(value, quoted) {
    if (typeof value === "string" && !quoted) return value;
    return inspectWith(value, SETTINGS);
  }

  return { inspect, inspectWith, inspectPrimitive, makeSettings, moreItems };
})();
