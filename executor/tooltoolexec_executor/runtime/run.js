// One run: from its script, with its job, to the record of its outcome. This file has the functions Python calls.

// Everything that belongs to the run under way; made afresh for each by `awaitScript`.
let run;
let entry;

// Make ready for one run while nobody waits for it: `enter` adds what only its job says.
function awaitScript() {
  run = {
    __proto__: null,
    settled: true, // Until it is entered.
    retains: false, // Whether the host asked for handles.
    retained: false, // Settled, and living on for them.
    hasDispatch: false,
    hasOutbound: false,
    payloadLimit: Infinity,
    logLimit: Infinity,
    callLimit: Infinity,
    wallLimit: Infinity, // Of one invocation of a handle, in milliseconds.
    calls: 0,
    linesBefore: 0,
    lines: Infinity, // The program's, where statements of the entry stand after it.
    movedLine: 0, // Where the worker inserted `return `, and before which column; 0 for nowhere.
    movedColumn: 0,
    providers: undefined,
    hasProgram: false,
    source: -1, // The provider whose own source runs, -1 for none.
    warnings: "",
  };
  pendingCalls = new MapConstructor();
  timers = new Timers();
  forgetCalls();
  inboundParts = "";
  resetHandles();
  if (consolePart !== undefined) consolePart.reset();
  entry = makeEntryScope();
  defineGlobal("__enter", enter);
  if (partsLeft > 0) defineGlobal("__load", loadPart);
}

function takeJob(job) {
  words[PENDING_CALLS] = words[SENT_CALLS] = words[DROPPED_LINES] = 0;
  words[TIMER_DELAY] = -1;
  run.settled = false;
  startClock();
  run.hasDispatch = job.dispatch;
  run.hasOutbound = job.outbound;
  run.payloadLimit = job.limits.payload ?? Infinity;
  run.logLimit = job.limits.logs ?? Infinity;
  run.callLimit = job.limits.calls ?? Infinity;
  run.wallLimit = job.limits.wallMs ?? Infinity;
  run.retains = job.retainHandles;
  run.linesBefore = job.linesBefore;
  run.providers = job.providers;
}

function finish(fields, retained = false) {
  run.settled = true;
  warnUnawaited();
  run.retained = retained;
  post((retained ? "h" : "d") + fields + (run.warnings === "" ? "" : ',"warnings":[' + run.warnings + "]") + "\n");
  notify(); // Comes back from a rehearsal, which the real run follows, and where the isolate lives on.
  if (!retained) awaitScript();
}

const finishWith = (result) => finish('"result":' + result, run.retains);

const fail = (kind, message, thrown) => finish('"failure":' + failureText(kind, message, thrown));

function warn(text) {
  run.warnings += (run.warnings === "" ? "" : ",") + quote(text);
}

function succeed(value) {
  let text;
  const walk = new Walk("result");
  try {
    const needsWalk = typeof value === "bigint" || (typeof value === "object" && value !== null);
    text = needsWalk ? stringifyWalk(value, walk) : stringifyValue(value, "result");
  } catch (error) {
    // The engine says where a cycle is, the runtime where a promise is; only a BigInt's place is still to be told.
    const message = thrownMessage(error) + (walk.isAtBigInt ? " (at " + walk.path() + ")" : "");
    return fail("unserializable", message, error);
  }
  if (text === undefined) {
    if (value !== undefined) warn(TEXTS.functionResult);
    return finishWith("null");
  }
  if (text.length * 3 > run.payloadLimit) {
    const bytes = utf8Length(text);
    if (bytes > run.payloadLimit) return fail("payload", compose(TEXTS.payload, "n", bytes, "m", run.payloadLimit));
  }
  finishWith(text);
}

function failSource(spec, error) {
  const message = typeof error === "string" ? error : thrownMessage(error);
  fail("provider_source", compose(TEXTS.providerSource, "name", spec.name, "message", message));
}

function compileError(source) {
  try {
    indirectEval('"use strict";' + source);
    return undefined;
  } catch (error) {
    return error;
  }
}

