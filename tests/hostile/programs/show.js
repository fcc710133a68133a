// `show()` has the console show values of every kind by its every method. It follows prepare.js.
const shown = [[1, , "a", -0], { a: { b: { c: {} } }, [Symbol("s")]: 1n }, new Map([[1, new Set([2])]]), /x/gi, new Date(0), new Error("e", { cause: 1 }),
  new Uint8Array(9), new ArrayBuffer(2), new DataView(new ArrayBuffer(1)), class A extends Array {}, async () => 1, function* g() {}, new Number(1),
  new String("s"), Object(Symbol("s")), new WeakSet(), Promise.resolve(), Object.create(null), Array.from({ length: 120 }, (_, i) => i), "it's\n" + "x".repeat(100),
  ["it's a long line\nof several lines, which is written as a sum".repeat(2)], new Proxy({ a: 1 }, {}), new URLSearchParams("b=c"), new Headers({ a: "1" }),
  new AbortController(), (function () { return arguments })(1), { get a() { return 1 }, set b(v) {} }, [[[[[]]]]],
  new AggregateError([new Error("inner")], "outer"), Object.assign(() => 1, { x: 1 })];
shown[1].self = shown[1];
const show = () => {
  for (let i = 0; i < shown.length; i++) {
    con.log(shown[i]);
    con.log("%s %d %i %f %j %O %o", shown[i], shown[i], shown[i], shown[i], shown[i], shown[i], shown[i]);
    con.dir(shown[i], { __proto__: null, depth: 0 });
    con.table(shown[i]);
    con.trace(shown[i]);
  }
  con.groupCollapsed("g");
  con.table([{ a: 1 }, 2]);
  con.table([{ a: 1, b: 2 }], ["b"]);
  con.count(); con.countReset("none"); con.timeEnd("none"); con.assert(false, "%s", 1); con.assert(); con.log(); con.dir(); con.table(); con.trace(); con.group(); con.groupEnd(); con.info("%%");
  con.groupEnd();
};
