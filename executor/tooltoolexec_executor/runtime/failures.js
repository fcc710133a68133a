// What a thrown value says to the host, and what a program may read of a stack: its own frames, its own lines.

const PROGRAM = "program.js";
const LONGEST_MESSAGE = 256 * 1024;

const INSERTED = "return ".length;

// The text of a frame that is the program's, its line counted from the program's first; empty for any other.
function frameText(site) {
  if (CallSiteSource(site) !== PROGRAM) return "";
  const line = CallSiteLine(site) - run.linesBefore;
  if (line < 1 || line > run.lines) return "";
  let column = CallSiteColumn(site);
  if (line === run.movedLine && column > run.movedColumn) column -= INSERTED;
  const name = CallSiteFunctionName(site);
  const place = PROGRAM + ":" + line + ":" + column;
  const prefix = "\n    at " + (CallSiteIsAsync(site) ? "async " : "");
  return prefix + (name === null || name === "eval" || name === "__entry.value" ? place : name + " (" + place + ")");
}

function describeError(error) {
  try {
    return ErrorToString(error);
  } catch {
    return "Error";
  }
}

function formatStack(error, sites) {
  let text = describeError(error);
  for (let i = 0; i < sites.length; i++) text += frameText(sites[i]);
  return text;
}

ReflectDefineProperty(ErrorConstructor, "prepareStackTrace", {
  __proto__: null,
  get: () => formatStack,
  set: () => {}, // A program's own hook would run whenever the runtime reads a stack.
  enumerable: false,
  configurable: false,
});

function stackOf(error) {
  try {
    const stack = error.stack;
    return typeof stack === "string" ? stack : undefined;
  } catch {
    return undefined;
  }
}

// The whole number at `at` in `text`, and where it ends.
function numberAt(text, at) {
  let value = 0;
  let end = at;
  for (; end < text.length; end++) {
    const digit = StringCharCodeAt(text, end) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  return { __proto__: null, value, end };
}

// A program may write any text into a stack: what is no count of lines could break the outcome it is put into.
const isPlace = (value) => value > 0 && value < 2 ** 31;

// Line and column of the first program frame of a stack text.
function positionIn(stack) {
  const at = stack === undefined ? -1 : StringIndexOf(stack, PROGRAM + ":");
  if (at === -1) return undefined;
  const line = numberAt(stack, at + PROGRAM.length + 1);
  const column = numberAt(stack, line.end + 1);
  if (!isPlace(line.value) || !isPlace(column.value)) return undefined;
  return { __proto__: null, line: line.value, column: column.value };
}

function cut(text) {
  if (text.length <= LONGEST_MESSAGE) return text;
  const last = StringCharCodeAt(text, LONGEST_MESSAGE - 1);
  return StringSlice(text, 0, LONGEST_MESSAGE - (last >= 0xd800 && last < 0xdc00 ? 1 : 0)) + "…";
}

function errorMessage(error) {
  const message = error.message;
  if (typeof message === "string" && message !== "") return message;
  if (message !== undefined && message !== "") return inspected(message);
  const name = error.name;
  return typeof name === "string" && name !== "" ? name : "Error";
}

function primitiveText(value) {
  switch (typeof value) {
    case "symbol":
      return SymbolToString(value);
    case "bigint":
      return BigIntToString(value) + "n";
    case "number":
      return value === 0 && 1 / value < 0 ? "-0" : "" + value;
    default:
      return "" + value;
  }
}

function thrownMessage(thrown) {
  try {
    if (typeof thrown === "function") return inspected(thrown);
    if (typeof thrown !== "object" || thrown === null) return primitiveText(thrown);
    if (ErrorIsError(thrown)) return errorMessage(thrown);
    return stringifyValue(thrown, "error") ?? TEXTS.unshowable;
  } catch {
    return TEXTS.unshowable;
  }
}

// The failure of a run that threw, as the JSON text of the protocol's Failure.
function failureText(kind, message, thrown) {
  let text = '{"kind":' + quote(kind) + ',"message":' + quote(cut(message));
  if (typeof thrown === "object" && thrown !== null && ErrorIsError(thrown)) {
    const stack = stackOf(thrown);
    const position = positionIn(stack);
    let name;
    try {
      name = thrown.name;
    } catch {
      name = undefined;
    }
    if (typeof name === "string") text += ',"name":' + quote(cut(name));
    if (position !== undefined) text += ',"line":' + position.line + ',"column":' + position.column;
    if (stack !== undefined) text += ',"stack":' + quote(cut(stack));
  }
  return text + "}";
}
