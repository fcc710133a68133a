// Tool calls: the proxies a program sees, the way out for a call, the way back for its answer.

// The calls on their way, by number: whose they are, and what takes the answer's envelope text.
let pendingCalls;

const errorEnvelope = (message) => '{"error":' + quote(message) + "}";

const quotedNames = (provider, tool) => quote(provider) + "," + quote(tool);

// Send one call and promise the envelope's text. Throws what stops a call at the call site.
function sendCall(call, argsText) {
  const { provider, tool } = call;
  if (run.settled) return ownPromise((resolve) => resolve(errorEnvelope(TEXTS.completed)));
  if (!run.hasDispatch) {
    return ownPromise((resolve) => resolve(errorEnvelope(compose(TEXTS.toolNotFound, "tool", tool))));
  }
  const units = provider.length + tool.length + argsText.length;
  if (units * 3 > run.payloadLimit) {
    const bytes = utf8Length(provider) + utf8Length(tool) + utf8Length(argsText);
    if (bytes > run.payloadLimit) {
      throw new ErrorConstructor(compose(TEXTS.payload, "n", bytes, "m", run.payloadLimit));
    }
  }
  if (run.calls >= run.callLimit) throw new ErrorConstructor(compose(TEXTS.calls, "n", run.callLimit));
  const number = ++run.calls;
  words[SENT_CALLS] = number;
  const promise = ownPromise((resolve) => {
    call.resolve = resolve;
    MapSet(pendingCalls, number, call);
  });
  // Last, because near the end of the stack any of this may throw: what left was then registered.
  try {
    post("c[" + number + "," + (call.names ?? quotedNames(provider, tool)) + "," + quote(argsText) + "]\n");
  } catch (error) {
    MapDelete(pendingCalls, number);
    throw error;
  }
  words[PENDING_CALLS]++;
  return promise;
}

// A parsed value as JSON text again. Its own `toJSON` of undefined, which JSON omits, hides an inherited one.
function parsedText(value) {
  const hideToJSON = (item) => {
    if (typeof item !== "object" || item === null) return;
    const keys = ReflectOwnKeys(item);
    for (let i = 0; i < keys.length; i++) hideToJSON(item[keys[i]]);
    if (!hasOwn(item, "toJSON")) ownValue(item, "toJSON", undefined);
  };
  hideToJSON(value);
  return JSONStringify(value);
}

// The value in an envelope. Only its own keys count.
function openEnvelope(text) {
  let envelope;
  try {
    envelope = JSONParse(text);
  } catch {
    envelope = undefined;
  }
  if (typeof envelope !== "object" || envelope === null || ArrayIsArray(envelope)) {
    throw new ErrorConstructor(TEXTS.outsideEnvelope);
  }
  if (hasOwn(envelope, "error") && envelope.error !== null) {
    const message = envelope.error;
    const error = new ErrorConstructor(typeof message === "string" ? message : parsedText(message));
    if (hasOwn(envelope, "code") && typeof envelope.code === "string") ownValue(error, "code", envelope.code);
    throw error;
  }
  if (!hasOwn(envelope, "result")) return undefined;
  const needsCare = text.length > 2 * VALUE_DEPTH || StringIndexOf(text, BINARY_KEY) !== -1;
  return needsCare ? revive(envelope.result, 0) : envelope.result;
}

function payloadOf(value) {
  if (value === undefined || value === null) return "{}";
  return stringifyValue(value, "argument 1") ?? "{}";
}

// What a call gives. Asynchronous from its first step: whatever goes wrong, the promise says it.
const answerOf = async (call, args, positional) => {
  try {
    const argsText = positional ? stringifyArguments(args) : payloadOf(args.length > 0 ? args[0] : undefined);
    const value = openEnvelope(await sendCall(call, argsText));
    call.ending = "finished";
    return value;
  } catch (error) {
    call.failed(error);
    throw error;
  }
};

const MOST_FUNCTIONS = 1000;
const AsyncFunctionPrototype = ReflectGetPrototypeOf(answerOf);

// An async function to all appearances, only that the promise it gives is watched.
function toolFunction(provider, tool, positional) {
  const names = quotedNames(provider, tool); // Once for all its calls.
  const made = (...args) => {
    const call = new Call(provider, tool, names);
    return watch(answerOf(call, args, positional), call);
  };
  ReflectSetPrototypeOf(made, AsyncFunctionPrototype);
  return made;
}

