// Delete all that can be deleted, but for what `await` asks of a promise and what the console shows: names and stacks.
const places = [];
walk((object, key) => places.push({ __proto__: null, object, key }));
const remove = Reflect.deleteProperty;
const kept = Promise.prototype;
for (let i = 0; i < places.length; i++) {
  const { object, key } = places[i];
  if (object === kept ? key !== "constructor" : key !== "name" && key !== "stackTraceLimit") remove(object, key);
}
