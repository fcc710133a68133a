// setTimeout, setInterval and their clears, over the worker's clock. The worker waits; one due timer fires a step, so
// that microtasks run between two of them.

const LONGEST_DELAY = 2 ** 31 - 1;

// A binary heap by due time, then by age. Slot n's children are 2n and 2n+1; slot 0 is unused. Heap and index are
// keyed objects without a prototype, because growing an array could reach a setter.
class TimerHeap {
  slots = { __proto__: null };
  size = 0;
  lastId = 0;
  byId = new MapConstructor();

  earlier(a, b) {
    return a.due < b.due || (a.due === b.due && a.order < b.order);
  }

  add(timer) {
    let slot = ++this.size;
    for (let up = slot >> 1; up > 0 && this.earlier(timer, this.slots[up]); up = slot >> 1) {
      this.slots[slot] = this.slots[up];
      slot = up;
    }
    this.slots[slot] = timer;
  }

  // The earliest timer that was not cleared, still in the heap; undefined when there is none.
  first() {
    while (this.size > 0 && this.slots[1].cleared) this.removeFirst();
    return this.size > 0 ? this.slots[1] : undefined;
  }

  removeFirst() {
    const last = this.slots[this.size];
    delete this.slots[this.size--];
    if (this.size === 0) return;
    let slot = 1;
    for (let down = 2; down <= this.size; down = slot * 2) {
      if (down < this.size && this.earlier(this.slots[down + 1], this.slots[down])) down++;
      if (!this.earlier(this.slots[down], last)) break;
      this.slots[slot] = this.slots[down];
      slot = down;
    }
    this.slots[slot] = last;
  }
}

let timers;

function delayOf(delay) {
  const number = +delay;
  return number >= 1 && number <= LONGEST_DELAY ? number - (number % 1) : 1;
}

function startTimer(callback, delay, args, every) {
  if (typeof callback !== "function") throw new TypeErrorConstructor("The callback of a timer must be a function.");
  const id = ++timers.lastId;
  const wait = delayOf(delay);
  const timer = { __proto__: null, id, order: id, due: DateNow() + wait, every: every ? wait : 0, callback, args };
  timer.cleared = false;
  MapSet(timers.byId, id, timer);
  timers.add(timer);
  return id;
}

// An arrow function, as all that programs are given: no prototype, no constructor.
const clearTimer = (id) => {
  const timer = typeof id === "number" ? MapGet(timers.byId, id) : undefined;
  if (timer === undefined) return;
  timer.cleared = true;
  timer.callback = timer.args = undefined;
  MapDelete(timers.byId, id);
};

// Fire the earliest timer if it is due. An exception in it is the program's, and like a rejection nobody awaits.
function fireDueTimer() {
  const timer = timers.first();
  if (timer === undefined || timer.due > DateNow()) return;
  timers.removeFirst();
  const { callback, args } = timer;
  if (timer.every > 0) {
    timer.due = DateNow() + timer.every;
    timer.order = ++timers.lastId;
    timers.add(timer);
  } else {
    MapDelete(timers.byId, timer.id);
  }
  try {
    ReflectApply(callback, undefined, args);
  } catch (error) {
    noticeUncaught(error);
  }
}

// Milliseconds until the next timer, -1 without one.
function timerDelay() {
  const timer = timers.first();
  return timer === undefined ? -1 : MathMax(0, timer.due - DateNow());
}

const defineGlobal = (name, value) =>
  ReflectDefineProperty(globalThis, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

defineGlobal("setTimeout", (callback, delay, ...args) => startTimer(callback, delay, args, false));
defineGlobal("setInterval", (callback, delay, ...args) => startTimer(callback, delay, args, true));
defineGlobal("clearTimeout", clearTimer);
defineGlobal("clearInterval", clearTimer);
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
