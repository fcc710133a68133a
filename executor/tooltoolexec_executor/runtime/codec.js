// Values to JSON text and back, with bytes as tagged objects: the JavaScript half of the protocol's codec.py.

const BINARY_KEY = "__executor_binary_v1__";
const VALUE_DEPTH = 500;
const LONGEST_PATH = 200;

// How many stringifications are under way: the providers' traps answer undefined for toJSON meanwhile.
let codecDepth = 0;

const quote = (text) => JSONStringify(text);

const ownValue = (object, key, value) =>
  ReflectDefineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });

function tagged(tag, buffer, offset, length) {
  const data = Uint8ArrayToBase64(new Uint8ArrayConstructor(buffer, offset, length));
  return { __proto__: null, [BINARY_KEY]: tag, data };
}

function viewEnvelope(view) {
  const tag = TypedArrayTag(view); // undefined for a DataView
  if (tag === undefined) {
    return tagged("ArrayBufferView", DataViewBuffer(view), DataViewByteOffset(view), DataViewByteLength(view));
  }
  const name = tag === "Uint8Array" ? tag : "ArrayBufferView";
  return tagged(name, TypedArrayBuffer(view), TypedArrayByteOffset(view), TypedArrayByteLength(view));
}

// Which built-in with a form of its own `value` descends from, by its chain of prototypes.
function lineage(value) {
  for (let proto = ReflectGetPrototypeOf(value); proto !== null; proto = ReflectGetPrototypeOf(proto)) {
    // A proxy has no kind: asking for its prototype would run the program.
    if (proto === ObjectPrototype || WeakSetHas(knownProxies, proto)) return undefined;
    if (proto === MapPrototype || proto === SetPrototype || proto === PromisePrototype) return proto;
    if (proto === ArrayBufferPrototype) return proto;
  }
  return undefined;
}

function mapForm(map) {
  let textKeys = true;
  MapForEach(map, (_value, key) => {
    if (typeof key !== "string") textKeys = false;
  });
  const form = textKeys ? { __proto__: null } : [];
  let index = 0;
  MapForEach(map, (value, key) => {
    if (textKeys) ownValue(form, key, value);
    else ownValue(form, index++, [key, value]);
  });
  return form;
}

function setForm(set) {
  const form = [];
  let index = 0;
  SetForEach(set, (value) => ownValue(form, index++, value));
  return form;
}

function errorForm(error) {
  const form = { __proto__: null, name: error.name, message: error.message };
  const keys = ReflectOwnKeys(error);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key === "string" && isEnumerable(error, key)) ownValue(form, key, error[key]);
  }
  if (hasOwn(error, "cause")) ownValue(form, "cause", error.cause);
  return form;
}

// The form in which an object crosses where JSON alone would empty it; most objects are their own.
function crossingForm(value, path) {
  const proto = ReflectGetPrototypeOf(value);
  if (proto === ObjectPrototype || proto === ArrayPrototype || proto === null) return value;
  if (ArrayBufferIsView(value)) return viewEnvelope(value);
  if (ErrorIsError(value)) return errorForm(value);
  const kind = lineage(value);
  if (kind === undefined) return value;
  if (kind === PromisePrototype) throw new TypeErrorConstructor(compose(TEXTS.pendingPromise, "path", path()));
  try {
    if (kind === MapPrototype) return mapForm(value);
    if (kind === SetPrototype) return setForm(value);
    return tagged("ArrayBuffer", value, 0, ArrayBufferByteLength(value));
  } catch {
    return value; // It only looks like one: Object.create(Map.prototype).
  }
}

// Where JSON.stringify stands, as a linked list of holders; `root` names the value itself.
class Walk {
  root;
  top = null;
  isAtBigInt = false;
  key = "";

  constructor(root) {
    this.root = root;
  }

  enter(holder, key, item) {
    while (this.top !== null && this.top.holder !== holder) this.top = this.top.up;
    this.key = key;
    this.isAtBigInt = typeof item === "bigint";
  }

  descend(value) {
    const depth = this.top === null ? 1 : this.top.depth + 1;
    if (depth > VALUE_DEPTH) throw new TypeErrorConstructor(compose(TEXTS.tooDeep, "n", VALUE_DEPTH));
    const isArray = ArrayIsArray(value);
    this.top = { __proto__: null, holder: value, isArray, key: this.key, up: this.top, depth };
  }

