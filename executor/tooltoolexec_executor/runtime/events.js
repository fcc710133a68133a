// Event and EventTarget, after the DOM standard. There is no tree: an event is dispatched to one target and nowhere else.

const { EventTargetClass, initTarget, listenTo, fireEvent } = (() => {
  const WeakMapGet = uncurry(WeakMap.prototype.get);
  const WeakMapSet = uncurry(WeakMap.prototype.set);
  const AT_TARGET = 2;

  const flag = (options, key) => options !== undefined && options !== null && !!options[key];
  let stateOf;

  class Event {
    #state;

    constructor(type, options = undefined) {
      if (arguments.length === 0) throw new TypeErrorConstructor("An Event needs a type.");
      const isDictionary = options === undefined || typeof options === "object" || typeof options === "function";
      if (!isDictionary) throw new TypeErrorConstructor("The options of an Event must be an object.");
      this.#state = {
        __proto__: null,
        type: `${type}`,
        bubbles: flag(options, "bubbles"),
        cancelable: flag(options, "cancelable"),
        composed: flag(options, "composed"),
        timeStamp: performanceNow(),
        target: null,
        isTrusted: false,
        isDispatched: false, // While its listeners run.
        isCancelled: false,
        isStopped: false,
        isStoppedNow: false,
        isPassive: false,
      };
    }

    static {
      stateOf = (event) => (typeof event === "object" && event !== null && #state in event ? event.#state : undefined);
    }

    get type() {
      return this.#state.type;
    }

    get target() {
      return this.#state.target;
    }

    get srcElement() {
      return this.#state.target;
    }

    get currentTarget() {
      return this.#state.isDispatched ? this.#state.target : null;
    }

    get eventPhase() {
      return this.#state.isDispatched ? AT_TARGET : 0;
    }

    get bubbles() {
      return this.#state.bubbles;
    }

    get cancelable() {
      return this.#state.cancelable;
    }

    get composed() {
      return this.#state.composed;
    }

    get defaultPrevented() {
      return this.#state.isCancelled;
    }

    get returnValue() {
      return !this.#state.isCancelled;
    }

    set returnValue(value) {
      if (!value) cancel(this.#state);
    }

    get cancelBubble() {
      return this.#state.isStopped;
    }

    set cancelBubble(value) {
      if (value) this.#state.isStopped = true;
    }

    get timeStamp() {
      return this.#state.timeStamp;
    }

    get isTrusted() {
      return this.#state.isTrusted;
    }

    composedPath() {
      return this.#state.isDispatched ? [this.#state.target] : [];
    }

    preventDefault() {
      cancel(this.#state);
    }

    stopPropagation() {
      this.#state.isStopped = true;
    }

    stopImmediatePropagation() {
      this.#state.isStopped = this.#state.isStoppedNow = true;
    }
  }

  function cancel(state) {
    if (state.cancelable && !state.isPassive) state.isCancelled = true;
  }

  // A target's listeners by number, in the order in which they came. Not private fields: an object of the runtime that
  // is a target, too, is made without asking who its class descends from now.
  const targets = new WeakMap();

  function initTarget(target) {
    WeakMapSet(targets, target, { __proto__: null, last: 0, listeners: new MapConstructor() });
  }

  function targetOf(value) {
    const isObject = typeof value === "object" && value !== null;
    const target = isObject ? WeakMapGet(targets, value) : undefined;
    if (target === undefined) throw new TypeErrorConstructor("This is no EventTarget.");
    return target;
  }

  function add(target, listener) {
    const number = ++target.last;
    MapSet(target.listeners, number, listener);
    return number;
  }

  // The number of the listener of these three, which identify it; 0 when there is none.
  function find(target, type, callback, capture) {
    let found = 0;
    MapForEach(target.listeners, (listener, number) => {
      if (listener.callback === callback && listener.type === type && listener.capture === capture) found = number;
    });
    return found;
  }

  // Have the runtime's own `callback` called at each event of `type`, in turn with the program's; returns what ends it.
  function listenTo(value, type, callback) {
    const target = targetOf(value);
    const number = add(target, { __proto__: null, type, callback, capture: false, once: false, passive: false });
    return () => MapDelete(target.listeners, number);
  }

  function callListener(callback, current, event) {
    try {
      if (typeof callback === "function") {
        ReflectApply(callback, current, [event]);
        return;
      }
      const handle = callback.handleEvent;
      if (typeof handle !== "function") throw new TypeErrorConstructor("The listener's handleEvent is not a function.");
      ReflectApply(handle, callback, [event]);
    } catch (error) {
      noticeUncaught(error);
    }
  }

  // Call the listeners there are; those that come meanwhile wait for the next event. False when it was cancelled.
  function dispatch(current, target, event, state) {
    const { last } = target;
    state.target = current;
    state.isDispatched = true;
    state.isStoppedNow ||= state.isStopped; // Stopped before it began.
    MapForEach(target.listeners, (listener, number) => {
      if (number > last || state.isStoppedNow || listener.type !== state.type) return;
      if (listener.once) MapDelete(target.listeners, number);
      state.isPassive = listener.passive;
      callListener(listener.callback, current, event);
      state.isPassive = false;
    });
    state.isDispatched = state.isStopped = state.isStoppedNow = false;
    return !state.isCancelled;
  }

  // Dispatch an event of the runtime's own.
  function fireEvent(value, type) {
    const target = targetOf(value);
    if (MapSize(target.listeners) === 0) return;
    const event = new Event(type);
    const state = stateOf(event);
    state.isTrusted = true;
    dispatch(value, target, event, state);
  }

  // Whether `callback` can be a listener; null is none, as the standard says, and anything else is refused.
  function isListener(callback) {
    if (callback === undefined || callback === null) return false;
    if (typeof callback === "function" || typeof callback === "object") return true;
    throw new TypeErrorConstructor("A listener must be a function or an object with handleEvent.");
  }

  const captureOf = (options) =>
    typeof options === "object" || typeof options === "function" ? flag(options, "capture") : !!options;

  class EventTarget {
    constructor() {
      initTarget(this);
    }

    addEventListener(type, callback, options = undefined) {
      const target = targetOf(this);
      const hasOptions = (typeof options === "object" && options !== null) || typeof options === "function";
      const capture = captureOf(options);
      const once = hasOptions && !!options.once;
      const passive = hasOptions && !!options.passive;
      const signal = hasOptions ? options.signal : undefined;
      type = `${type}`;
      if (signal !== undefined && !isAbortSignal(signal)) {
        throw new TypeErrorConstructor("The option signal of a listener must be an AbortSignal.");
      }
      if (!isListener(callback) || find(target, type, callback, capture) !== 0) return;
      if (signal !== undefined && isAborted(signal)) return;
      const number = add(target, { __proto__: null, type, callback, capture, once, passive });
      if (signal !== undefined) onAbort(signal, () => MapDelete(target.listeners, number));
    }

    removeEventListener(type, callback, options = undefined) {
      const target = targetOf(this);
      const capture = captureOf(options);
      type = `${type}`;
      if (isListener(callback)) MapDelete(target.listeners, find(target, type, callback, capture));
    }

    dispatchEvent(event) {
      const target = targetOf(this);
      const state = stateOf(event);
      if (state === undefined) throw new TypeErrorConstructor("dispatchEvent needs an Event.");
      if (state.isDispatched) throw new DOMExceptionClass("The event is already being dispatched.", "InvalidStateError");
      state.isTrusted = false;
      return dispatch(this, target, event, state);
    }
  }

  defineInterface(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET, BUBBLING_PHASE: 3 });
  defineInterface(EventTarget);
  return { EventTargetClass: EventTarget, initTarget, listenTo, fireEvent };
})();
