// The URL standard's parser. Where the standard's machine goes by states, a text is cut here: the fragment and the query
// end it in every state, and what is left is scheme, authority and path.
//
// A record's `path` is text: "/" before each segment, "" without any; an opaque path as it is. So are host and port;
// `host`, `query` and `fragment` are null where there is none, `port` where it is the scheme's own.

const { parseUrl, urlSteps } = (() => {
  const StringCharAt = uncurry(String.prototype.charAt);
  const StringLastIndexOf = uncurry(String.prototype.lastIndexOf);
  const StringToLowerCase = uncurry(String.prototype.toLowerCase);
  const StringToWellFormed = uncurry(String.prototype.toWellFormed);

  // The special schemes and their ports.
  const PORTS = { __proto__: null, http: 80, https: 443, ws: 80, wss: 443, ftp: 21, file: null };
  const isSpecial = (url) => PORTS[url.scheme] !== undefined;

  const newUrl = (scheme) => ({
    __proto__: null, scheme, username: "", password: "", host: null, port: null, path: "", isOpaque: false,
    query: null, fragment: null,
  });

  const isLetter = (unit) => (unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a;
  const isDigit = (unit) => unit >= 0x30 && unit <= 0x39;
  const unitAt = (text, i) => (i < text.length ? StringCharCodeAt(text, i) : -1);
  // By charAt, because an index behind the end would be looked up on prototypes.
  const isSlash = (text, i, special) => StringCharAt(text, i) === "/" || (special && StringCharAt(text, i) === "\\");

  // Where the first slash stands from `start` on; the end if there is none.
  function slashIndex(text, start, special) {
    let at = start;
    while (at < text.length && !isSlash(text, at, special)) at++;
    return at;
  }

  // Drives of Windows: "C:", or "C|" where it is not yet in a URL; at the beginning of a text with a slash or its end.
  const isPlainDrive = (text) => text.length === 2 && isLetter(unitAt(text, 0)) && StringCharAt(text, 1) === ":";
  const isDrive = (text) =>
    isPlainDrive(text) || (text.length === 2 && isLetter(unitAt(text, 0)) && StringCharAt(text, 1) === "|");
  const beginsWithDrive = (text) => isDrive(StringSlice(text, 0, 2)) && (text.length === 2 || isSlash(text, 2, true));

  // Tabs and newlines mean nothing anywhere in a URL.
  function withoutNewlines(text) {
    return StringReplaceAll(StringReplaceAll(StringReplaceAll(text, "\t", ""), "\n", ""), "\r", "");
  }

  function trimmed(text) {
    let start = 0;
    let end = text.length;
    while (start < end && StringCharCodeAt(text, start) <= 0x20) start++;
    while (end > start && StringCharCodeAt(text, end - 1) <= 0x20) end--;
    return withoutNewlines(StringSlice(text, start, end));
  }

  // The length of the scheme before ":", -1 where none is.
  function schemeLength(text) {
    if (!isLetter(unitAt(text, 0))) return -1;
    for (let i = 1; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      if (unit === 0x3a) return i;
      if (!isLetter(unit) && !isDigit(unit) && unit !== 0x2b && unit !== 0x2d && unit !== 0x2e) return -1;
    }
    return -1;
  }

  const isDot = (text) => text === "." || text === "%2e" || text === "%2E";
  function isDoubleDot(text) {
    if (text.length < 2 || text.length > 6) return false;
    const plain = StringReplaceAll(StringReplaceAll(text, "%2e", "."), "%2E", ".");
    return plain === "..";
  }

  // Take the last segment off, but never a file's drive.
  function shorten(url) {
    if (url.scheme === "file" && isPlainDrive(StringSlice(url.path, 1))) return;
    const at = StringLastIndexOf(url.path, "/");
    url.path = at === -1 ? "" : StringSlice(url.path, 0, at);
  }

  // Add the segments of `text` to the path.
  function parsePath(url, text) {
    const special = isSpecial(url);
    let end;
    for (let start = 0; start <= text.length; start = end + 1) {
      end = slashIndex(text, start, special);
      const segment = percentEncode(StringSlice(text, start, end), PERCENT.PATH);
      const isLast = end === text.length;
      if (isDoubleDot(segment)) {
        shorten(url);
        if (isLast) url.path += "/";
      } else if (isDot(segment)) {
        if (isLast) url.path += "/";
      } else if (url.scheme === "file" && url.path === "" && isDrive(segment)) {
        url.path = "/" + StringCharAt(segment, 0) + ":";
      } else {
        url.path += "/" + segment;
      }
    }
    return url;
  }

  // The path behind an authority: the slash that begins it is not part of a segment.
  function parsePathStart(url, text) {
    if (text === "" && !isSpecial(url)) return url;
    return parsePath(url, isSlash(text, 0, isSpecial(url)) ? StringSlice(text, 1) : text);
  }

  // Where the port's colon stands in a host and port, the end if there is none.
  function portColon(text) {
    let isInside = false;
    for (let i = 0; i < text.length; i++) {
      const unit = StringCharCodeAt(text, i);
      if (unit === 0x5b) isInside = true;
      else if (unit === 0x5d) isInside = false;
      else if (unit === 0x3a && !isInside) return i;
    }
    return text.length;
  }

  // Set the port to the digits at the start of `text`; false if they are none that a port can be.
  function setPort(url, text) {
    let port = 0;
    let at = 0;
    for (; at < text.length && isDigit(StringCharCodeAt(text, at)); at++) {
      port = port * 10 + StringCharCodeAt(text, at) - 0x30;
      if (port > 0xffff) return false;
    }
    if (at > 0) url.port = port === PORTS[url.scheme] ? null : port;
    return at > 0;
  }

  function parseAuthority(url, text) {
    const special = isSpecial(url);
    const end = slashIndex(text, 0, special);
    const authority = StringSlice(text, 0, end);
    const at = StringLastIndexOf(authority, "@");
    if (at !== -1) {
      const colon = StringIndexOf(authority, ":");
      const nameEnd = colon === -1 || colon > at ? at : colon;
      url.username = percentEncode(StringSlice(authority, 0, nameEnd), PERCENT.USERINFO);
      url.password = nameEnd === at ? "" : percentEncode(StringSlice(authority, nameEnd + 1, at), PERCENT.USERINFO);
    }
    const server = StringSlice(authority, at + 1);
    const colon = portColon(server);
    if (colon === 0 && (special || at !== -1 || server !== "")) return null;
    url.host = colon === 0 ? "" : parseHost(StringSlice(server, 0, colon), !special);
    if (url.host === null) return null;
    const port = StringSlice(server, colon + 1);
    for (let i = 0; i < port.length; i++) if (!isDigit(StringCharCodeAt(port, i))) return null;
    if (port !== "" && !setPort(url, port)) return null;
    return parsePathStart(url, StringSlice(text, end));
  }

  function parseFileHost(url, text) {
    const end = slashIndex(text, 0, true);
    const host = StringSlice(text, 0, end);
    if (isDrive(host)) return parsePath(url, text);
    if (!setFileHost(url, host)) return null;
    return parsePathStart(url, StringSlice(text, end));
  }

  function setFileHost(url, text) {
    const host = text === "" ? "" : parseHost(text, false);
    if (host !== null) url.host = host === "localhost" ? "" : host;
    return host !== null;
  }

  // A text without a scheme, or with the scheme of its base: what it leaves out is the base's.
  function parseRelative(url, text, base, hasQuery) {
    const special = isSpecial(url);
    if (isSlash(text, 0, special)) {
      if (isSlash(text, 1, special)) return parseAuthority(url, StringSlice(text, special ? slashesEnd(text) : 2));
      takeServer(url, base);
      return parsePath(url, StringSlice(text, 1));
    }
    takeServer(url, base);
    url.path = base.path;
    if (text === "") {
      if (!hasQuery) url.query = base.query;
      return url;
    }
    shorten(url);
    return parsePath(url, text);
  }

  function takeServer(url, base) {
    url.username = base.username;
    url.password = base.password;
    url.host = base.host;
    url.port = base.port;
  }

  function parseFile(url, text, base, hasQuery) {
    url.host = "";
    if (isSlash(text, 0, true) && isSlash(text, 1, true)) return parseFileHost(url, StringSlice(text, 2));
    const fileBase = base !== null && base.scheme === "file" ? base : null;
    if (fileBase !== null) url.host = fileBase.host;
    if (isSlash(text, 0, true)) {
      const path = StringSlice(text, 1);
      if (fileBase !== null && !beginsWithDrive(path)) {
        const drive = StringSlice(fileBase.path, 1, slashIndex(fileBase.path, 1, false));
        if (isPlainDrive(drive)) url.path = "/" + drive;
      }
      return parsePath(url, path);
    }
    if (fileBase === null) return parsePath(url, text);
    url.path = fileBase.path;
    if (text === "") {
      if (!hasQuery) url.query = fileBase.query;
      return url;
    }
    if (beginsWithDrive(text)) url.path = "";
    else shorten(url);
    return parsePath(url, text);
  }

  function slashesEnd(text) {
    let at = 0;
    while (isSlash(text, at, true)) at++;
    return at;
  }

  function parseOpaque(url, text, isEnd) {
    // A blank before the query or the fragment would be lost when the text is parsed again.
    const endsBlank = !isEnd && StringCharAt(text, text.length - 1) === " ";
    const kept = endsBlank ? StringSlice(text, 0, text.length - 1) : text;
    url.isOpaque = true;
    url.path = percentEncode(kept, PERCENT.CONTROL) + (endsBlank ? "%20" : "");
    return url;
  }

  // `text` without its query and fragment, behind its scheme.
  function parseRest(url, text, base, hasQuery, isEnd) {
    if (url.scheme === "file") return parseFile(url, text, base, hasQuery);
    if (isSpecial(url)) {
      const isRelative = base !== null && base.scheme === url.scheme && StringSlice(text, 0, 2) !== "//";
      if (isRelative) return parseRelative(url, text, base, hasQuery);
      return parseAuthority(url, StringSlice(text, slashesEnd(text)));
    }
    if (StringCharAt(text, 0) !== "/") return parseOpaque(url, text, isEnd);
    if (StringCharAt(text, 1) === "/") return parseAuthority(url, StringSlice(text, 2));
    return parsePath(url, StringSlice(text, 1));
  }

  // The record of `input`, relative to the record `base` or null; null if it is no URL.
  function parseUrl(input, base) {
    let text = trimmed(StringToWellFormed(input));
    const hash = StringIndexOf(text, "#");
    const fragment = hash === -1 ? null : percentEncode(StringSlice(text, hash + 1), PERCENT.FRAGMENT);
    if (hash !== -1) text = StringSlice(text, 0, hash);
    const mark = StringIndexOf(text, "?");
    const query = mark === -1 ? null : StringSlice(text, mark + 1);
    if (mark !== -1) text = StringSlice(text, 0, mark);

    const length = schemeLength(text);
    let url;
    if (length !== -1) {
      url = newUrl(StringToLowerCase(StringSlice(text, 0, length)));
      url = parseRest(url, StringSlice(text, length + 1), base, query !== null, hash === -1 && mark === -1);
    } else if (base === null || (base.isOpaque && (text !== "" || query !== null || hash === -1))) {
      return null;
    } else {
      url = newUrl(base.scheme);
      url.isOpaque = base.isOpaque;
      if (base.scheme === "file") url = parseFile(url, text, base, query !== null);
      else url = parseRelative(url, text, base, query !== null);
    }
    if (url === null) return null;
    if (query !== null) url.query = percentEncode(query, isSpecial(url) ? PERCENT.SPECIAL_QUERY : PERCENT.QUERY);
    url.fragment = fragment;
    return url;
  }

  const urlSteps = {
    __proto__: null, PORTS, isSpecial, isSlash, withoutNewlines, schemeLength, parsePathStart, portColon, setPort,
    setFileHost,
  };
  return { parseUrl, urlSteps };
})();
