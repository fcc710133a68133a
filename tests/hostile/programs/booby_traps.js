// `values`: of every kind, each with hooks wherever a careless reader would ask one; `heard` are those that were asked.
const heard = { __proto__: null, count: 0 };
const hook = (what) => function () { heard[heard.count++] = what; throw "a hook was asked"; };
const accessor = (what) => ({ get: hook("get " + what), set: hook("set " + what), enumerable: true, configurable: true });
const traps = (name) => Object.fromEntries(Object.getOwnPropertyNames(Reflect).filter((trap) => typeof Reflect[trap] === "function")
  .map((trap) => [trap, hook(name + " " + trap)]));
const trapped = (target, name) => new Proxy(target, traps(name));
const asked = ["name", "message", "stack", "cause", "errors", "constructor", "prototype", "length", "size", "toString", "valueOf",
  "toJSON", "then", "inspect", "byteLength", "buffer", "source", "flags", "next", "entries", "forEach", Symbol.toStringTag,
  Symbol.toPrimitive, Symbol.iterator, Symbol.hasInstance, Symbol.species, Symbol.for("nodejs.util.inspect.custom")];
const booby = (object, name) => {
  for (const key of asked) {
    const own = Reflect.getOwnPropertyDescriptor(object, key);
    if (own === undefined || own.configurable) Object.defineProperty(object, key, accessor(name + " " + String(key)));
  }
  return object;
};
const derived = (object, name) => Object.setPrototypeOf(object, booby(Object.create(Object.getPrototypeOf(object)), name));
const made = {
  object: () => ({ a: 1 }), array: () => [1, 2], map: () => new Map([[1, { a: 1 }]]), set: () => new Set([[1]]), date: () => new Date(0),
  regexp: () => /x/g, error: () => new Error("e"), aggregate: () => new AggregateError([new Error("e")], "m"), promise: () => Promise.resolve(),
  bytes: () => new Uint8Array(3), buffer: () => new ArrayBuffer(3), view: () => new DataView(new ArrayBuffer(3)), weak: () => new WeakMap(),
  text: () => new String("abc"), number: () => new Number(1), arrow: () => () => 1, plain: () => function f() {}, class: () => class A {},
  generator: () => (function* () {})(), iterator: () => [].values(), arguments: () => (function () { return arguments })(1), null: () => Object.create(null),
  url: () => new URL("http://a/"), params: () => new URLSearchParams("a=1"), headers: () => new Headers({ a: "1" }), exception: () => new DOMException("m"),
};
const values = [];
for (const [name, make] of Object.entries(made)) {
  values.push(booby(make(), name), derived(make(), "derived " + name), trapped(make(), "proxy " + name), Object.create(trapped(make(), "under " + name)));
}
values.push(Object.create(booby({}, "parent")), { items: [booby([1], "inner"), trapped({}, "inner proxy")], key: new Map([[trapped({}, "key"), trapped([], "item")]]) });
values.push(new Error("m", { cause: trapped({}, "cause") }), Object.assign(new Error("m"), { errors: trapped([], "errors") }));
values.push(Object.assign(new Error("m"), { message: { toString: hook("message text") } }), Object.assign(new Error("m"), { name: trapped(() => {}, "name text") }));
values.push(Object.defineProperty(() => 1, "name", { value: { toString: hook("function name") } }), class { static name = { toString: hook("class name") } });
class Asked { constructor() { return booby(Object.create(Asked.prototype), "asked") } }
values.push(new (class extends Asked {})(), { __proto__: { constructor: trapped(class A {}, "constructor") } });
values.push([trapped([], "row"), booby({ a: 1 }, "row"), { a: booby({}, "cell") }], new Map([[booby({}, "map key"), trapped({}, "map item")]]));
const { proxy: revoked, revoke } = Proxy.revocable({}, traps("revoked"));
revoke();
values.push(revoked, [revoked], Object.create(null, { x: accessor("x") }), Object.assign(new Error("m"), { errors: revoked }));