  path() {
    let text = "";
    let key = this.key;
    for (let frame = this.top; frame !== null; frame = frame.up) {
      text = (frame.isArray ? "[" + key + "]" : "." + key) + text;
      key = frame.key;
    }
    if (text === "") return this.root;
    if (text.length > LONGEST_PATH) text = StringSlice(text, 0, LONGEST_PATH) + "…";
    return text[0] === "." ? StringSlice(text, 1) : text;
  }
}

// `value` as JSON text, or undefined where JSON has none (undefined, a function, a symbol).
// Throws what JSON.stringify throws, and a TypeError for a promise or a nesting too deep.
function stringifyWalk(value, walk) {
  const path = () => walk.path();
  codecDepth++;
  try {
    return JSONStringify(value, function (key, item) {
      walk.enter(this, key, item);
      if (typeof item !== "object" || item === null) return item;
      // Raw JSON may hold what no JavaScript value can: numbers without end, halves of surrogate pairs as they are.
      if (JSONIsRawJSON(item)) return JSONParse(item.rawJSON);
      const form = crossingForm(item, path);
      walk.descend(form);
      return form;
    });
  } finally {
    codecDepth--;
  }
}

function stringifyValue(value, root) {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "number":
      return JSONStringify(value);
    case "undefined":
    case "function":
    case "symbol":
      return undefined;
    default:
      return value === null ? "null" : stringifyWalk(value, new Walk(root));
  }
}

// A call's arguments as a JSON array. The list itself is the runtime's: no inherited toJSON or setter sees it.
function stringifyArguments(args) {
  let text = "[";
  for (let i = 0; i < args.length; i++) {
    const item = stringifyValue(args[i], "argument " + (i + 1));
    text += (i === 0 ? "" : ",") + (item === undefined ? "null" : item);
  }
  return text + "]";
}

const stringifyForDispatch = (value) => stringifyValue(value, "value");

const base64Options = { __proto__: null, alphabet: "base64", lastChunkHandling: "strict" };

// The bytes a tagged object stands for; undefined for every other object.
function bytesOf(object, keys) {
  if (keys.length !== 2 || !hasOwn(object, BINARY_KEY) || !hasOwn(object, "data")) return undefined;
  const tag = object[BINARY_KEY];
  const data = object.data;
  if (tag !== "Uint8Array" && tag !== "ArrayBuffer" && tag !== "ArrayBufferView") return undefined;
  if (typeof data !== "string" || data.length % 4 !== 0) return undefined;
  let bytes;
  try {
    bytes = Uint8ArrayFromBase64(data, base64Options);
  } catch {
    return undefined;
  }
  // The decoder skips blanks, the envelope allows none: they would make the text longer than its bytes need.
  if (data.length !== ((TypedArrayLength(bytes) + 2 - ((TypedArrayLength(bytes) + 2) % 3)) / 3) * 4) return undefined;
  return tag === "ArrayBuffer" ? TypedArrayBuffer(bytes) : bytes;
}

function revive(value, depth) {
  if (typeof value !== "object" || value === null) return value;
  const isArray = ArrayIsArray(value);
  const keys = isArray ? undefined : ReflectOwnKeys(value);
  if (!isArray) {
    const bytes = bytesOf(value, keys);
    if (bytes !== undefined) return bytes;
  }
  if (depth === VALUE_DEPTH) throw new TypeErrorConstructor(compose(TEXTS.tooDeep, "n", VALUE_DEPTH));
  const length = isArray ? value.length : keys.length;
  for (let i = 0; i < length; i++) {
    const key = isArray ? i : keys[i];
    const item = value[key];
    if (typeof item === "object" && item !== null) {
      const revived = revive(item, depth + 1);
      if (revived !== item) ownValue(value, key, revived);
    }
  }
  return value;
}

// The value of JSON text, bytes rebuilt. Text without a tag and too short to be nested too deep is taken as it is.
function parseForDispatch(text) {
  const value = JSONParse(text);
  return text.length > 2 * VALUE_DEPTH || StringIndexOf(text, BINARY_KEY) !== -1 ? revive(value, 0) : value;
}
