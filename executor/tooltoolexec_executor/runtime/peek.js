// Reading a value without running any of the program's code: only data properties, found along the chain of
// prototypes. A proxy ends the chain, because asking for its prototype would run the program.

const {
  peek, UNREADABLE, trustGetters, nameBuiltins, builtinName, constructorName, tagOf, itemCount, ownKeys,
} = (() => {
  const LONGEST_CHAIN = 100;
  const MOST_KEYS = 10_000;
  const TO_STRING_TAG = Symbol.toStringTag;
  const UNREADABLE = { __proto__: null };
  const WeakMapGet = uncurry(WeakMap.prototype.get);

  // Getters of the runtime's own classes, which may be asked: from the function to itself, without its `this`.
  const trusted = new WeakMap();
  function trustGetters(prototype, keys) {
    for (const key of keys) {
      const { get } = ReflectGetOwnPropertyDescriptor(prototype, key);
      trusted.set(get, uncurry(get));
    }
  }
  trustGetters(TypedArrayPrototype, [TO_STRING_TAG]);

  function prototypeOf(object) {
    const proto = ReflectGetPrototypeOf(object);
    return proto === null || WeakSetHas(knownProxies, proto) ? null : proto;
  }

  // What `object[key]` gives where that runs no code of the program's, otherwise UNREADABLE.
  function peek(object, key) {
    let holder = object;
    for (let steps = 0; steps < LONGEST_CHAIN; steps++) {
      if (ObjectHasOwn(holder, key)) {
        const descriptor = ReflectGetOwnPropertyDescriptor(holder, key);
        if (ObjectHasOwn(descriptor, "value")) return descriptor.value;
        const get = descriptor.get === undefined ? undefined : WeakMapGet(trusted, descriptor.get);
        return get === undefined ? UNREADABLE : get(object);
      }
      holder = ReflectGetPrototypeOf(holder);
      if (holder === null) return undefined;
      if (WeakSetHas(knownProxies, holder)) return UNREADABLE;
    }
    return UNREADABLE;
  }

  // Whether `prototype` is on the chain above `object`: what `instanceof` asks, without its hook.
  function descendsFrom(object, prototype) {
    let proto = prototypeOf(object);
    for (let steps = 0; proto !== null && steps < LONGEST_CHAIN; steps++) {
      if (proto === prototype) return true;
      proto = prototypeOf(proto);
    }
    return false;
  }

  // The built-ins' names by their prototypes: what a program makes of `constructor` there changes no name.
  const builtins = new Map();
  function nameBuiltins() {
    for (const name of Object.getOwnPropertyNames(globalThis)) {
      if (name === "Temporal") continue; // V8 makes it when it is first looked at, which takes long.
      const { value } = ReflectGetOwnPropertyDescriptor(globalThis, name);
      const prototype = typeof value === "function" ? dataProperty(value, "prototype") : undefined;
      if (prototype !== undefined && dataProperty(prototype, "constructor") === value) builtins.set(prototype, name);
    }
    for (const fn of [async () => {}, function* () {}, async function* () {}]) {
      const prototype = ReflectGetPrototypeOf(fn);
      builtins.set(prototype, prototype[TO_STRING_TAG]);
    }
  }
  const builtinName = (prototype) => MapGet(builtins, prototype);

  function nameFrom(value, holder) {
    for (let steps = 0; holder !== null && steps < LONGEST_CHAIN; steps++) {
      const builtin = holder === value ? undefined : builtinName(holder);
      if (builtin !== undefined) return builtin;
      const constructor = ObjectHasOwn(holder, "constructor") ? dataProperty(holder, "constructor") : undefined;
      if (typeof constructor === "function" && !WeakSetHas(knownProxies, constructor)) {
        const name = dataProperty(constructor, "name");
        if (typeof name === "string" && name !== "" && descendsFrom(value, dataProperty(constructor, "prototype"))) {
          return name;
        }
      }
      holder = prototypeOf(holder);
    }
    return undefined;
  }

  // The name of what made `value`, null where its prototype is null.
  function constructorName(value) {
    const name = nameFrom(value, value);
    if (name !== undefined) return cutText(name);
    const proto = ReflectGetPrototypeOf(value);
    if (proto === null) return null;
    if (WeakSetHas(knownProxies, proto)) return "Object";
    const isBare = ReflectGetPrototypeOf(proto) === null;
    return "Object <" + (isBare ? "[Object: null prototype] {}" : "Complex prototype") + ">";
  }

  // The tag that is to be shown beside the name, empty for none: not one that is shown as a property.
  function tagOf(value) {
    if (ObjectHasOwn(value, TO_STRING_TAG) && isEnumerable(value, TO_STRING_TAG)) return "";
    const tag = peek(value, TO_STRING_TAG);
    return typeof tag === "string" ? cutText(tag) : "";
  }

  // Whether a text is the key of an array's item.
  function isIndex(key) {
    if (key.length === 0 || key.length > 10 || (key.length > 1 && StringCharCodeAt(key, 0) === 48)) return false;
    for (let i = 0; i < key.length; i++) {
      const digit = StringCharCodeAt(key, i) - 48;
      if (digit < 0 || digit > 9) return false;
    }
    return true;
  }

  // How many items `value` has under the indices from 0, 0 for most values. The length of arrays and of boxed texts is
  // a property that is not enumerable.
  function itemCount(value) {
    if (ArrayBufferIsView(value)) return TypedArrayTag(value) === undefined ? 0 : TypedArrayLength(value);
    if (!ObjectHasOwn(value, "length") || typeof value === "function" || isEnumerable(value, "length")) return 0;
    const length = dataProperty(value, "length");
    return typeof length === "number" ? length : 0;
  }

  // The keys to show, in order, in a list: enumerable ones or, if `hidden`, all; `omitted` counts those past a bound.
  // `skipsItems` leaves out the items' keys. Where items are many no key is read: each index would become a text.
  function ownKeys(value, hidden, skipsItems) {
    const shown = newList();
    shown.omitted = 0;
    if (itemCount(value) > MOST_KEYS) return shown;
    const keys = ReflectOwnKeys(value);
    for (let i = 0; i < keys.length; i++) {
      if (shown.length === MOST_KEYS) {
        shown.omitted = keys.length - i;
        break;
      }
      const key = keys[i];
      if (skipsItems && typeof key === "string" && isIndex(key)) continue;
      if (hidden || ReflectGetOwnPropertyDescriptor(value, key).enumerable) append(shown, key);
    }
    return shown;
  }

  return {
    peek, UNREADABLE, trustGetters, nameBuiltins, builtinName, constructorName, tagOf, itemCount, ownKeys,
  };
})();
