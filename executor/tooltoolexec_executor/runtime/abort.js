// AbortController and AbortSignal, after the DOM standard, and what the runtime itself does with signals: functions that
// are no methods, so that no program stands between.

const { isAbortSignal, isAborted, abortReason, onAbort, makeSignal } = (() => {
  const ReflectSetPrototypeOf = Reflect.setPrototypeOf;
  const SetConstructor = Set;
  const SetAdd = uncurry(Set.prototype.add);
  const SetDelete = uncurry(Set.prototype.delete);
  const token = {};
  let stateOf;
  let isSignal;

  class AbortSignal {
    #state;

    constructor(key = undefined) {
      if (key !== token) throw new TypeErrorConstructor("AbortSignal has no constructor: use AbortController.");
      initTarget(this);
      this.#state = {
        __proto__: null,
        aborted: false,
        reason: undefined,
        last: 0,
        steps: undefined, // The runtime's callbacks, by number.
        sources: undefined, // What a dependent signal follows: only signals that follow none.
        dependents: undefined,
        handler: null,
        endHandler: undefined,
      };
    }

    static {
      stateOf = (signal) => signal.#state;
      isSignal = (value) => typeof value === "object" && value !== null && #state in value;
    }

    static abort(reason = undefined) {
      const signal = makeSignal();
      abortSignal(signal, reason);
      return signal;
    }

    static timeout(milliseconds) {
      const delay = +milliseconds;
      if (!(delay > -1 && delay < 2 ** 53)) {
        throw new TypeErrorConstructor("AbortSignal.timeout needs a number of milliseconds, 0 or more.");
      }
      const signal = makeSignal();
      const expire = () => abortSignal(signal, new DOMExceptionClass("The operation was aborted due to timeout", "TimeoutError"));
      startTimer(expire, MathMin(delay, LONGEST_DELAY), [], false);
      return signal;
    }

    static any(signals) {
      return followSignals(sequenceOf(signals));
    }

    get aborted() {
      return this.#state.aborted;
    }

    get reason() {
      return this.#state.reason;
    }

    get onabort() {
      return this.#state.handler;
    }

    // A handler keeps its place among the listeners until it is taken away.
    set onabort(handler) {
      const state = this.#state;
      state.handler = typeof handler === "function" || typeof handler === "object" ? handler : null;
      if (state.handler === null) {
        state.endHandler?.();
        state.endHandler = undefined;
      } else {
        state.endHandler ??= listenTo(this, "abort", (event) => {
          if (typeof state.handler === "function") ReflectApply(state.handler, this, [event]);
        });
      }
    }

    throwIfAborted() {
      if (this.#state.aborted) throw this.#state.reason;
    }
  }

  const makeSignal = () => new AbortSignal(token);
  const isAborted = (signal) => stateOf(signal).aborted;
  const abortReason = (signal) => stateOf(signal).reason;

  // Call `step` when `signal` aborts, before its listeners; returns what takes it back. Never of one that is aborted.
  function onAbort(signal, step) {
    const state = stateOf(signal);
    if (state.aborted) return () => {};
    const number = ++state.last;
    state.steps ??= new MapConstructor();
    MapSet(state.steps, number, step);
    return () => {
      if (state.steps !== undefined) MapDelete(state.steps, number);
    };
  }

  // Abort `signal` and all that follow it: each knows its reason before any listener runs.
  function abortSignal(signal, reason) {
    const state = stateOf(signal);
    if (state.aborted) return;
    if (reason === undefined) reason = new DOMExceptionClass("This operation was aborted", "AbortError");
    state.aborted = true;
    state.reason = reason;
    const reached = new MapConstructor();
    MapSet(reached, signal, state);
    if (state.dependents !== undefined) {
      SetForEach(state.dependents, (dependent) => {
        const own = stateOf(dependent);
        if (own.aborted) return;
        own.aborted = true;
        own.reason = reason;
        MapSet(reached, dependent, own);
      });
      state.dependents = undefined;
    }
    MapForEach(reached, runSteps);
  }

  function runSteps(state, signal) {
    const { steps } = state;
    state.steps = undefined;
    if (steps !== undefined) MapForEach(steps, (step) => step());
    if (state.sources !== undefined) SetForEach(state.sources, (source) => forget(stateOf(source), signal));
    state.sources = undefined;
    fireEvent(signal, "abort");
  }

  function forget(source, dependent) {
    if (source.dependents !== undefined) SetDelete(source.dependents, dependent);
  }

  // A signal that aborts as soon as one of the array's does, with the same reason.
  function followSignals(signals) {
    const signal = makeSignal();
    const state = stateOf(signal);
    for (let i = 0; i < signals.length; i++) {
      if (!isSignal(signals[i])) throw new TypeErrorConstructor("AbortSignal.any needs signals.");
    }
    for (let i = 0; i < signals.length; i++) {
      const source = stateOf(signals[i]);
      if (!source.aborted) continue;
      state.aborted = true;
      state.reason = source.reason;
      return signal;
    }
    state.sources = new SetConstructor();
    for (let i = 0; i < signals.length; i++) {
      const source = stateOf(signals[i]);
      if (source.sources === undefined) follow(signal, state, signals[i]);
      else SetForEach(source.sources, (original) => follow(signal, state, original));
    }
    return signal;
  }

  function follow(signal, state, original) {
    SetAdd(state.sources, original);
    const source = stateOf(original);
    source.dependents ??= new SetConstructor();
    SetAdd(source.dependents, signal);
  }

  class AbortController {
    #signal = makeSignal();

    get signal() {
      return this.#signal;
    }

    abort(reason = undefined) {
      abortSignal(this.#signal, reason);
    }
  }

  ReflectSetPrototypeOf(AbortSignal, EventTargetClass);
  ReflectSetPrototypeOf(AbortSignal.prototype, EventTargetClass.prototype);
  defineInterface(AbortSignal);
  defineInterface(AbortController);
  return { isAbortSignal: isSignal, isAborted, abortReason, onAbort, makeSignal };
})();
