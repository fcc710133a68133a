// The promises the runtime makes: those it awaits itself, and those of tool calls, which notice who awaits them.

const { ownPromise, ownConstructor, Call, watch, forgetCalls, warnUnawaited } = (() => {
  const MOST_NAMED = 10;
  const LONGEST_PART = 200;

  // Its constructor gives back the promise it gets, so the fields of a class below it are put on that promise. That is
  // the fastest way to give a promise a property.
  class Given {
    constructor(promise) {
      return promise;
    }
  }

  class Own extends Given {
    ["constructor"] = PromiseConstructor;

    constructor(promise) {
      super(promise);
    }
  }

  // A promise for the runtime alone. `await` asks a promise's `constructor`: this one's own, not one of a prototype
  // that a program could have changed.
  const ownPromise = (executor) => new Own(new PromiseConstructor(executor));

  // The same for a promise of the program's, which the runtime is about to await: there the property must not show.
  function ownConstructor(promise) {
    Watched.touch(promise);
    ReflectDefineProperty(promise, "constructor", { __proto__: null, value: PromiseConstructor });
    return promise;
  }

  // Where the ring of calls begins whose promises nobody has touched yet, oldest first.
  let ring;

  // A tool call: whose it is, what takes its answer, and how it ended. Its prototype has none of its own, so that no
  // setter of a program sees these properties made; declared fields would cost every call more.
  class Call {
    static {
      ReflectSetPrototypeOf(Call.prototype, null);
    }

    constructor(provider, tool, names = undefined) {
      this.provider = provider;
      this.tool = tool;
      this.names = names; // Both as they are sent, where they are quoted already.
      this.resolve = undefined;
      this.ending = "had not finished";
      this.before = undefined;
      this.after = undefined;
    }

    // Of what was thrown only an Error's own text is read: the rest could run the program.
    failed(error) {
      let message;
      if (typeof error === "object" && error !== null && ErrorIsError(error)) message = dataProperty(error, "message");
      this.ending = "failed" + (typeof message === "string" && message !== "" ? ": " + beginning(message) : "");
    }
  }

  // Without the full stop of a message: the warning has its own.
  function beginning(text) {
    if (text.length > LONGEST_PART) {
      const last = StringCharCodeAt(text, LONGEST_PART - 1);
      return StringSlice(text, 0, LONGEST_PART - (last >= 0xd800 && last < 0xdc00 ? 1 : 0)) + "…";
    }
    return text !== "" && text[text.length - 1] === "." ? StringSlice(text, 0, -1) : text;
  }

  class Watched extends Given {
    #call;

    constructor(promise, call) {
      super(promise);
      this.#call = call;
    }

    // Take the call of a promise of this kind out of the ring.
    static touch(promise) {
      if (typeof promise !== "object" || promise === null || !(#call in promise)) return;
      const call = promise.#call;
      if (call.after === undefined) return;
      call.before.after = call.after;
      call.after.before = call.before;
      call.before = call.after = undefined;
    }
  }

  // `await`, `then` and Promise.all all ask for the constructor. As one function for every promise it costs them least.
  // A literal with `__proto__` would be a dictionary, which takes longer to read.
  const constructorProperty = {
    get() {
      Watched.touch(this);
      return PromiseConstructor;
    },
    set(value) {
      Watched.touch(this);
      if (typeof this === "object" && this !== null) ownValue(this, "constructor", value);
    },
    enumerable: false,
    configurable: true,
  };
  ReflectSetPrototypeOf(constructorProperty, null);

  // Give the promise of `call` to the program.
  function watch(promise, call) {
    new Watched(promise, call);
    ReflectDefineProperty(promise, "constructor", constructorProperty);
    if (run.settled) return promise;
    call.before = ring.before;
    call.after = ring;
    ring.before = call.before.after = call;
    return promise;
  }

  function forgetCalls() {
    ring = { __proto__: null, before: undefined, after: undefined };
    ring.before = ring.after = ring;
  }

  // Warn of every call whose promise nobody touched: of the first ones by name.
  function warnUnawaited() {
    let count = 0;
    for (let call = ring.after; call !== ring; call = call.after) {
      if (++count > MOST_NAMED) continue;
      const provider = beginning(call.provider); // Empty for `fetch`, which is nobody's tool.
      const name = (provider === "" ? "" : provider + ".") + beginning(call.tool);
      warn(compose(TEXTS.unawaited, "call", name, "ending", call.ending));
    }
    if (count > MOST_NAMED) warn(compose(TEXTS.moreUnawaited, "n", count - MOST_NAMED));
  }

  return { ownPromise, ownConstructor, Call, watch, forgetCalls, warnUnawaited };
})();
