// Use every global. What goes in is made of own properties and has no prototype where keys may be absent.
const none = { __proto__: null };
const step = async (name, use) => {
  try {
    out[name] = await use();
  } catch (error) {
    out[name] = typeof error === "string" ? error : "an error";
  }
};
await step("clone", () => {
  const copy = clone(cloned, none);
  return [copy.self === copy, copy.list[2].two === 2n, copy.bytes, copy.map, copy.boxed !== cloned.boxed];
});
await step("transfer", () => clone(moved, { __proto__: null, transfer: [moved] }) !== moved);
await step("uncloneable", () => {
  try { clone(hook) } catch (error) { return exceptionCode(error) }
});
await step("exception", () => exceptionCode(new Exception("m", "AbortError")));
await step("events", () => {
  const target = new Target();
  let calls = 0;
  const listener = (event) => { calls += eventType(event) === "x" ? 1 : 100 };
  listen(target, "x", listener, { __proto__: null, once: true });
  listen(target, "x", { __proto__: null, handleEvent: listener });
  const stopped = new Controller();
  listen(target, "x", listener, { __proto__: null, signal: signalOf(stopped) });
  dispatch(target, new EventClass("x", none));
  abort(stopped);
  dispatch(target, new EventClass("x"));
  unlisten(target, "x", listener);
  return calls;
});
await step("aborts", () => {
  const controller = new Controller();
  const both = anySignal([signalOf(controller), abortlessSignal]);
  let calls = 0;
  listen(both, "abort", () => { calls++ });
  abort(controller, 7);
  return [calls, isAborted(both), reasonOf(both), exceptionCode(reasonOf(abortedSignal()))];
});
await step("timeout", () => new P((go) => {
  const signal = signalTimeout(1);
  listen(signal, "abort", () => go(exceptionCode(reasonOf(signal))));
}));
await step("random", () => {
  const filled = new Bytes(3000);
  return [randomValues(cryptography, filled) === filled, uuid(cryptography).length];
});
await step("digests", async () => [
  await digest(subtle, "SHA-1", bytes), await digest(subtle, "sha-256", bytes), await digest(subtle, "SHA-512", buffer),
]);
await step("clock", () => now() >= 0);
await step("base64", () => [encode64("text"), decode64("dGV4dA==")]);
await step("url", () => {
  const url = new Url("../b?x=1#y", "https://user@example.com:8080/a/c");
  setPath(url, "/p q");
  append(parametersOf(url), "n", "ä &");
  return [href(url), getAll(parametersOf(url), "x")];
});
await step("parameters", () => {
  const parameters = new Parameters("a=1&b=2&a=3");
  let text = "";
  eachParameter(parameters, (value, name) => { text += name + value });
  return [text, parametersText(parameters), getAll(parameters, "a")];
});
await step("text", () => [encode(encoder, "ä€"), decode(new Decoder("utf-8", none), bytes), decode(new Decoder(), bytes)]);
await step("headers", () => {
  const headers = new HeadersClass();
  setHeader(headers, "Accept", "x");
  return getHeader(headers, "accept");
});
await step("request", async () => {
  const request = new RequestClass("http://example.com/a", { __proto__: null, method: "POST", body: "text" });
  return [requestUrl(request), await requestText(request)];
});
await step("response", async () => [await responseText(new ResponseClass("text")), await responseJson(new ResponseClass("[1]"))]);
await step("fetch", async () => {
  try { await get("http://example.com/", none) } catch (error) { return typeof error }
});
con.log("heard of globals", heard);
