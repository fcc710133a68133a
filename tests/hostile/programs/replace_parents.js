// Give every function that can be reached a parent that hears what is asked of it: who constructs a class asks its parent.
const functions = [];
walk((object, key, property) => {
  if (typeof property.value === "function") functions.push(property.value);
});
const traps = { __proto__: null };
for (const name of Object.getOwnPropertyNames(Reflect)) traps[name] = hook("parent's " + name);
const parent = new Proxy(function () {}, traps);
const adopt = Object.setPrototypeOf;
for (let i = 0; i < functions.length; i++) {
  try { adopt(functions[i], parent); } catch {} // Some have theirs for good.
}