function makeProvider(spec) {
  const { name, positional } = spec;
  const functions = new MapConstructor(); // By the key they were read under, because each is costly to make.
  const aliases = { __proto__: null };
  for (let i = 0; i < spec.aliases.length; i++) aliases[spec.aliases[i][0]] = spec.aliases[i][1];
  const handler = {
    __proto__: null,
    get(target, key, receiver) {
      if (hasOwn(target, key)) return ReflectGet(target, key, receiver);
      if (typeof key === "symbol" || key === "then") return undefined;
      if (key === "toJSON" && codecDepth > 0) return undefined;
      const known = MapGet(functions, key);
      if (known !== undefined) return known;
      const made = toolFunction(name, hasOwn(aliases, key) ? aliases[key] : key, positional);
      if (MapSize(functions) < MOST_FUNCTIONS) MapSet(functions, key, made);
      return made;
    },
  };
  return noted(new ProxyConstructor({}, handler));
}

function protocolFault(code, message) {
  run.settled = true;
  post("x[" + quote(code) + "," + quote(message) + "]\n");
  notify();
}

const isAnswer = (answer) =>
  ArrayIsArray(answer) && answer.length === 2 && typeof answer[0] === "number" && typeof answer[1] === "string";

// A number that JSON and a double carry exactly.
const isCount = (value) => typeof value === "number" && value % 1 === 0 && value >= 0 && value < 2 ** 53;

const isInvocation = (invocation) =>
  ArrayIsArray(invocation) && invocation.length === 3 && isCount(invocation[0]) &&
  typeof invocation[1] === "string" && typeof invocation[2] === "string";

// The message Python left; undefined, and the fault told, when it is not what the protocol allows.
function readClientMessage(text) {
  let message;
  try {
    message = JSONParse(text);
  } catch {
    return protocolFault("malformed", "The frame is no JSON.");
  }
  if (typeof message !== "object" || message === null || !hasOwn(message, "type") || typeof message.type !== "string") {
    return protocolFault("malformed", 'The frame is no object with a text field "type".');
  }
  if (message.type !== "answers" && message.type !== "invoke") {
    const known = message.type === "hello" || message.type === "execute" || message.type === "outcome" || message.type === "status";
    const code = known ? "unexpected" : "unknown_message";
    return protocolFault(code, "A running program takes answers, not a message of type " + quote(StringSlice(message.type, 0, 40)) + ".");
  }
  if (message.type === "invoke") {
    const invocations = hasOwn(message, "invocations") ? message.invocations : undefined;
    if (!ArrayIsArray(invocations)) {
      return protocolFault("malformed", "The invoke message has no array \"invocations\".");
    }
    for (let i = 0; i < invocations.length; i++) {
      if (!isInvocation(invocations[i])) {
        return protocolFault("malformed", "An invocation is [number, text, text].");
      }
    }
    return message;
  }
  const answers = hasOwn(message, "answers") ? message.answers : undefined;
  if (!ArrayIsArray(answers)) return protocolFault("malformed", "The answers message has no array \"answers\".");
  for (let i = 0; i < answers.length; i++) {
    if (!isAnswer(answers[i])) return protocolFault("malformed", "An answer is [number, text].");
  }
  return message;
}

// Do what the client's message asks for.
function takeClientMessage(text) {
  const message = readClientMessage(text);
  if (message === undefined) return;
  if (message.type === "answers") takeAnswers(message.answers);
  else takeInvocations(message.invocations);
}

// Settle the calls that are answered. One that nobody waits for is dropped: it may be late, or given twice.
function takeAnswers(answers) {
  for (let i = 0; i < answers.length; i++) {
    const call = MapGet(pendingCalls, answers[i][0]);
    if (call === undefined) continue;
    MapDelete(pendingCalls, answers[i][0]);
    words[PENDING_CALLS]--;
    call.resolve(answers[i][1]);
  }
}

// Which calls the program waits for, at most ten of them and the beginning of each name, as the record `w`.
function postWaits() {
  let text = "";
  let left = 10;
  const beginning = (name) => quote(StringSlice(name, 0, LONGEST_PATH));
  MapForEach(pendingCalls, (call) => {
    if (left-- > 0) text += (text === "" ? "" : ",") + "[" + beginning(call.provider) + "," + beginning(call.tool) + "]";
  });
  post("w[" + text + "]\n");
}

// What the entry scope may use by name. `proxy`, `source` and `run` are for the script alone.
function makeEntryScope() {
  return {
    __proto__: null,
    console: undefined, // Where there is one, `enter` puts it here.
    // `await`, because an async function that returns a promise asks that promise's `then`.
    __dispatch: async (provider, tool, args) => await sendCall(new Call(`${provider}`, `${tool}`), `${args}`),
    __stringifyForDispatch: stringifyForDispatch,
    __parseForDispatch: (text) => parseForDispatch(`${text}`),
    __retainHandle: retainHandle,
    proxy: (index) => makeProvider(run.providers[index]),
    source: (index) => {
      run.source = index;
    },
    run: runProgram,
  };
}
