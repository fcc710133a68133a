// What stands for a function and for an error when they are inspected.

const { functionBase, errorBase } = (() => {
  const stackGetter = ReflectGetOwnPropertyDescriptor(new Error(), "stack").get;
  const stackFrom = uncurry(stackGetter);

  function isClass(source) {
    if (StringSlice(source, 0, 5) !== "class") return false;
    const next = StringCharCodeAt(source, 5);
    return next === 32 || next === 123 || next === 10 || next === 47 || next === 9 || next === 13;
  }

  function kindOf(fn) {
    for (let proto = ReflectGetPrototypeOf(fn), steps = 0; proto !== null && steps < 100; steps++) {
      if (WeakSetHas(knownProxies, proto)) break;
      const name = builtinName(proto);
      if (name !== undefined) return name === "Object" ? "Function" : name;
      proto = ReflectGetPrototypeOf(proto);
    }
    return "Function";
  }

  function nameOf(fn) {
    const name = peek(fn, "name");
    return typeof name === "string" ? cutText(name) : "";
  }

  function classBase(value, name, tag) {
    const own = ObjectHasOwn(value, "name") ? nameOf(value) : "";
    let text = "class " + (own === "" ? "(anonymous)" : own);
    if (name !== "Function" && name !== null) text += " [" + name + "]";
    if (tag !== "" && name !== tag) text += " [" + tag + "]";
    if (name === null) return "[" + text + " extends null prototype]";
    const parent = ReflectGetPrototypeOf(value);
    const parentName = parent === null || WeakSetHas(knownProxies, parent) ? "" : nameOf(parent);
    return "[" + text + (parentName === "" ? "" : " extends " + parentName) + "]";
  }

  function functionBase(fn, name, tag) {
    if (isClass(FunctionToString(fn))) return classBase(fn, name, tag);
    const kind = kindOf(fn);
    const own = nameOf(fn);
    const bare = name === null ? " (null prototype)" : "";
    let text = "[" + kind + bare + (own === "" ? " (anonymous)" : ": " + own) + "]";
    if (name !== kind && name !== null) text += " " + name;
    if (tag !== "" && name !== tag) text += " [" + tag + "]";
    return text;
  }

  const isPlain = (value) =>
    value !== UNREADABLE && typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol";

  // The first line of a stack, from the error's data alone.
  function header(name, message) {
    const called = isPlain(name) ? (name === undefined ? "Error" : "" + name) : "Error";
    const text = isPlain(message) && message !== undefined ? "" + message : "";
    return called === "" ? text : text === "" ? called : called + ": " + text;
  }

  // V8 writes a stack when it is first asked for, and asks for name and message then.
  function stackText(error, name, message) {
    const own = ReflectGetOwnPropertyDescriptor(error, "stack");
    if (own !== undefined && ObjectHasOwn(own, "value")) {
      if (typeof own.value === "string" && own.value !== "") return own.value;
    } else if (own !== undefined && own.get === stackGetter && isPlain(name) && isPlain(message)) {
      const stack = stackFrom(error);
      if (typeof stack === "string" && stack !== "") return stack;
    }
    return header(name, message);
  }

  // A subclass that did not set its `name` is called by its own all the same.
  function withClassName(stack, errorName, name, tag) {
    const next = stack.length === errorName.length ? "" : stack[errorName.length];
    const isRegular = StringSlice(errorName, -5) === "Error" && StringSlice(stack, 0, errorName.length) === errorName &&
      (next === "" || next === ":" || next === "\n");
    if (name !== null && !isRegular) return stack;
    const called = StringSlice(prefixOf(name, tag, errorName, ""), 0, -1);
    if (called === errorName) return stack;
    const rest = isRegular ? StringSlice(stack, errorName.length) : ": " + stack;
    return StringIndexOf(called, errorName) === -1 ? called + " [" + errorName + "]" + rest : called + rest;
  }

  // A key goes where its text is in the stack already, or where it is no text at all.
  function withoutShown(error, keys, stack) {
    let kept = 0;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (key === "name" || key === "message" || key === "stack") {
        const value = dataProperty(error, key);
        if (typeof value === "string" && StringIndexOf(stack, value) !== -1) continue;
      }
      keys[kept++] = key;
    }
    keys.length = kept;
  }

  function has(keys, key) {
    for (let i = 0; i < keys.length; i++) if (keys[i] === key) return true;
    return false;
  }

  // The text of an error; `keys`, a list, becomes the properties to show after it.
  function errorBase(error, name, tag, keys, inspection) {
    const ownName = peek(error, "name");
    const message = peek(error, "message");
    let stack = cutText(stackText(error, ownName, message));
    if (!inspection.hidden) withoutShown(error, keys, stack);
    if (ObjectHasOwn(error, "cause") && !has(keys, "cause")) append(keys, "cause");
    const errors = dataProperty(error, "errors");
    if (!WeakSetHas(knownProxies, errors) && ArrayIsArray(errors) && !has(keys, "errors")) append(keys, "errors");
    stack = withClassName(stack, typeof ownName === "string" ? ownName : "Error", name, tag);
    const at = typeof message === "string" && message !== "" ? StringIndexOf(stack, message) : -1;
    if (StringIndexOf(stack, "\n    at", at === -1 ? 0 : at + message.length) === -1) stack = "[" + stack + "]";
    if (inspection.indent > 0) stack = StringReplaceAll(stack, "\n", "\n" + StringRepeat(" ", inspection.indent));
    return stack;
  }

  return { functionBase, errorBase };
})();
