// setTimeout, setInterval and their clears, and queueMicrotask, over the worker's clock. The worker waits; one due timer
// fires a step, so that microtasks run between two of them.

const LONGEST_DELAY = 2 ** 31 - 1;

// One of a class takes a third of the memory of a literal without a prototype. That of its prototype is none, so that no
// setter of a program sees its properties made.
class Timer {
  static {
    ReflectSetPrototypeOf(Timer.prototype, null);
  }

  constructor(id, wait, repeats, callback, args) {
    this.id = id;
    this.wait = wait;
    this.due = DateNow() + wait;
    this.order = 0;
    this.slot = 0;
    this.repeats = repeats;
    this.callback = callback;
    this.args = args;
  }
}

// The timers by id, and in a binary heap by due time, then by the order in which they were set. Slot n's children are 2n
// and 2n+1; slot 0 is unused. A timer knows its slot, so that one cleared leaves at once. Slots are a keyed object
// without a prototype, because growing an array could reach a setter.
//
// Near the end of the stack any call may throw and leave the heap half changed. The index, which one call changes, is
// what counts then: the heap is made anew from it before it is next used.
class Timers {
  byId = new MapConstructor();
  slots = { __proto__: null };
  size = 0;
  isWhole = true;
  lastId = 0;
  lastOrder = 0;
  firing = undefined;

  // The clock may have ticked between two timers set together: at one due time the shorter wait comes first.
  earlier(a, b) {
    if (a.due !== b.due) return a.due < b.due;
    return a.wait !== b.wait ? a.wait < b.wait : a.order < b.order;
  }

  place(timer, slot) {
    this.slots[slot] = timer;
    timer.slot = slot;
  }

  // Put `timer` where it belongs from the free `slot` upwards.
  rise(timer, slot) {
    for (let up = slot >> 1; up > 0 && this.earlier(timer, this.slots[up]); up = slot >> 1) {
      this.place(this.slots[up], slot);
      slot = up;
    }
    this.place(timer, slot);
  }

  // Put `timer` where it belongs from the free `slot` downwards.
  sink(timer, slot) {
    for (let down = slot * 2; down <= this.size; down = slot * 2) {
      if (down < this.size && this.earlier(this.slots[down + 1], this.slots[down])) down++;
      if (!this.earlier(this.slots[down], timer)) break;
      this.place(this.slots[down], slot);
      slot = down;
    }
    this.place(timer, slot);
  }

  mend() {
    if (this.isWhole) return;
    this.slots = { __proto__: null };
    this.size = 0;
    MapForEach(this.byId, (timer) => this.rise(timer, ++this.size));
    this.isWhole = true;
  }

  add(timer) {
    this.mend();
    timer.order = ++this.lastOrder;
    this.isWhole = false;
    this.rise(timer, ++this.size);
    MapSet(this.byId, timer.id, timer);
    this.isWhole = true;
  }

  remove(timer) {
    this.mend();
    this.isWhole = false;
    MapDelete(this.byId, timer.id);
    const { slot } = timer;
    const last = this.slots[this.size];
    this.slots[this.size--] = undefined;
    if (last !== timer) {
      if (slot > 1 && this.earlier(last, this.slots[slot >> 1])) this.rise(last, slot);
      else this.sink(last, slot);
    }
    this.isWhole = true;
  }

  // The earliest timer; undefined when there is none.
  first() {
    this.mend();
    return this.size > 0 ? this.slots[1] : undefined;
  }
}

let timers;

function delayOf(delay) {
  const number = +delay;
  return number >= 1 && number <= LONGEST_DELAY ? number - (number % 1) : 1;
}

function startTimer(callback, delay, args, repeats) {
  if (typeof callback !== "function") throw new TypeErrorConstructor("The callback of a timer must be a function.");
  const wait = delayOf(delay);
  const id = ++timers.lastId;
  timers.add(new Timer(id, wait, repeats, callback, args));
  return id;
}

function clearTimer(id) {
  if (typeof id === "string") id = +id;
  const timer = MapGet(timers.byId, id);
  if (timer !== undefined) timers.remove(timer);
  else if (timers.firing !== undefined && timers.firing.id === id) timers.firing.repeats = false;
}

// Fire the earliest timer if it is due. An exception in it is the program's, and like a rejection nobody awaits. An
// interval counts from the end of its callback.
function fireDueTimer() {
  const timer = timers.first();
  if (timer === undefined || timer.due > DateNow()) return;
  timers.remove(timer);
  timers.firing = timer;
  try {
    ReflectApply(timer.callback, undefined, timer.args);
  } catch (error) {
    noticeUncaught(error);
  }
  timers.firing = undefined;
  if (timer.repeats) {
    timer.due = DateNow() + timer.wait;
    timers.add(timer);
  }
}

// Milliseconds until the next timer, -1 without one.
function timerDelay() {
  const timer = timers.first();
  return timer === undefined ? -1 : MathMax(0, timer.due - DateNow());
}

function defineGlobal(name, value) {
  // A function written where it is passed has no name yet.
  if (typeof value === "function" && value.name === "") {
    ReflectDefineProperty(value, "name", { __proto__: null, value: name });
  }
  const descriptor = { __proto__: null, value, writable: true, enumerable: false, configurable: true };
  return ReflectDefineProperty(globalThis, name, descriptor);
}

// Arrow functions, as all that programs are given: no prototype, no constructor.
defineGlobal("setTimeout", (callback, delay, ...args) => startTimer(callback, delay, args, false));
defineGlobal("setInterval", (callback, delay, ...args) => startTimer(callback, delay, args, true));
defineGlobal("clearTimeout", (id) => clearTimer(id));
defineGlobal("clearInterval", (id) => clearTimer(id));
defineGlobal("queueMicrotask", (callback) => {
  if (typeof callback !== "function") throw new TypeErrorConstructor("queueMicrotask needs a function.");
  const run = async () => {
    await undefined;
    try {
      callback();
    } catch (error) {
      noticeUncaught(error);
    }
  };
  run();
});
