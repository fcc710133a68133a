// The program's console, as https://console.spec.whatwg.org has it and Node writes it. A line leaves as it is written;
// past the run's bound lines are only counted. No method throws, and none runs the program's code.

(() => {
  const DEEPEST_GROUP = 50;
  const prefixes = { __proto__: null, warn: "[warn] ", trace: "[warn] ", error: "[error] " };
  const ErrorCaptureStackTrace = Error.captureStackTrace;
  const NumberToFixed = uncurry(Number.prototype.toFixed);
  let logBytes;
  let droppedLines;
  let groupIndent;
  let counts;
  let stopwatches;

  const reset = () => {
    logBytes = droppedLines = 0;
    groupIndent = "";
    counts = new MapConstructor();
    stopwatches = new MapConstructor();
  };

  function drop() {
    words[DROPPED_LINES] = ++droppedLines;
  }

  function writeLine(level, text) {
    if (run.settled && !run.retained) return;
    const room = run.logLimit - logBytes;
    if (text.length > room || droppedLines > 0) return drop();
    if (groupIndent !== "") text = groupIndent + StringReplaceAll(text, "\n", "\n" + groupIndent);
    text = (prefixes[level] ?? "") + text;
    const bytes = MathMax(1, utf8Length(text)); // An empty line is not free.
    if (bytes > room) return drop();
    logBytes += bytes;
    post("l[" + quote(level) + "," + quote(text) + "]\n");
  }

  // An argument that is not there is not looked for on the prototype of arrays.
  const argument = (args, index) => (index < args.length ? args[index] : undefined);

  // A label as text; what is no primitive is as it is inspected.
  function labelOf(args) {
    const label = argument(args, 0);
    return label === undefined ? "default" : inspect(label, false);
  }

  const twoDigits = (number) => (number < 10 ? "0" : "") + number;

  // Milliseconds as people read them.
  function durationText(ms) {
    if (ms < 1000) return +NumberToFixed(ms, 3) + "ms";
    if (ms < 60_000) return NumberToFixed(ms / 1000, 3) + "s";
    const seconds = (ms % 60_000) / 1000;
    const minutes = (ms - (ms % 60_000)) / 60_000;
    const hours = (minutes - (minutes % 60)) / 60;
    const rest = (seconds < 10 ? "0" : "") + NumberToFixed(seconds, 3);
    if (hours === 0) return minutes + ":" + rest + " (m:ss.mmm)";
    return hours + ":" + twoDigits(minutes % 60) + ":" + rest + " (h:mm:ss.mmm)";
  }

  // `args` but the first, as a list.
  function rest(args) {
    const list = newList();
    for (let i = 1; i < args.length; i++) append(list, args[i]);
    return list;
  }

  function writeTime(method, args, ends) {
    const label = labelOf(args);
    const begun = MapGet(stopwatches, label);
    if (begun === undefined) return writeLine("warn", "No such label '" + label + "' for console." + method + "()");
    if (ends) MapDelete(stopwatches, label);
    const more = !ends && args.length > 1 ? " " + formatLine(rest(args)) : "";
    writeLine("log", label + ": " + durationText(performanceNow() - begun) + more);
  }

  function writeTrace(method, args) {
    const message = args.length > 0 ? formatLine(args) : "";
    // The stack's first line comes from these two, whatever a program made of the prototypes of errors.
    const trace = { __proto__: null, name: "Trace", message };
    ErrorCaptureStackTrace(trace, method);
    const { stack } = trace;
    // A program can have asked for no stacks at all.
    writeLine("trace", typeof stack === "string" ? stack : "Trace" + (message === "" ? "" : ": " + message));
  }

  function writeAssertion(args) {
    const list = rest(args);
    if (list.length === 0) return writeLine("error", "Assertion failed");
    if (typeof list[0] === "string") list[0] = "Assertion failed: " + list[0];
    else return writeLine("error", "Assertion failed: " + formatLine(list));
    writeLine("error", formatLine(list));
  }

  function dirSettings(options) {
    const depth = isReadable(options) ? dataProperty(options, "depth") : undefined;
    const hidden = isReadable(options) && dataProperty(options, "showHidden") === true;
    return makeSettings(depth === null ? Infinity : typeof depth === "number" ? depth : 2, hidden);
  }

  function writeTable(value, columns) {
    if (typeof value !== "object" || !isReadable(value)) return writeLine("log", inspect(value, false));
    let only;
    if (isReadable(columns) && ArrayIsArray(columns)) {
      only = newList();
      for (let i = 0; i < columns.length && i < 100; i++) {
        const column = dataProperty(columns, i);
        if (typeof column === "string" || typeof column === "number") append(only, "" + column);
      }
    }
    writeLine("log", tableText(value, only));
  }

  // Near the end of the stack there may be no room even for this.
  function giveUp() {
    try {
      writeLine("log", "[line that cannot be shown]");
    } catch {}
  }

  // Once a line was dropped, so are all that follow: they need no text.
  const writer = (level) => (args) => writeLine(level, droppedLines > 0 ? "" : formatLine(args));
  const group = (args) => {
    if (args.length > 0) writeLine("log", formatLine(args));
    if (groupIndent.length < 2 * DEEPEST_GROUP) groupIndent += "  ";
  };
  const methods = {
    log: writer("log"),
    info: writer("info"),
    debug: writer("debug"),
    warn: writer("warn"),
    error: writer("error"),
    trace: (args, method) => writeTrace(method, args),
    dir: (args) => writeLine("log", inspectWith(argument(args, 0), dirSettings(argument(args, 1)))),
    table: (args) => writeTable(argument(args, 0), argument(args, 1)),
    assert: (args) => {
      if (!argument(args, 0)) writeAssertion(args);
    },
    count: (args) => {
      const label = labelOf(args);
      const count = (MapGet(counts, label) ?? 0) + 1;
      MapSet(counts, label, count);
      writeLine("log", label + ": " + count);
    },
    countReset: (args) => {
      const label = labelOf(args);
      if (!MapDelete(counts, label)) writeLine("warn", "Count for '" + label + "' does not exist");
    },
    group,
    groupCollapsed: group,
    groupEnd: () => {
      groupIndent = StringSlice(groupIndent, 2);
    },
    time: (args) => {
      const label = labelOf(args);
      if (MapGet(stopwatches, label) === undefined) MapSet(stopwatches, label, performanceNow());
      else writeLine("warn", "Label '" + label + "' already exists for console.time()");
    },
    timeLog: (args) => writeTime("timeLog", args, false),
    timeEnd: (args) => writeTime("timeEnd", args, true),
  };

  // The methods that programs see give nothing back and throw nothing.
  const programConsole = {};
  for (const [name, write] of Object.entries(methods)) {
    const method = {
      [name]: (...args) => {
        try {
          write(args, method);
        } catch {
          giveUp();
        }
      },
    }[name];
    programConsole[name] = method;
  }
  Object.defineProperty(programConsole, Symbol.toStringTag, { value: "console", configurable: true });
  defineGlobal("console", programConsole);
  nameBuiltins();
  reset();
  consolePart = {
    __proto__: null,
    console: programConsole,
    inspect,
    reset,
    noticeUncaught: (error) => writeLine("error", "Uncaught " + inspect(error, true)),
  };
})();

// For the next part, so that it sees this one.
evaluatePart = (text) => eval(text);
