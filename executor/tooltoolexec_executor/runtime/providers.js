// Tool calls: the proxies a program sees, the way out for a call, the way back for its answer.

// The calls on their way, by number: whose they are, and what takes the answer's envelope text.
let pendingCalls;

// Give a promise a `constructor` of its own, so that `await` on it asks no prototype a program could have changed.
function ownConstructor(promise) {
  ReflectDefineProperty(promise, "constructor", { __proto__: null, value: PromiseConstructor });
  return promise;
}

const ownPromise = (executor) => ownConstructor(new PromiseConstructor(executor));

const errorEnvelope = (message) => '{"error":' + quote(message) + "}";

// Send one call and promise the envelope's text. Throws what stops a call at the call site.
function sendCall(provider, tool, argsText) {
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
    MapSet(pendingCalls, number, { __proto__: null, provider, tool, resolve });
  });
  // Last, because near the end of the stack any of this may throw: what left was then registered.
  try {
    post("c[" + number + "," + quote(provider) + "," + quote(tool) + "," + quote(argsText) + "]\n");
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

function makeProvider(spec) {
  const { name, positional } = spec;
  const aliases = { __proto__: null };
  for (let i = 0; i < spec.aliases.length; i++) aliases[spec.aliases[i][0]] = spec.aliases[i][1];
  const handler = {
    __proto__: null,
    get(target, key, receiver) {
      if (hasOwn(target, key)) return ReflectGet(target, key, receiver);
      if (typeof key === "symbol" || key === "then") return undefined;
      if (key === "toJSON" && codecDepth > 0) return undefined;
      const tool = hasOwn(aliases, key) ? aliases[key] : key;
      return async (...args) => {
        const argsText = positional ? stringifyArguments(args) : payloadOf(args.length > 0 ? args[0] : undefined);
        return openEnvelope(await sendCall(name, tool, argsText));
      };
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

// The answers in the message Python left; undefined, and the fault told, when it is not what the protocol allows.
function readAnswers(text) {
  let message;
  try {
    message = JSONParse(text);
  } catch {
    return protocolFault("malformed", "The frame is no JSON.");
  }
  if (typeof message !== "object" || message === null || !hasOwn(message, "type") || typeof message.type !== "string") {
    return protocolFault("malformed", 'The frame is no object with a text field "type".');
  }
  if (message.type !== "answers") {
    const known = message.type === "hello" || message.type === "execute" || message.type === "outcome" || message.type === "status";
    const code = known ? "unexpected" : "unknown_message";
    return protocolFault(code, "A running program takes answers, not a message of type " + quote(StringSlice(message.type, 0, 40)) + ".");
  }
  const answers = hasOwn(message, "answers") ? message.answers : undefined;
  if (!ArrayIsArray(answers)) return protocolFault("malformed", "The answers message has no array \"answers\".");
  for (let i = 0; i < answers.length; i++) {
    if (!isAnswer(answers[i])) return protocolFault("malformed", "An answer is [number, text].");
  }
  return answers;
}

// Settle the calls that the message answers. One that nobody waits for is dropped: it may be late, or given twice.
function takeAnswers(text) {
  const answers = readAnswers(text);
  if (answers === undefined) return;
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
    console: programConsole,
    // `await`, because an async function that returns a promise asks that promise's `then`.
    __dispatch: async (provider, tool, args) => await sendCall(`${provider}`, `${tool}`, `${args}`),
    __stringifyForDispatch: stringifyForDispatch,
    __parseForDispatch: (text) => parseForDispatch(`${text}`),
    __retainHandle: () => {
      throw new ErrorConstructor(TEXTS.handlesNotRetained);
    },
    proxy: (index) => makeProvider(run.providers[index]),
    source: (index) => {
      run.source = index;
    },
    run: runProgram,
  };
}
