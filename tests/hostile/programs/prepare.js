// Whatever a tampering program itself needs once it has tampered is made or captured here, before.
const define = Reflect.defineProperty;
const later = setTimeout;
const often = setInterval;
const stop = clearInterval;
const soon = queueMicrotask;
const P = Promise;
const tool = store.f;
const raw = __dispatch;
const con = { __proto__: null, ...console };

const failure = new RangeError("end");
const bad = Object.create(null);
bad.self = bad;
const bytes = new Uint8Array([1, 2, 3]);
const argument = { a: [1, { b: bytes }], m: new Map([[1, 2]]), s: new Set(["x"]), e: new Error("e") };
const values = { list: [1, [2, { three: 3 }]], set: new Set([4]), map: new Map([["five", 5]]), bytes };
const logged = { deep: [1, { two: new Set([2]) }], re: /x/gi, map: new Map([[{ k: 1 }, "v"]]), big: 1n, bytes };
const holes = [1, , 3];
const date = new Date(0);
const buffer = new ArrayBuffer(4);
const proxy = new Proxy({}, {});

const heard = { __proto__: null, count: 0 };
const hook = (what) => function () {
  heard[heard.count++] = what;
  throw "a hook was asked";
};