// Host sources are compiled on their own before the entry, so that a fault is laid at its provider's door.
function checkSources(specs) {
  let declared = ""; // Everything up to this provider: two sources may also clash with each other.
  for (let i = 0; i < specs.length; i++) {
    const { name, proxySource, prelude } = specs[i];
    declared += proxySource === null ? "const " + name + " = 0;" : proxySource + "\n";
    if (proxySource !== null) {
      // Neither `await` nor `return`, which would leave the entry before the program is in it.
      const error = compileError("(() => {" + declared + "});") ??
        compileError("(() => class { static {" + proxySource + "\n} });");
      if (error !== undefined) return failSource(specs[i], error);
      // A second declaration of the name must clash with the source's own; where it does not, there is none.
      if (compileError("(() => {" + proxySource + "\n; let " + name + "; });") === undefined) {
        return failSource(specs[i], compose(TEXTS.unboundSource, "name", name));
      }
    }
    if (prelude !== null) {
      const error = compileError("(() => {" + prelude + "\n});");
      if (error !== undefined) return failSource(specs[i], error);
    }
  }
  return true;
}

// The script calls `__enter` with its job as JSON text and with its body, which declares the providers, runs the preludes
// and ends with `entry.run`. Both are there for one call: the program stands inside the body and could name them.
function enter(jobText, body) {
  delete globalThis.__enter;
  delete globalThis.__load;
  const job = JSONParse(jobText);
  takeJob(job);
  if (job.hasSources && checkSources(job.providers) !== true) return;
  if (consolePart !== undefined) entry.console = consolePart.console;
  try {
    body(entry);
  } catch (error) {
    if (run.source === -1) fail("program", thrownMessage(error), error);
    else failSource(job.providers[run.source], error);
  }
}
awaitScript();

// Where the program is no expression but statements, `evaluate` gives a function of them, and the rest their places.
function runProgram(evaluate, lines, movedLine, movedColumn) {
  if (run.hasProgram) return;
  run.hasProgram = true;
  const hasStatements = lines !== undefined;
  if (hasStatements) {
    run.lines = lines;
    run.movedLine = movedLine;
    run.movedColumn = movedColumn;
  }
  // The program can name the entry object. What is left of it are functions the program has anyway.
  delete entry.proxy;
  delete entry.source;
  delete entry.run;
  let program;
  try {
    program = evaluate();
  } catch (error) {
    return fail("program", thrownMessage(error), error);
  }
  settleProgram(program, hasStatements);
}

const isPlainPromise = (value) =>
  typeof value === "object" && value !== null && !WeakSetHas(knownProxies, value) &&
  ReflectGetPrototypeOf(value) === PromisePrototype;

// Whether to call it. Not a class or a constructor of the language, whose own `prototype` is fixed.
const isProgram = (value) => {
  if (typeof value !== "function") return false;
  if (WeakSetHas(knownProxies, value)) return true; // It is asked nothing.
  const prototype = ReflectGetOwnPropertyDescriptor(value, "prototype");
  return prototype === undefined || !hasOwn(prototype, "writable") || prototype.writable;
};

const settleProgram = async (program, hasStatements) => {
  let value;
  try {
    value = isProgram(program) ? program() : program;
    value = await (isPlainPromise(value) ? ownConstructor(value) : value);
    if (hasStatements && isProgram(value)) {
      // The function that statements end with is the program, as one that stands alone is.
      value = value();
      value = await (isPlainPromise(value) ? ownConstructor(value) : value);
    }
  } catch (error) {
    return fail("program", thrownMessage(error), error);
  }
  succeed(value);
};

// The command SETTLE: a message has come, or a timer may be due.
function settle() {
  const text = takeMessage();
  if (text !== "") takeClientMessage(text);
  endOverdueInvocations();
  if (!run.settled || run.retained) fireDueTimer();
}

// Python calls `rest` after each step; it runs once the step's microtasks are done.
function rest() {
  const timer = timerDelay();
  const invocation = invocationDelay();
  words[TIMER_DELAY] = timer < 0 || (invocation >= 0 && invocation < timer) ? invocation : timer;
}

// One function for all but `rest`, so that the worker fetches two handles while it starts and not five.
function step() {
  switch (words[COMMAND]) {
    case SETTLE:
      return settle();
    case FEED:
      return feed();
    case WAITS:
      return postWaits();
  }
}

return { __proto__: null, step, rest };
