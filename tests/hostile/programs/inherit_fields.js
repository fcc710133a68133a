// Let every object inherit an accessor under each name in `fields`, each index and each well-known symbol.
const symbols = Reflect.ownKeys(Symbol).map((name) => Symbol[name]).filter((value) => typeof value === "symbol");
const keys = [...fields, ...symbols, ...Array(70).keys()];
const kinds = [Object, Array, Function, String, Promise, Map, Number];
for (let k = 0; k < kinds.length; k++) {
  for (let i = 0; i < keys.length; i++) {
    if (Object.hasOwn(kinds[k].prototype, keys[i])) continue;
    const text = " of " + kinds[k].name + ": " + String(keys[i]);
    define(kinds[k].prototype, keys[i], { __proto__: null, get: hook("get" + text), set: hook("set" + text) });
  }
}
