// Every intrinsic the runtime uses, captured before any other code runs. The files after this one share its scope
// (worker/runtime.py has their order and their parts) and must keep to these rules once a program runs:
//
// - call built-ins through the names below, never through a global, a prototype or a method;
// - no spread of an array, no for-of, no array destructuring (they ask a mutable iterator);
// - no write to an array index or a property that does not exist yet (a setter on a prototype would see it, and the
//   object with it): the fields of a class are declared, which defines them;
// - objects that are read for absent keys have no prototype;
// - the mailbox's views are indexed, never handed to a built-in that looks something up on them.

const ReflectApply = Reflect.apply;
const ReflectGet = Reflect.get;
const ReflectOwnKeys = Reflect.ownKeys;
const ReflectDefineProperty = Reflect.defineProperty;
const ReflectGetPrototypeOf = Reflect.getPrototypeOf;
const ReflectSetPrototypeOf = Reflect.setPrototypeOf;
const ReflectGetOwnPropertyDescriptor = Reflect.getOwnPropertyDescriptor;
const ReflectConstruct = Reflect.construct;

// `uncurry(method)` is a function whose first argument is the method's `this`; a bound `call` looks nothing up.
const uncurry = (method) => ReflectApply(Function.prototype.bind, Function.prototype.call, [method]);
const getter = (prototype, key) => uncurry(ReflectGetOwnPropertyDescriptor(prototype, key).get);

const indirectEval = eval;
const JSONStringify = JSON.stringify;
const JSONParse = JSON.parse;
const JSONIsRawJSON = JSON.isRawJSON;
const DateNow = Date.now;
const MathMax = Math.max;
const MathMin = Math.min;
const NumberIsFinite = Number.isFinite;
const ArrayIsArray = Array.isArray;
const AtomicsStore = Atomics.store;

const StringFromCharCode = String.fromCharCode;
const StringCharCodeAt = uncurry(String.prototype.charCodeAt);
const StringIndexOf = uncurry(String.prototype.indexOf);
const StringSlice = uncurry(String.prototype.slice);
const StringReplaceAll = uncurry(String.prototype.replaceAll);
const StringRepeat = uncurry(String.prototype.repeat);
const NumberToString = uncurry(Number.prototype.toString);
const BigIntToString = uncurry(BigInt.prototype.toString);
const SymbolToString = uncurry(Symbol.prototype.toString);
const RegExpSource = getter(RegExp.prototype, "source");
const RegExpFlags = [
  ["d", "hasIndices"], ["g", "global"], ["i", "ignoreCase"], ["m", "multiline"],
  ["s", "dotAll"], ["u", "unicode"], ["v", "unicodeSets"], ["y", "sticky"],
].map(([letter, name]) => ({ letter, isSet: getter(RegExp.prototype, name) }));
const DateToISOString = uncurry(Date.prototype.toISOString);
const DateGetTime = uncurry(Date.prototype.getTime);
const FunctionToString = uncurry(Function.prototype.toString);
const ErrorToString = uncurry(Error.prototype.toString);
const ErrorIsError = Error.isError;

const ObjectPrototype = Object.prototype;
const ArrayPrototype = Array.prototype;
const MapPrototype = Map.prototype;
const SetPrototype = Set.prototype;
const PromisePrototype = Promise.prototype;
const ArrayBufferPrototype = ArrayBuffer.prototype;
const hasOwn = uncurry(Object.prototype.hasOwnProperty);
const ObjectHasOwn = Object.hasOwn; // Faster, because its `this` is not bound.
const isEnumerable = uncurry(Object.prototype.propertyIsEnumerable);

// The own data property `key` of `object`, undefined without one.
function dataProperty(object, key) {
  const descriptor = ReflectGetOwnPropertyDescriptor(object, key);
  return descriptor !== undefined && ObjectHasOwn(descriptor, "value") ? descriptor.value : undefined;
}

const MapForEach = uncurry(Map.prototype.forEach);
const MapSize = getter(Map.prototype, "size");
const MapGet = uncurry(Map.prototype.get);
const MapSet = uncurry(Map.prototype.set);
const MapDelete = uncurry(Map.prototype.delete);
const SetForEach = uncurry(Set.prototype.forEach);
const SetSize = getter(Set.prototype, "size");
const WeakSetAdd = uncurry(WeakSet.prototype.add);
const WeakSetHas = uncurry(WeakSet.prototype.has);
const MapConstructor = Map;
const PromiseConstructor = Promise;
const ErrorConstructor = Error;
const TypeErrorConstructor = TypeError;
const ProxyConstructor = Proxy;

const TypedArrayPrototype = ReflectGetPrototypeOf(Uint8Array.prototype);
const Uint8ArrayConstructor = Uint8Array;
const Uint8ArrayFromBase64 = Uint8Array.fromBase64;
const Uint8ArrayToBase64 = uncurry(Uint8Array.prototype.toBase64);
const ArrayBufferIsView = ArrayBuffer.isView;
const ArrayBufferByteLength = getter(ArrayBuffer.prototype, "byteLength");
const TypedArrayTag = getter(TypedArrayPrototype, Symbol.toStringTag);
const TypedArrayBuffer = getter(TypedArrayPrototype, "buffer");
const TypedArrayByteOffset = getter(TypedArrayPrototype, "byteOffset");
const TypedArrayByteLength = getter(TypedArrayPrototype, "byteLength");
const TypedArrayLength = getter(TypedArrayPrototype, "length");
const DataViewBuffer = getter(DataView.prototype, "buffer");
const DataViewByteOffset = getter(DataView.prototype, "byteOffset");
const DataViewByteLength = getter(DataView.prototype, "byteLength");

// Call sites exist only inside a stack trace, so one is made to take the methods from.
const CallSitePrototype = (() => {
  Error.prepareStackTrace = (_error, sites) => sites[0];
  const site = new Error("probe").stack;
  delete Error.prepareStackTrace;
  return ReflectGetPrototypeOf(site);
})();
const CallSiteSource = uncurry(CallSitePrototype.getScriptNameOrSourceURL);
const CallSiteLine = uncurry(CallSitePrototype.getLineNumber);
const CallSiteColumn = uncurry(CallSitePrototype.getColumnNumber);
const CallSiteFunctionName = uncurry(CallSitePrototype.getFunctionName);
const CallSiteIsAsync = uncurry(CallSitePrototype.isAsync);

// What programs do not get: shared memory, weak observation of the collector, machine code.
for (const name of ["WebAssembly", "SharedArrayBuffer", "Atomics", "FinalizationRegistry", "WeakRef"]) {
  delete globalThis[name];
}

// `template` with its named places filled, as texts.compose does on the host's side.
function compose(template, name, fact, secondName, secondFact) {
  const place = "{" + name + "}";
  const at = StringIndexOf(template, place);
  const head = StringSlice(template, 0, at) + fact;
  const tail = StringSlice(template, at + place.length);
  return head + (secondName === undefined ? tail : compose(tail, secondName, secondFact));
}

// UTF-8 bytes of `text`; a lone surrogate counts as the three bytes of its replacement.
function utf8Length(text) {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = StringCharCodeAt(text, i);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < text.length) {
      const next = StringCharCodeAt(text, i + 1);
      if (next >= 0xdc00 && next < 0xe000) i++; // The pair's four bytes: two units, and the two just added.
    }
  }
  return bytes;
}
