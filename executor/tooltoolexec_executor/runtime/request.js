// Request, after the Fetch standard, with what a host can be asked: a method, a URL, headers, a body, and a signal.

const { RequestClass, requestState, withoutFragment, wholeUrl } = (() => {
  const StringToUpperCase = uncurry(String.prototype.toUpperCase);
  const StringToWellFormed = uncurry(String.prototype.toWellFormed);

  function wholeUrl(text) {
    const url = parseUrl(StringToWellFormed(text), null);
    if (url !== null) return url;
    const shown = quote(StringSlice(text, 0, LONGEST_PATH));
    throw new TypeErrorConstructor(shown + " is no URL: give a whole one, such as https://example.com/path.");
  }

  function withoutFragment(href) {
    const at = StringIndexOf(href, "#");
    return at === -1 ? href : StringSlice(href, 0, at);
  }

  function stateFromUrl(text) {
    const url = wholeUrl(text);
    if (url.username !== "" || url.password !== "") {
      throw new TypeErrorConstructor("A URL to fetch has no user name and no password: use the header authorization.");
    }
    return {
      __proto__: null,
      href: urlText(url),
      origin: urlOrigin(url),
      scheme: url.scheme,
      method: "GET",
      headers: new HeaderList(),
      body: makeBody(null, null),
      signal: undefined,
    };
  }

  const isOneOf = (text, first, second, third) => text === first || text === second || text === third;

  function methodFrom(value) {
    const method = `${value}`;
    if (!isToken(method)) throw new TypeErrorConstructor(quote(method) + " is no HTTP method.");
    const upper = StringToUpperCase(method);
    if (isOneOf(upper, "CONNECT", "TRACE", "TRACK")) {
      throw new TypeErrorConstructor("The method " + upper + " cannot be fetched.");
    }
    // Any other is sent as it is written.
    return isOneOf(upper, "GET", "HEAD", "OPTIONS") || isOneOf(upper, "DELETE", "POST", "PUT") ? upper : method;
  }

  let isRequest;
  let requestState;

  class Request {
    #state;
    #headers;
    #signal;

    constructor(input, init = undefined) {
      if (arguments.length === 0) throw new TypeErrorConstructor("A Request needs a URL or another Request.");
      const options = dictionary(init, "Request");
      const from = isObject(input) && isRequest(input) ? input.#state : stateFromUrl(`${input}`);
      const { body, headers, method, redirect, signal } = options;
      if (redirect !== undefined && `${redirect}` !== "follow") {
        throw new TypeErrorConstructor('Redirects are followed outside the sandbox: redirect can only be "follow".');
      }
      if (signal !== undefined && signal !== null && !isAbortSignal(signal)) {
        throw new TypeErrorConstructor("The signal of a Request must be an AbortSignal.");
      }
      const state = (this.#state = { __proto__: null, ...from });
      if (signal !== undefined) state.signal = signal ?? undefined;
      if (method !== undefined) state.method = methodFrom(method);
      state.headers = new HeaderList();
      if (headers === undefined) state.headers.take(from.headers);
      else fillHeaders(state.headers, headers);
      state.body = body === undefined || body === null ? from.body : bodyFrom(body);
      if (state.body.bytes !== null && (state.method === "GET" || state.method === "HEAD")) {
        throw new TypeErrorConstructor("A request with the method " + state.method + " cannot have a body.");
      }
      if (state.body === from.body) state.body = makeBody(useBody(from.body), null); // The other one's is used up.
      else state.headers.suggest("content-type", state.body.type);
    }

    static {
      isRequest = (value) => #state in value;
      requestState = (request) => request.#state;
    }

    get method() {
      return this.#state.method;
    }

    get url() {
      return this.#state.href;
    }

    get headers() {
      return (this.#headers ??= headersAround(this.#state.headers));
    }

    // One that was not given never aborts.
    get signal() {
      return this.#state.signal ?? (this.#signal ??= makeSignal());
    }

    get redirect() {
      return this.#state && "follow";
    }

    clone() {
      const state = this.#state;
      const body = cloneBody(state.body);
      const copy = new Request(state.href);
      copy.#state = { __proto__: null, ...state, body, headers: new HeaderList().take(state.headers) };
      return copy;
    }
  }

  addBodyMembers(Request, (request) => requestState(request).body);
  return { RequestClass: Request, requestState, withoutFragment, wholeUrl };
})();
