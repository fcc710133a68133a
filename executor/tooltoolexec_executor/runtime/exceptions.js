// DOMException as Web IDL has it, and what else of Web IDL the runtime's classes share: their shape, and its sequences.

const { DOMExceptionClass, copyDOMException, defineInterface, interfaceName, sequenceOf } = (() => {
  const WeakMapGet = uncurry(WeakMap.prototype.get);
  const WeakMapSet = uncurry(WeakMap.prototype.set);
  const ReflectSetPrototypeOf = Reflect.setPrototypeOf;
  const ArrayFrom = Array.from;
  const SymbolIterator = Symbol.iterator;
  const SymbolToStringTag = Symbol.toStringTag;
  const ObjectDefineProperties = Object.defineProperties;

  // The legacy constants by code, from 1, each with the name that has it; two older ones have none.
  const CODES = [
    "", "INDEX_SIZE_ERR IndexSizeError", "DOMSTRING_SIZE_ERR", "HIERARCHY_REQUEST_ERR HierarchyRequestError",
    "WRONG_DOCUMENT_ERR WrongDocumentError", "INVALID_CHARACTER_ERR InvalidCharacterError", "NO_DATA_ALLOWED_ERR",
    "NO_MODIFICATION_ALLOWED_ERR NoModificationAllowedError", "NOT_FOUND_ERR NotFoundError",
    "NOT_SUPPORTED_ERR NotSupportedError", "INUSE_ATTRIBUTE_ERR InUseAttributeError",
    "INVALID_STATE_ERR InvalidStateError", "SYNTAX_ERR SyntaxError",
    "INVALID_MODIFICATION_ERR InvalidModificationError", "NAMESPACE_ERR NamespaceError",
    "INVALID_ACCESS_ERR InvalidAccessError", "VALIDATION_ERR", "TYPE_MISMATCH_ERR TypeMismatchError",
    "SECURITY_ERR SecurityError", "NETWORK_ERR NetworkError", "ABORT_ERR AbortError",
    "URL_MISMATCH_ERR URLMismatchError", "QUOTA_EXCEEDED_ERR QuotaExceededError", "TIMEOUT_ERR TimeoutError",
    "INVALID_NODE_TYPE_ERR InvalidNodeTypeError", "DATA_CLONE_ERR DataCloneError",
  ];
  const codeOfName = { __proto__: null };

  // What an exception holds. A map and no private fields: a stack has only what Error itself makes, and a derived
  // class would look its parent up where a program can have put another.
  const states = new WeakMap();
  const stateOf = (exception) => {
    const state = WeakMapGet(states, exception);
    if (state === undefined) throw new TypeErrorConstructor("This is no DOMException.");
    return state;
  };

  class DOMException {
    constructor(message = "", name = "Error") {
      const state = { __proto__: null, message: `${message}`, name: `${name}` };
      const exception = ReflectConstruct(ErrorConstructor, [], new.target);
      WeakMapSet(states, exception, state);
      return exception;
    }

    get name() {
      return stateOf(this).name;
    }

    get message() {
      return stateOf(this).message;
    }

    get code() {
      return codeOfName[stateOf(this).name] ?? 0;
    }
  }

  // Another exception of the same name and message; undefined of any other object.
  function copyDOMException(exception) {
    const state = WeakMapGet(states, exception);
    return state === undefined ? undefined : new DOMException(state.message, state.name);
  }

  // The interfaces' names by their prototypes.
  const interfaces = new WeakMap();
  const interfaceName = (prototype) => WeakMapGet(interfaces, prototype);

  // A class's own keys begin with length, name and prototype, its prototype's with constructor.
  function enumerate(place, from) {
    const keys = ReflectOwnKeys(place);
    for (let i = from; i < keys.length; i++) {
      if (typeof keys[i] === "string") ReflectDefineProperty(place, keys[i], { enumerable: true });
    }
  }

  // Make `Class` a global of its name, with the tag, the enumerable members and the unchangeable `constants` that Web
  // IDL gives an interface. Every worker does this for every class before it is ready.
  function defineInterface(Class, constants) {
    const { name, prototype } = Class;
    enumerate(Class, 3);
    enumerate(prototype, 1);
    if (constants !== undefined) {
      const descriptors = {};
      for (const key in constants) descriptors[key] = { value: constants[key], enumerable: true };
      ObjectDefineProperties(Class, descriptors);
      ObjectDefineProperties(prototype, descriptors);
    }
    WeakMapSet(interfaces, prototype, name);
    ReflectDefineProperty(prototype, SymbolToStringTag, { value: name, configurable: true });
    defineGlobal(name, Class);
    return Class;
  }

  // The members of an iterable as an array. A plain array's are taken by index: its iterator a program may have put there.
  function sequenceOf(value) {
    if (ArrayIsArray(value) && !WeakSetHas(knownProxies, value)) {
      const members = [];
      for (let i = 0; i < value.length; i++) ownValue(members, i, value[i]);
      return members;
    }
    const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
    if (!isObject || typeof value[SymbolIterator] !== "function") throw new TypeErrorConstructor("An iterable was expected.");
    return ArrayFrom(value);
  }

  const constants = {};
  for (let code = 1; code < CODES.length; code++) {
    const [constant, name] = CODES[code].split(" ");
    constants[constant] = code;
    if (name !== undefined) codeOfName[name] = code;
  }
  ReflectSetPrototypeOf(DOMException.prototype, Error.prototype);
  defineInterface(DOMException, constants);
  return { DOMExceptionClass: DOMException, copyDOMException, defineInterface, interfaceName, sequenceOf };
})();
