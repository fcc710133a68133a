// Calls `visit(object, key, descriptor)` for all a program can reach and gives the set of it: properties, accessors,
// prototypes, and what only literals, calls and iterators make.
function walk(visit) {
  const made = [
    globalThis, "", 0, 0n, true, Symbol(), /x/, () => {}, function () {}, class {}, async () => {}, function* () {},
    async function* () {}, (function* () {})(), (async function* () {})(), [].values(), new Map().entries(),
    new Set().values(), ""[Symbol.iterator](), "a".matchAll(/a/g), Promise.resolve(), new Proxy({}, {}), new Date(),
    new Error("x"), new AggregateError([]), new ArrayBuffer(8, { maxByteLength: 16 }), new Uint8Array(1),
    new DataView(new ArrayBuffer(1)), (function () { return arguments; })(), Iterator.from({ next() {} }),
    [].values().map((x) => x), Error.prepareStackTrace, new Intl.Locale("de"),
    new Intl.Segmenter().segment("a b"), new Intl.Segmenter().segment("a b")[Symbol.iterator](),
    setTimeout(() => {}, 0), store, store.f, store.f(), eval, __dispatch, __stringifyForDispatch, __parseForDispatch,
    __retainHandle, __entry, crypto.subtle, performance, new Event("x"), new AbortController().signal, new TextDecoder(),
    new DOMException(), new URLSearchParams("a=1").entries(), new Headers([["a", "1"]]).entries(), new Request("http://a/"),
    new Response("x"), fetch("http://a/").catch(() => {}),
  ];
  for (const name of Object.getOwnPropertyNames(Intl)) {
    try { made.push(new Intl[name]()); } catch {} // Some are no constructors, some want arguments.
  }
  const seen = new Set();
  while (made.length > 0) {
    const object = made.pop();
    if (object === null || object === undefined || seen.has(object)) continue;
    seen.add(object);
    made.push(Object.getPrototypeOf(object));
    if (typeof object !== "object" && typeof object !== "function") continue;
    for (const key of Reflect.ownKeys(object)) {
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      made.push(property.value, property.get, property.set);
      visit(object, key, property);
    }
  }
  return seen;
}
