// What Web IDL gives an interface that is an iterable of pairs: its iterators, and forEach.

const { defineIterable } = (() => {
  const ReflectSetPrototypeOf = Reflect.setPrototypeOf;
  const IteratorPrototype = ReflectGetPrototypeOf(ReflectGetPrototypeOf([][Symbol.iterator]()));

  // Give `Class` what Web IDL gives an iterable of pairs. `entryAt(object, index)` is its pair there, undefined behind
  // the last, and throws for an object of another class.
  function defineIterable(Class, entryAt) {
    class PairIterator {
      #object;
      #kind;
      #index = 0;

      constructor(object, kind) {
        this.#object = object;
        this.#kind = kind;
      }

      next() {
        const entry = entryAt(this.#object, this.#index);
        if (entry === undefined) return { value: undefined, done: true };
        this.#index++;
        const { name, value } = entry;
        return { value: this.#kind === "keys" ? name : this.#kind === "values" ? value : [name, value], done: false };
      }
    }
    const prototype = PairIterator.prototype;
    delete prototype.constructor;
    ReflectSetPrototypeOf(prototype, IteratorPrototype);
    ReflectDefineProperty(prototype, "next", { enumerable: true });
    const tag = `${Class.name} Iterator`;
    ReflectDefineProperty(prototype, Symbol.toStringTag, { __proto__: null, value: tag, configurable: true });

    const iterate = (object, kind) => {
      entryAt(object, 0);
      return new PairIterator(object, kind);
    };
    const methods = {
      entries() {
        return iterate(this, "entries");
      },
      forEach(callback, thisArg = undefined) {
        entryAt(this, 0);
        if (typeof callback !== "function") throw new TypeErrorConstructor("forEach needs a function.");
        let entry;
        for (let i = 0; (entry = entryAt(this, i)) !== undefined; i++) {
          ReflectApply(callback, thisArg, [entry.value, entry.name, this]);
        }
      },
      keys() {
        return iterate(this, "keys");
      },
      values() {
        return iterate(this, "values");
      },
    };
    const define = (key, value, enumerable) => {
      const property = { __proto__: null, value, writable: true, enumerable, configurable: true };
      ReflectDefineProperty(Class.prototype, key, property);
    };
    for (const key of ReflectOwnKeys(methods)) define(key, methods[key], true);
    define(Symbol.iterator, methods.entries, false);
  }

  return { defineIterable };
})();
