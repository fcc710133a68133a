// Let every object inherit an accessor under names that the console has for its own settings, and under indices.
const inherited = ["value", "get", "set", "enumerable", "length", "omitted", "depth", "hidden", "columns", "base", "open", "close", "keys", "fill",
  "hasRest", "numbers", "name", "message", "done", "maxItems", "lineWidth", "text", "retained", "showHidden", ...Array(130).keys()];
for (const kind of [Object, Array, Function, String, Map, Number, Error]) {
  for (const key of inherited) {
    if (!Object.hasOwn(kind.prototype, key)) define(kind.prototype, key, { __proto__: null, get: hook("get " + key), set: hook("set " + key) });
  }
}
