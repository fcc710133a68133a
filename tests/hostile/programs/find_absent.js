// Which of the names in `wanted` belong to anything that can be reached.
const names = new Set();
for (const object of walk(() => {})) {
  if (typeof object !== "object" && typeof object !== "function") continue;
  for (const key of ["name", Symbol.toStringTag]) {
    const name = Object.getOwnPropertyDescriptor(object, key)?.value;
    if (typeof name === "string") for (const part of name.split(".")) names.add(part);
  }
}
return wanted.filter((name) => names.has(name));
