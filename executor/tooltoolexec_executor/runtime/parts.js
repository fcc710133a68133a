// The parts of the runtime after this first one, for programs that need them: the console, then the web's globals. Each is
// evaluated once, before there is a program, in the scope of the one before.

// A direct eval, which only this place and the ends of the parts have.
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

// A value as text, as the console has it. Programs that could want this and have no console have hidden that they do.
const inspected = (value) => (consolePart === undefined ? TEXTS.unshowable : consolePart.inspect(value, false));

// An exception that nobody can catch any more is told in the log.
function noticeUncaught(error) {
  if (consolePart !== undefined) consolePart.noticeUncaught(error);
}
