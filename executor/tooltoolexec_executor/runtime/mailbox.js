// The only door between the runtime and the worker's Python: one private ArrayBuffer and one function, `notify`.
//
// Out: records are written into the buffer one after another, each a kind letter, JSON text and a newline; the head is
// published last. Python takes them when the isolate rests, when the watchdog's clock ticks (so nothing is lost in a
// busy loop), or at once after `notify`. While JavaScript runs, only JavaScript moves the head, and Python only reads;
// inside `notify` and while the isolate rests Python may set it back to 0.
// In: Python writes text into the second area while the isolate rests, then calls a function that takes it.

const words = new Int32Array(MAILBOX.buffer, 0, 16);
const outArea = new Uint16Array(MAILBOX.buffer, MAILBOX.outStart, MAILBOX.outUnits);
const inBytes = new Uint8Array(MAILBOX.buffer, MAILBOX.inStart, MAILBOX.inBytes);
const inUnits = new Uint16Array(MAILBOX.buffer, MAILBOX.inStart, MAILBOX.inBytes / 2);
const OUT_UNITS = MAILBOX.outUnits;
const notify = MAILBOX.notify;
delete globalThis.MAILBOX;

// Indices of `words`, as worker/mailbox.py names them.
const HEAD = 0;
const PENDING_CALLS = 1;
const TIMER_DELAY = 2;
const IN_LENGTH = 3;
const IN_WIDTH = 4;
const DROPPED_LINES = 5;
const SENT_CALLS = 6;
const COMMAND = 7;
const PENDING_INVOCATIONS = 8;

// Commands.
const SETTLE = 0;
const FEED = 1;
const WAITS = 2;

// Write `text` behind the head and publish it; a text larger than the area leaves in parts.
function post(text) {
  let done = 0;
  while (done < text.length) {
    const head = words[HEAD];
    const part = MathMin(text.length - done, OUT_UNITS - head);
    for (let i = 0; i < part; i++) outArea[head + i] = StringCharCodeAt(text, done + i);
    AtomicsStore(words, HEAD, head + part);
    done += part;
    if (done < text.length) notify();
  }
}

// Arrays whose every index exists, so that filling them reaches no setter: what fromCharCode is applied to.
const makeChunk = (length) => ({ __proto__: null, length, units: new Array(length).fill(0) });
const chunks = [makeChunk(2048), makeChunk(64), makeChunk(1)];

// The first `length` elements of a typed array as text, a unit each.
function textOfUnits(area, length) {
  let text = "";
  let at = 0;
  for (let size = 0; size < 3; size++) {
    const chunk = chunks[size];
    const units = chunk.units;
    while (length - at >= chunk.length) {
      for (let i = 0; i < chunk.length; i++) units[i] = area[at + i];
      text += ReflectApply(StringFromCharCode, undefined, units);
      at += chunk.length;
    }
  }
  return text;
}

// The text Python left in the in area: bytes of ASCII (width 1) or UTF-16 units (width 2).
function takeInbound() {
  const text = textOfUnits(words[IN_WIDTH] === 1 ? inBytes : inUnits, words[IN_LENGTH]);
  words[IN_LENGTH] = 0;
  return text;
}

// A message too large for the area comes in parts; the last one is taken by `takeMessage`.
let inboundParts;
function feed() {
  inboundParts += takeInbound();
}
function takeMessage() {
  const text = inboundParts + takeInbound();
  inboundParts = "";
  return text;
}
