// structuredClone, after the HTML standard. What it takes for a Map, a Date and so on it finds by the chain of
// prototypes, and believes only what then has the inside of one. A transferred buffer is copied, then detached.

(() => {
  const ArrayBufferConstructor = ArrayBuffer;
  const ArrayBufferDetached = getter(ArrayBuffer.prototype, "detached");
  const ArrayBufferTransfer = uncurry(ArrayBuffer.prototype.transfer);
  const TypedArraySet = uncurry(TypedArrayPrototype.set);
  const DataViewConstructor = DataView;
  const DateConstructor = Date;
  const RegExpConstructor = RegExp;
  const SetConstructor = Set;
  const TypeErrorPrototype = TypeError.prototype;
  const SetAdd = uncurry(Set.prototype.add);
  const ObjectConstructor = Object;

  const viewConstructors = { __proto__: null };
  for (const View of [
    Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  ]) viewConstructors[View.name] = View;

  const errorConstructors = { __proto__: null };
  for (const Class of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
    errorConstructors[Class.name] = Class;
  }

  const refuse = (what) => {
    throw new DOMExceptionClass(what + " could not be cloned.", "DataCloneError");
  };

  // How to clone what has this prototype in its chain. `check` throws when the value only looks like it; `clone` is
  // given the value and the clones made so far by their originals. What has no `clone` is refused.
  const kinds = new MapConstructor();
  const kind = (Class, check, clone) => MapSet(kinds, Class.prototype, { __proto__: null, name: Class.name, check, clone });
  for (const Class of [Promise, WeakMap, WeakSet, Symbol, Iterator]) kind(Class);
  for (const Class of [Boolean, Number, String, BigInt]) {
    const valueOf = uncurry(Class.prototype.valueOf);
    kind(Class, valueOf, (value) => ObjectConstructor(valueOf(value)));
  }
  kind(Date, DateGetTime, (value) => new DateConstructor(DateGetTime(value)));
  kind(RegExp, RegExpSource, (value) => {
    let flags = "";
    for (let i = 0; i < RegExpFlags.length; i++) if (RegExpFlags[i].isSet(value)) flags += RegExpFlags[i].letter;
    return new RegExpConstructor(RegExpSource(value), flags);
  });
  kind(ArrayBuffer, ArrayBufferByteLength, (value) => {
    if (ArrayBufferDetached(value)) refuse("An ArrayBuffer is detached and");
    const clone = new ArrayBufferConstructor(ArrayBufferByteLength(value));
    TypedArraySet(new Uint8ArrayConstructor(clone), new Uint8ArrayConstructor(value));
    return clone;
  });

  // The members as they are before any getter of a member runs.
  const membersOf = (forEach, value) => {
    const members = { __proto__: null, count: 0 };
    forEach(value, (item, key) => {
      members[members.count++] = { __proto__: null, item, key };
    });
    return members;
  };
  kind(Map, MapSize, (value, seen) => {
    const members = membersOf(MapForEach, value);
    const clone = new MapConstructor();
    MapSet(seen, value, clone);
    for (let i = 0; i < members.count; i++) {
      const key = cloneOf(members[i].key, seen);
      MapSet(clone, key, cloneOf(members[i].item, seen));
    }
    return clone;
  });
  kind(Set, SetSize, (value, seen) => {
    const members = membersOf(SetForEach, value);
    const clone = new SetConstructor();
    MapSet(seen, value, clone);
    for (let i = 0; i < members.count; i++) SetAdd(clone, cloneOf(members[i].item, seen));
    return clone;
  });

  function cloneView(view, seen) {
    const name = TypedArrayTag(view);
    if (name === undefined) {
      const buffer = cloneOf(DataViewBuffer(view), seen);
      return new DataViewConstructor(buffer, DataViewByteOffset(view), DataViewByteLength(view));
    }
    const buffer = cloneOf(TypedArrayBuffer(view), seen);
    return new viewConstructors[name](buffer, TypedArrayByteOffset(view), TypedArrayLength(view));
  }

  function copyStack(error, clone) {
    const { stack } = error;
    if (typeof stack === "string") define(clone, "stack", stack);
    return clone;
  }

  function cloneError(error, seen) {
    const { name } = error;
    const Class = (typeof name === "string" ? errorConstructors[name] : undefined) ?? ErrorConstructor;
    const clone = copyStack(error, new Class());
    MapSet(seen, error, clone);
    const message = ReflectGetOwnPropertyDescriptor(error, "message");
    if (message !== undefined && hasOwn(message, "value")) define(clone, "message", `${message.value}`);
    if (hasOwn(error, "cause")) define(clone, "cause", cloneOf(error.cause, seen));
    return clone;
  }

  const define = (object, key, value) =>
    ReflectDefineProperty(object, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

  function cloneProperties(value, clone, seen) {
    MapSet(seen, value, clone);
    const keys = ReflectOwnKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (typeof key === "string" && isEnumerable(value, key)) ownValue(clone, key, cloneOf(value[key], seen));
    }
    return clone;
  }

  function cloneArray(array, seen) {
    const clone = [];
    ReflectDefineProperty(clone, "length", { __proto__: null, value: array.length });
    return cloneProperties(array, clone, seen);
  }

  // Whether the value has the inside that `check` reads. Where the stack ends, that is not known.
  function passes(check, value) {
    try {
      check(value);
      return true;
    } catch (error) {
      if (ReflectGetPrototypeOf(error) !== TypeErrorPrototype) throw error;
      return false;
    }
  }

  // The kind of an object that is neither array, view nor error; undefined for what is cloned by its properties.
  function kindOf(value) {
    for (let proto = ReflectGetPrototypeOf(value); proto !== null; proto = ReflectGetPrototypeOf(proto)) {
      // Asking a proxy for its prototype would run the program.
      if (proto === ObjectPrototype || WeakSetHas(knownProxies, proto)) return undefined;
      const name = interfaceName(proto);
      if (name !== undefined) return refuse("#<" + name + ">");
      const found = MapGet(kinds, proto);
      if (found === undefined) continue;
      if (found.clone === undefined) return refuse("#<" + found.name + ">");
      return passes(found.check, value) ? found : undefined;
    }
    return undefined;
  }

  function cloneObject(value, seen) {
    if (WeakSetHas(knownProxies, value)) return refuse("#<Object>");
    if (ArrayIsArray(value)) return cloneArray(value, seen);
    if (ArrayBufferIsView(value)) return cloneView(value, seen);
    if (ErrorIsError(value)) {
      const exception = copyDOMException(value);
      return exception === undefined ? cloneError(value, seen) : copyStack(value, exception);
    }
    const found = kindOf(value);
    return found === undefined ? cloneProperties(value, {}, seen) : found.clone(value, seen);
  }

  function cloneOf(value, seen) {
    if (typeof value === "symbol") return refuse(SymbolToString(value));
    if (typeof value === "function") return refuse(FunctionToString(value));
    if (typeof value !== "object" || value === null) return value;
    const before = MapGet(seen, value);
    if (before !== undefined) return before;
    const clone = cloneObject(value, seen);
    MapSet(seen, value, clone);
    return clone;
  }

  // The buffers to detach once all is cloned.
  function transfersOf(options) {
    if (options === undefined || options === null) return [];
    if (typeof options !== "object" && typeof options !== "function") {
      throw new TypeErrorConstructor("The options of structuredClone must be an object.");
    }
    const { transfer } = options;
    const buffers = transfer === undefined ? [] : sequenceOf(transfer);
    const known = new SetConstructor();
    for (let i = 0; i < buffers.length; i++) {
      const buffer = buffers[i];
      if (!passes(ArrayBufferByteLength, buffer)) throw new DOMExceptionClass("Only an ArrayBuffer can be transferred.", "DataCloneError");
      SetAdd(known, buffer);
      if (SetSize(known) !== i + 1) throw new DOMExceptionClass("The transfer list has a buffer twice.", "DataCloneError");
    }
    return buffers;
  }

  defineGlobal("structuredClone", (...args) => {
    if (args.length === 0) throw new TypeErrorConstructor("structuredClone needs a value.");
    const buffers = transfersOf(args.length > 1 ? args[1] : undefined);
    const clone = cloneOf(args[0], new MapConstructor());
    for (let i = 0; i < buffers.length; i++) {
      if (ArrayBufferDetached(buffers[i])) refuse("An ArrayBuffer is detached and");
      ArrayBufferTransfer(buffers[i]);
    }
    return clone;
  });
})();
