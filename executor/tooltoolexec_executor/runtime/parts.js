// The parts of the runtime after this first one, for programs that need them: the console, then the web's globals. Each is
// evaluated once, before there is a program of a client's, in the scope of the one before.

// A direct eval, which only this place and the end of the console's part have.
let evaluatePart = (text) => eval(text);
let partsLeft = 2;

function loadPart(text) {
  if (--partsLeft === 0) delete globalThis.__load;
  evaluatePart(text);
}

// V8's own, which writes nowhere.
delete globalThis.console;

// What the console's part has for this one: `console`, `inspect`, `reset` and `noticeUncaught`; undefined without it.
let consolePart;

// What is thrown besides errors and primitive values, as the console has it. `needs.py` finds nearly all programs that
// may throw such a thing.
const inspected = (value) => (consolePart === undefined ? TEXTS.unshowable : consolePart.inspect(value, false));

// An exception that nobody can catch any more is told in the log.
function noticeUncaught(error) {
  if (consolePart !== undefined) consolePart.noticeUncaught(error);
}
