// Methods and accessors of the globals as functions that take their `this` first, captured before anything is replaced.
const bindCall = Function.prototype.call.bind(Function.prototype.bind, Function.prototype.call);
const method = (Class, key) => bindCall(Class.prototype[key]);
const read = (Class, key) => bindCall(Reflect.getOwnPropertyDescriptor(Class.prototype, key).get);

const clone = structuredClone;
const Exception = DOMException;
const exceptionCode = read(DOMException, "code");
const Target = EventTarget;
const EventClass = Event;
const listen = method(EventTarget, "addEventListener");
const unlisten = method(EventTarget, "removeEventListener");
const dispatch = method(EventTarget, "dispatchEvent");
const eventType = read(Event, "type");
const Controller = AbortController;
const signalOf = read(AbortController, "signal");
const abort = method(AbortController, "abort");
const isAborted = read(AbortSignal, "aborted");
const reasonOf = read(AbortSignal, "reason");
const { any: anySignal, timeout: signalTimeout, abort: abortedSignal } = AbortSignal;
const { subtle } = crypto;
const randomValues = method(Crypto, "getRandomValues");
const uuid = method(Crypto, "randomUUID");
const digest = method(SubtleCrypto, "digest");
const cryptography = crypto;
const Bytes = Uint8Array;
const moved = new ArrayBuffer(4);
const abortlessSignal = new AbortController().signal;
const now = performance.now;
const decode64 = atob;
const encode64 = btoa;
const Url = URL;
const href = read(URL, "href");
const setPath = bindCall(Reflect.getOwnPropertyDescriptor(URL.prototype, "pathname").set);
const parametersOf = read(URL, "searchParams");
const Parameters = URLSearchParams;
const append = method(URLSearchParams, "append");
const getAll = method(URLSearchParams, "getAll");
const parametersText = method(URLSearchParams, "toString");
const eachParameter = method(URLSearchParams, "forEach");
const encoder = new TextEncoder();
const encode = method(TextEncoder, "encode");
const Decoder = TextDecoder;
const decode = method(TextDecoder, "decode");
const HeadersClass = Headers;
const setHeader = method(Headers, "set");
const getHeader = method(Headers, "get");
const RequestClass = Request;
const requestUrl = read(Request, "url");
const requestText = method(Request, "text");
const ResponseClass = Response;
const responseText = method(Response, "text");
const responseJson = method(Response, "json");
const get = fetch;

const cloned = {
  list: [1, , { two: 2n }], map: new Map([[{ k: 1 }, new Set(["s"])]]), date: new Date(5), re: /x/gi, bytes: new Uint8Array([1, 2]),
  error: new RangeError("inner"), boxed: Object("t"),
};
cloned.self = cloned;
