// Response, after the Fetch standard.

const { makeResponse, isResponseStatus } = (() => {
  const NumberIsInteger = Number.isInteger;
  const RangeErrorClass = RangeError;

  const isResponseStatus = (status) => NumberIsInteger(status) && status >= 200 && status <= 599;
  const isWithoutBody = (status) => status === 204 || status === 205 || status === 304;

  function statusTextFrom(value) {
    const text = `${value}`;
    for (let i = 0; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      if ((unit < 32 && unit !== 9) || unit === 127 || unit > 255) {
        throw new TypeErrorConstructor("The statusText of a Response has a character that it may not have.");
      }
    }
    return text;
  }

  function stateFrom(body, init) {
    const { headers, status, statusText } = dictionary(init, "Response");
    const number = status === undefined ? 200 : +status;
    const text = statusText === undefined ? "" : statusTextFrom(statusText);
    if (!isResponseStatus(number)) throw new RangeErrorClass("The status of a Response is a number from 200 to 599.");
    if (body.bytes !== null && isWithoutBody(number)) {
      throw new TypeErrorConstructor("A response with the status " + number + " has no body.");
    }
    const list = new HeaderList();
    fillHeaders(list, headers);
    list.suggest("content-type", body.type);
    return {
      __proto__: null, type: "default", url: "", redirected: false,
      status: number, statusText: text, headers: list, body,
    };
  }

  let stateOf;
  let around;

  class Response {
    #state;
    #headers;

    constructor(body = null, init = undefined) {
      this.#state = stateFrom(bodyFrom(body), init);
    }

    static {
      stateOf = (response) => response.#state;
      around = (state) => {
        const response = new Response();
        response.#state = state;
        return response;
      };
    }

    static error() {
      return makeResponse({ __proto__: null, type: "error", status: 0 });
    }

    static json(data, init = undefined) {
      const text = JSONStringify(data);
      if (text === undefined) throw new TypeErrorConstructor("Response.json: the value has no form in JSON.");
      return around(stateFrom(makeBody(utf8Bytes(text), "application/json"), init));
    }

    static redirect(url, status = 302) {
      const href = urlText(wholeUrl(`${url}`));
      const number = +status;
      if (number !== 301 && number !== 302 && number !== 303 && number !== 307 && number !== 308) {
        throw new RangeErrorClass("The status of a redirect is 301, 302, 303, 307 or 308.");
      }
      const headers = new HeaderList();
      headers.append("location", href);
      return makeResponse({ __proto__: null, status: number, headers });
    }

    get type() {
      return this.#state.type;
    }

    get url() {
      return this.#state.url;
    }

    get redirected() {
      return this.#state.redirected;
    }

    get status() {
      return this.#state.status;
    }

    get ok() {
      const { status } = this.#state;
      return status >= 200 && status <= 299;
    }

    get statusText() {
      return this.#state.statusText;
    }

    get headers() {
      return (this.#headers ??= headersAround(this.#state.headers));
    }

    clone() {
      const state = this.#state;
      const body = cloneBody(state.body);
      const headers = new HeaderList().take(state.headers);
      headers.isSealed = state.headers.isSealed;
      return around({ __proto__: null, ...state, body, headers });
    }
  }

  // A response of the runtime's own; its headers cannot be changed. `fields` says what is not as in most.
  function makeResponse(fields) {
    const state = {
      __proto__: null, type: "default", url: "", redirected: false,
      status: 200, statusText: "", headers: new HeaderList(), body: makeBody(null, null), ...fields,
    };
    state.headers.isSealed = true;
    return around(state);
  }

  addBodyMembers(Response, (response) => stateOf(response).body);
  return { makeResponse, isResponseStatus };
})();
