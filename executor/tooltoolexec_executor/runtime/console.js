// The program's console. A line leaves as it is written; past the run's bound lines are only counted.

let logBytes = 0;
let droppedLines = 0;
let groupIndent = "";
let counters;
let stopwatches;

function resetConsole() {
  logBytes = droppedLines = 0;
  groupIndent = "";
  counters = new MapConstructor();
  stopwatches = new MapConstructor();
}

function writeLine(level, text) {
  if (run.settled) return;
  if (groupIndent !== "") text = groupIndent + StringReplaceAll(text, "\n", "\n" + groupIndent);
  if (level === "warn" || level === "trace") text = "[warn] " + text;
  else if (level === "error") text = "[error] " + text;
  // A text whose longest encoding fits needs no measuring.
  const room = run.logLimit - logBytes;
  const bytes = text.length > room ? text.length : MathMax(1, utf8Length(text)); // An empty line is not free.
  if (bytes > room || droppedLines > 0) {
    words[DROPPED_LINES] = ++droppedLines;
    return;
  }
  logBytes += bytes;
  post("l[" + quote(level) + "," + quote(text) + "]\n");
}

// One directive of a format text, or undefined when the letter is none.
function formatDirective(letter, value) {
  switch (letter) {
    case "s":
      return typeof value === "bigint" || typeof value === "object" ? inspect(value, false) : inspectPrimitive(value, false);
    case "d":
    case "i":
    case "f": {
      if (typeof value === "bigint") return BigIntToString(value) + "n";
      if (typeof value === "object" || typeof value === "symbol" || typeof value === "function") return "NaN";
      const number = +value;
      return inspectPrimitive(letter === "i" ? number - (number % 1) : number, true);
    }
    case "j":
    case "o":
    case "O":
      return inspect(value, true);
    case "c":
      return "";
    default:
      return undefined;
  }
}

function formatLine(args) {
  let text = "";
  let used = 0;
  if (args.length > 1 && typeof args[0] === "string") {
    const template = args[0];
    let done = 0;
    used = 1;
    for (let at = StringIndexOf(template, "%"); at !== -1; at = StringIndexOf(template, "%", at)) {
      const letter = StringSlice(template, at + 1, at + 2);
      let filled;
      if (letter === "%") filled = "%";
      else if (used < args.length && letter !== "") filled = formatDirective(letter, args[used]);
      if (filled === undefined) {
        at++;
        continue;
      }
      if (letter !== "%") used++;
      text += StringSlice(template, done, at) + filled;
      done = at += 2;
    }
    text += StringSlice(template, done);
  }
  for (let i = used; i < args.length; i++) text += (i === 0 ? "" : " ") + inspect(args[i], typeof args[i] !== "string");
  return text;
}

const label = (value) => (value === undefined ? "default" : inspectPrimitive(value, false));

function logTimer(name, args, end) {
  const key = label(name);
  const begun = MapGet(stopwatches, key);
  if (begun === undefined) return writeLine("warn", "No such label '" + key + "'");
  if (end) MapDelete(stopwatches, key);
  writeLine("log", key + ": " + (DateNow() - begun) + "ms" + (args.length > 0 ? " " + formatLine(args) : ""));
}

const programConsole = {
  log: (...args) => writeLine("log", formatLine(args)),
  info: (...args) => writeLine("info", formatLine(args)),
  debug: (...args) => writeLine("debug", formatLine(args)),
  warn: (...args) => writeLine("warn", formatLine(args)),
  error: (...args) => writeLine("error", formatLine(args)),
  trace: (...args) => writeLine("trace", "Trace" + (args.length > 0 ? ": " + formatLine(args) : "")),
  dir: (value) => writeLine("log", inspect(value, true)),
  table: (value) => writeLine("log", inspect(value, typeof value !== "string")),
  assert: (condition, ...args) => {
    if (!condition) writeLine("error", "Assertion failed" + (args.length > 0 ? ": " + formatLine(args) : ""));
  },
  count: (name) => {
    const key = label(name);
    const count = (MapGet(counters, key) ?? 0) + 1;
    MapSet(counters, key, count);
    writeLine("log", key + ": " + count);
  },
  countReset: (name) => {
    MapDelete(counters, label(name));
  },
  group: (...args) => {
    if (args.length > 0) writeLine("log", formatLine(args));
    if (groupIndent.length < 100) groupIndent += "  ";
  },
  groupEnd: () => {
    groupIndent = StringSlice(groupIndent, 2);
  },
  time: (name) => {
    MapSet(stopwatches, label(name), DateNow());
  },
  timeLog: (name, ...args) => logTimer(name, args, false),
  timeEnd: (name) => logTimer(name, [], true),
};
programConsole.groupCollapsed = programConsole.group;
defineGlobal("console", programConsole);
