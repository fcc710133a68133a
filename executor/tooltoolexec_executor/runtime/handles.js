// Functions that outlive the run: the tokens a program gets for them, and their invocation by the host.
//
// A token is a plain object that crosses as it is, {"__executor_handle_v1__": id}; the same function always gets the
// same one. An invocation ends with the record `v`, once, when its function has returned or its time is up.

const { resetHandles, retainHandle, takeInvocations, endOverdueInvocations, invocationDelay } = (() => {
  const HANDLE_KEY = "__executor_handle_v1__";
  const MOST_HANDLES = 1000;
  const freeze = Object.freeze;
  const MapEntries = uncurry(Map.prototype.entries);
  const nextOf = uncurry(ReflectGetPrototypeOf(new Map().entries()).next);

  let functions; // By id.
  let tokens; // By function.
  let pending; // When each invocation under way must have ended, by its number; the earliest comes first.

  const resetHandles = () => {
    functions = new MapConstructor();
    tokens = new MapConstructor();
    pending = new MapConstructor();
    words[PENDING_INVOCATIONS] = 0;
  };

  const retainHandle = (fn) => {
    if (!run.retains) throw new ErrorConstructor(TEXTS.handlesNotRetained);
    if (typeof fn !== "function") throw new TypeErrorConstructor(TEXTS.handleNeedsFunction);
    const known = MapGet(tokens, fn);
    if (known !== undefined) return known;
    const count = MapSize(tokens);
    if (count >= MOST_HANDLES) throw new ErrorConstructor(compose(TEXTS.handlesAtMost, "n", MOST_HANDLES));
    const id = NumberToString(count + 1);
    const token = freeze({ __proto__: null, [HANDLE_KEY]: id });
    MapSet(functions, id, fn);
    MapSet(tokens, fn, token);
    // From here on the host may call at any time, so a program that waits may wait for that: it is never stalled.
    if (count === 0) words[PENDING_CALLS]++;
    return token;
  };

  const end = (number, envelope) => {
    if (!MapDelete(pending, number)) return;
    words[PENDING_INVOCATIONS] = MapSize(pending);
    post("v[" + number + "," + quote(envelope) + "]\n");
  };

  // Like a call's: the list itself is no level of a value.
  const argumentsOf = (text) => {
    const args = JSONParse(text);
    if (!ArrayIsArray(args)) throw new TypeErrorConstructor(TEXTS.handleArguments);
    if (text.length > 2 * VALUE_DEPTH || StringIndexOf(text, BINARY_KEY) !== -1) {
      for (let i = 0; i < args.length; i++) ownValue(args, i, revive(args[i], 0));
    }
    return args;
  };

  const resultEnvelope = (value) => {
    const text = stringifyValue(value, "result");
    if (text === undefined) {
      if (value !== undefined) throw new TypeErrorConstructor(TEXTS.functionReturned);
      return '{"result":null}';
    }
    const bytes = text.length * 3 > run.payloadLimit ? utf8Length(text) : 0;
    if (bytes > run.payloadLimit) {
      throw new ErrorConstructor(compose(TEXTS.payload, "n", bytes, "m", run.payloadLimit));
    }
    return '{"result":' + text + "}";
  };

  const invoke = async (number, id, argsText) => {
    MapSet(pending, number, DateNow() + run.wallLimit);
    words[PENDING_INVOCATIONS] = MapSize(pending);
    let envelope;
    try {
      const fn = MapGet(functions, id);
      if (fn === undefined) throw new ErrorConstructor(compose(TEXTS.unknownHandle, "id", id));
      const value = ReflectApply(fn, undefined, argumentsOf(argsText));
      envelope = resultEnvelope(await (isPlainPromise(value) ? ownConstructor(value) : value));
    } catch (error) {
      envelope = errorEnvelope(cut(thrownMessage(error)));
    }
    end(number, envelope);
  };

  const takeInvocations = (list) => {
    for (let i = 0; i < list.length; i++) invoke(list[i][0], list[i][1], list[i][2]);
  };

  // All have the same time, so the one that began first is due first.
  const firstDue = () => {
    if (words[PENDING_INVOCATIONS] === 0) return undefined;
    const first = nextOf(MapEntries(pending));
    return first.done ? undefined : first.value;
  };

  const endOverdueInvocations = () => {
    for (let first = firstDue(); first !== undefined && first[1] <= DateNow(); first = firstDue()) {
      end(first[0], errorEnvelope(compose(TEXTS.handleOverdue, "n", run.wallLimit)));
    }
  };

  // Milliseconds until the first invocation is overdue, -1 when none can be.
  const invocationDelay = () => {
    const first = firstDue();
    if (first === undefined || first[1] === Infinity) return -1;
    return MathMin(LONGEST_DELAY, MathMax(0, first[1] - DateNow()));
  };

  return { resetHandles, retainHandle, takeInvocations, endOverdueInvocations, invocationDelay };
})();
