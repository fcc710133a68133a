// One run: from the job Python left in the mailbox to the record of its outcome. This file has the functions Python calls.

// Everything that belongs to the run under way; made afresh by `start`.
let run = { __proto__: null, settled: true };

const beginRun = (job) => {
  run = {
    __proto__: null,
    settled: false,
    hasDispatch: job.dispatch,
    payloadLimit: job.limits.payload ?? Infinity,
    logLimit: job.limits.logs ?? Infinity,
    callLimit: job.limits.calls ?? Infinity,
    calls: 0,
    source: -1, // The provider whose own source runs, -1 for none.
    warnings: "",
  };
  pendingCalls = new MapConstructor();
  timers = new TimerHeap();
  inboundParts = "";
  words[PENDING_CALLS] = 0;
  words[SENT_CALLS] = 0;
  words[TIMER_DELAY] = -1;
  resetConsole();
};

const finish = (fields) => {
  run.settled = true;
  post("d" + fields + (run.warnings === "" ? "" : ',"warnings":[' + run.warnings + "]") + "\n");
  notify();
};

const fail = (kind, message, thrown) => finish('"failure":' + failureText(kind, message, thrown));

const warn = (text) => {
  run.warnings += (run.warnings === "" ? "" : ",") + quote(text);
};

const noticeUncaught = (error) => writeLine("error", "Uncaught " + inspect(error, true));

const succeed = (value) => {
  let text;
  const walk = new Walk("result");
  try {
    const needsWalk = typeof value === "bigint" || (typeof value === "object" && value !== null);
    text = needsWalk ? stringifyWalk(value, walk) : stringifyValue(value, "result");
  } catch (error) {
    const path = walk.path();
    const message = thrownMessage(error);
    return fail("unserializable", StringIndexOf(message, path) === -1 ? message + " (at " + path + ")" : message, error);
  }
  if (text === undefined) {
    if (value !== undefined) warn(TEXTS.functionResult);
    return finish('"result":null');
  }
  if (text.length * 3 > run.payloadLimit) {
    const bytes = utf8Length(text);
    if (bytes > run.payloadLimit) return fail("payload", compose(TEXTS.payload, "n", bytes, "m", run.payloadLimit));
  }
  finish('"result":' + text);
};

const isCompileError = (error) =>
  typeof error === "object" && error !== null && ErrorIsError(error) &&
  ReflectGetPrototypeOf(error) === SyntaxErrorPrototype && positionIn(stackOf(error)) === undefined;

const failSource = (spec, error) => {
  const message = typeof error === "string" ? error : thrownMessage(error);
  fail("provider_source", compose(TEXTS.providerSource, "name", spec.name, "message", message));
};

const compileError = (source) => {
  try {
    indirectEval('"use strict";' + source);
    return undefined;
  } catch (error) {
    return error;
  }
};

// Host sources are compiled on their own before the entry, so that a fault is laid at its provider's door.
const checkSources = (specs) => {
  for (let i = 0; i < specs.length; i++) {
    const { name, proxySource, prelude } = specs[i];
    if (proxySource !== null) {
      // Neither `await` nor `return`, which would leave the entry before the program is in it.
      const error = compileError("(() => {" + proxySource + "\n});") ??
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
};

// Providers declared and preludes run; gives the function that evaluates text in the entry scope.
const enter = (job, scope) => {
  if (job.hasSources && checkSources(job.providers) !== true) return undefined;
  try {
    return indirectEval(job.entryHead + job.entryTail)(scope);
  } catch (error) {
    failSource(job.providers[MathMax(run.source, 0)], error);
    return undefined;
  }
};

// A program without host sources is compiled together with its entry scope: half the work. Undefined when the text does
// not compile so, whatever the reason; then it is evaluated apart, which tells what is wrong with it.
const compileTogether = (job) => {
  if (job.hasSources) return undefined;
  try {
    return indirectEval(job.entryHead + "return (\n" + job.code + "\n) })\n//# sourceURL=" + PROGRAM);
  } catch {
    return undefined;
  }
};

const evaluateApart = (job, scope) => {
  const evaluate = enter(job, scope);
  if (evaluate === undefined) return;
  let program;
  try {
    program = evaluate("(\n" + job.code + "\n)\n//# sourceURL=" + PROGRAM);
  } catch (error) {
    // Only the compiler knows the place of a syntax error, and it tells Python alone.
    if (isCompileError(error)) return failSyntax(job.code, thrownMessage(error));
    return fail("program", thrownMessage(error), error);
  }
  settleProgram(program);
};

// The command START: once a run, with the job in the mailbox.
const start = () => {
  const job = JSONParse(takeMessage());
  beginRun(job);
  const scope = makeEntryScope(job.providers);
  const together = compileTogether(job);
  if (together === undefined) return evaluateApart(job, scope);
  let program;
  try {
    program = together(scope);
  } catch (error) {
    return fail("program", thrownMessage(error), error);
  }
  settleProgram(program);
};

const failSyntax = (code, message) => {
  run.settled = true;
  post("s[" + quote(code) + "," + quote(message) + "]\n");
  notify();
};

const settleProgram = async (program) => {
  let value;
  try {
    value = await (typeof program === "function" ? program() : program);
  } catch (error) {
    return fail("program", thrownMessage(error), error);
  }
  succeed(value);
};

// The command SETTLE: an answer has come, or a timer may be due.
const settle = () => {
  const text = takeMessage();
  if (text !== "") takeAnswers(text);
  if (!run.settled) fireDueTimer();
};

// Python calls `rest` after each step; it runs once the step's microtasks are done.
const rest = () => {
  words[TIMER_DELAY] = timerDelay();
};

// One function for all but `rest`, so that the worker fetches two handles while it starts and not five.
const step = () => {
  switch (words[COMMAND]) {
    case START:
      return start();
    case SETTLE:
      return settle();
    case FEED:
      return feed();
    case WAITS:
      return postWaits();
  }
};

return { __proto__: null, step, rest };
