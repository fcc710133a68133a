// A URL's record as text, and its parts: how each is read, and set as the standard's setters do.

const { urlText, urlOrigin, URL_PARTS } = (() => {
  const StringCharAt = uncurry(String.prototype.charAt);
  const { PORTS, isSpecial, isSlash, withoutNewlines, schemeLength, parsePathStart, portColon, setPort, setFileHost } =
    urlSteps;
  const StringToLowerCase = uncurry(String.prototype.toLowerCase);

  const hostText = (url) => (url.host === null ? "" : url.host + (url.port === null ? "" : ":" + url.port));

  function urlText(url) {
    let text = url.scheme + ":";
    if (url.host !== null) {
      const password = url.password === "" ? "" : ":" + url.password;
      const userinfo = url.username === "" && password === "" ? "" : url.username + password + "@";
      text += "//" + userinfo + hostText(url);
    } else if (!url.isOpaque && StringSlice(url.path, 0, 2) === "//") {
      text += "/."; // Or the path would be read as an authority.
    }
    text += url.path;
    if (url.query !== null) text += "?" + url.query;
    return url.fragment === null ? text : text + "#" + url.fragment;
  }

  function urlOrigin(url) {
    if (url.scheme === "blob") {
      const inner = parseUrl(url.path, null);
      return inner !== null && (inner.scheme === "http" || inner.scheme === "https") ? urlOrigin(inner) : "null";
    }
    return isSpecial(url) && url.scheme !== "file" ? url.scheme + "://" + hostText(url) : "null";
  }

  const cannotHaveUser = (url) => url.host === null || url.host === "" || url.scheme === "file";

  function setHost(url, value, withPort) {
    if (url.isOpaque) return;
    const special = isSpecial(url);
    let end = 0;
    for (; end < value.length && !isSlash(value, end, special); end++) {
      const character = StringCharAt(value, end);
      if (character === "?" || character === "#") break;
    }
    const server = StringSlice(value, 0, end);
    if (url.scheme === "file") {
      setFileHost(url, server);
      return;
    }
    const colon = portColon(server);
    const text = StringSlice(server, 0, colon);
    if (colon < server.length && (text === "" || !withPort)) return;
    if (text === "" && (special || url.username !== "" || url.password !== "" || url.port !== null)) return;
    const host = text === "" ? "" : parseHost(text, !special);
    if (host === null) return;
    url.host = host;
    if (colon < server.length) setPort(url, StringSlice(server, colon + 1));
  }

  function setScheme(url, value) {
    const length = schemeLength(value + ":");
    if (length === -1) return;
    const scheme = StringToLowerCase(StringSlice(value, 0, length));
    if ((PORTS[scheme] !== undefined) !== isSpecial(url)) return;
    const hasServer = url.username !== "" || url.password !== "" || url.port !== null;
    if ((scheme === "file" && hasServer) || (url.scheme === "file" && url.host === "")) return;
    url.scheme = scheme;
    if (url.port === PORTS[scheme]) url.port = null;
  }

  // What the parser is given of a text for the query or the fragment: their mark is taken off, then newlines.
  const afterMark = (value, mark) => withoutNewlines(StringCharAt(value, 0) === mark ? StringSlice(value, 1) : value);

  // How each part of a URL is read from its record, and set in it from a text; what cannot be set is left.
  const URL_PARTS = {
    __proto__: null,
    protocol: {
      read: (url) => url.scheme + ":",
      write: (url, value) => setScheme(url, withoutNewlines(value)),
    },
    username: {
      read: (url) => url.username,
      write: (url, value) => {
        if (!cannotHaveUser(url)) url.username = percentEncode(value, PERCENT.USERINFO);
      },
    },
    password: {
      read: (url) => url.password,
      write: (url, value) => {
        if (!cannotHaveUser(url)) url.password = percentEncode(value, PERCENT.USERINFO);
      },
    },
    host: {
      read: hostText,
      write: (url, value) => setHost(url, withoutNewlines(value), true),
    },
    hostname: {
      read: (url) => url.host ?? "",
      write: (url, value) => setHost(url, withoutNewlines(value), false),
    },
    port: {
      read: (url) => (url.port === null ? "" : "" + url.port),
      write: (url, value) => {
        if (cannotHaveUser(url)) return;
        if (value === "") url.port = null;
        else setPort(url, withoutNewlines(value));
      },
    },
    pathname: {
      read: (url) => url.path,
      write: (url, value) => {
        if (url.isOpaque) return;
        const text = withoutNewlines(value);
        url.path = text === "" && !isSpecial(url) && url.host === null ? "/" : "";
        if (url.path === "") parsePathStart(url, text);
      },
    },
    search: {
      read: (url) => (url.query === null || url.query === "" ? "" : "?" + url.query),
      write: (url, value) => {
        const set = isSpecial(url) ? PERCENT.SPECIAL_QUERY : PERCENT.QUERY;
        url.query = value === "" ? null : percentEncode(afterMark(value, "?"), set);
      },
    },
    hash: {
      read: (url) => (url.fragment === null || url.fragment === "" ? "" : "#" + url.fragment),
      write: (url, value) => {
        url.fragment = value === "" ? null : percentEncode(afterMark(value, "#"), PERCENT.FRAGMENT);
      },
    },
  };

  return { urlText, urlOrigin, URL_PARTS };
})();
