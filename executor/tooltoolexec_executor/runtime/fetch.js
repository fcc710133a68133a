// fetch: the way out for a request, the way back for its response. It is the host that makes it.

(() => {
  const notTaken = { __proto__: null };

  // The request's record: what crosses, measured as a call is. Throws what stops a request on this side.
  function recordOf(state) {
    const { method, headers } = state;
    const url = withoutFragment(state.href);
    let fields = "";
    let bytes = utf8Length(method) + utf8Length(url);
    for (let i = 0; i < headers.size; i++) {
      const { name, value } = headers.fields[i];
      bytes += utf8Length(name) + utf8Length(value);
      fields += (i === 0 ? "[" : ",[") + quote(name) + "," + quote(value) + "]";
    }
    const body = useBody(state.body);
    if (body !== null) bytes += TypedArrayLength(body);
    if (bytes > run.payloadLimit) {
      throw new TypeErrorConstructor(compose(TEXTS.payload, "n", bytes, "m", run.payloadLimit));
    }
    if (run.calls >= run.callLimit) throw new TypeErrorConstructor(compose(TEXTS.calls, "n", run.callLimit));
    const content = body === null ? "null" : '"' + Uint8ArrayToBase64(body) + '"';
    return quote(method) + "," + quote(url) + ",[" + fields + "]," + content;
  }

  // Send it and promise the text of the answer's envelope, or `notTaken` once the signal aborts: a later answer then
  // finds nobody who waits for it.
  function sendRequest(state) {
    const record = recordOf(state);
    const { signal, origin } = state;
    const calls = pendingCalls;
    const number = ++run.calls;
    words[SENT_CALLS] = number;
    let forgetSignal;
    const promise = ownPromise((resolve) => {
      MapSet(calls, number, {
        __proto__: null,
        provider: "fetch",
        tool: origin,
        resolve: (text) => {
          forgetSignal?.();
          resolve(text);
        },
      });
      if (signal === undefined) return;
      forgetSignal = onAbort(signal, () => {
        if (!MapDelete(calls, number)) return;
        words[PENDING_CALLS]--;
        resolve(notTaken);
      });
    });
    // Last, as in sendCall.
    try {
      post("q[" + number + "," + record + "]\n");
    } catch (error) {
      MapDelete(calls, number);
      forgetSignal?.();
      throw error;
    }
    words[PENDING_CALLS]++;
    return promise;
  }

  // The fields of the response that an answer holds; undefined when it holds none.
  function fieldsOf(answer) {
    if (typeof answer !== "object" || answer === null || ArrayIsArray(answer)) return undefined;
    const own = (key) => (hasOwn(answer, key) ? answer[key] : undefined);
    const status = own("status");
    const pairs = own("headers") ?? [];
    const body = own("body") ?? null;
    const isBytes = body === null || (ArrayBufferIsView(body) && TypedArrayTag(body) === "Uint8Array");
    if (!isResponseStatus(status) || !ArrayIsArray(pairs) || !isBytes) return undefined;
    const headers = new HeaderList();
    for (let i = 0; i < pairs.length; i++) {
      if (!headers.takePair(pairs[i])) return undefined;
    }
    const statusText = own("statusText");
    const phrase = typeof statusText === "string" ? statusText : "";
    return { __proto__: null, status, headers, url: own("url"), statusText: phrase, body };
  }

  function responseOf(text, state) {
    let fields;
    try {
      fields = fieldsOf(openEnvelope(text));
    } catch (error) {
      throw new TypeErrorConstructor(error.message);
    }
    if (fields === undefined) throw new TypeErrorConstructor(TEXTS.outsideEnvelope);
    const asked = withoutFragment(state.href);
    const url = typeof fields.url === "string" ? withoutFragment(fields.url) : asked;
    const { status, statusText, headers, body } = fields;
    const redirected = url !== asked;
    return makeResponse({
      __proto__: null, type: "basic", url, redirected, status, statusText, headers, body: makeBody(body, null),
    });
  }

  // As answerOf, for a request.
  const fetchFor = async (call, input, init) => {
    try {
      if (run.settled) throw new TypeErrorConstructor(TEXTS.completed);
      if (!run.hasOutbound) throw new TypeErrorConstructor(TEXTS.networkClosed);
      const state = requestState(new RequestClass(input, init));
      if (state.scheme !== "http" && state.scheme !== "https") {
        throw new TypeErrorConstructor("Only http: and https: URLs can be fetched, not " + state.scheme + ": ones.");
      }
      const { signal } = state;
      if (signal !== undefined && isAborted(signal)) throw abortReason(signal);
      const text = await sendRequest(state);
      if (text === notTaken) throw abortReason(signal);
      const response = responseOf(text, state);
      call.ending = "finished";
      return response;
    } catch (error) {
      call.failed(error);
      throw error;
    }
  };

  const fetch = (input, init = undefined) => {
    const call = new Call("", "fetch");
    return watch(fetchFor(call, input, init), call);
  };
  defineGlobal("fetch", fetch);
})();
