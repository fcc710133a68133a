// The arguments of a console method as one text, with the directives of https://console.spec.whatwg.org/#formatter.

const { formatLine } = (() => {
  const NumberParseInt = Number.parseInt;
  const NumberParseFloat = Number.parseFloat;
  const JSON_DEPTH = 100;
  const MOST_JSON = 256 * 1024;
  const SHALLOW = makeSettings(0, false);
  const THOROUGH = makeSettings(4, true);

  // Objects are no numbers here: asking one would run its `valueOf`.
  function numberText(value, convert) {
    if (typeof value === "bigint") return inspectPrimitive(value, false);
    if (typeof value === "symbol" || typeof value === "function") return "NaN";
    if (typeof value === "object" && value !== null) return "NaN";
    return inspectPrimitive(convert(value), false);
  }

  function stringText(value) {
    if (typeof value === "function" && !WeakSetHas(knownProxies, value)) return FunctionToString(value);
    if (typeof value === "function" || typeof value === "object") return inspectWith(value, SHALLOW);
    return inspectPrimitive(value, false);
  }

  // JSON of plain data; `toJSON` and getters are not asked. `room` is how many units of text there may still be.
  function jsonText(value, depth, room) {
    room.units -= typeof value === "string" ? value.length : 5;
    if (typeof value === "string") return quote(cutText(value));
    if (typeof value === "number") return NumberIsFinite(value) ? NumberToString(value) : "null";
    if (typeof value === "boolean" || value === null) return "" + value;
    if (typeof value !== "object" || WeakSetHas(knownProxies, value) || depth === JSON_DEPTH) return undefined;
    const isArray = ArrayIsArray(value);
    const keys = isArray ? undefined : ownKeys(value, false, false);
    const length = isArray ? value.length : keys.length;
    let text = "";
    for (let i = 0; i < length && room.units > 0; i++) {
      const key = isArray ? i : keys[i];
      if (typeof key === "symbol") continue;
      const item = jsonText(dataProperty(value, key), depth + 1, room);
      if (item === undefined && !isArray) continue;
      text += (text === "" ? "" : ",") + (isArray ? (item ?? "null") : quote(cutText(key)) + ":" + item);
    }
    return isArray ? "[" + text + "]" : "{" + text + "}";
  }

  // What a directive makes of `value`; undefined for a letter that is none.
  function directive(letter, value) {
    switch (letter) {
      case "s":
        return stringText(value);
      case "d":
        return numberText(value, (primitive) => +primitive);
      case "i":
        return numberText(value, (primitive) => NumberParseInt(primitive));
      case "f":
        if (typeof value === "bigint") return BigIntToString(value);
        return numberText(value, (primitive) => NumberParseFloat(primitive));
      case "j":
        return jsonText(value, 0, { __proto__: null, units: MOST_JSON }) ?? "undefined";
      case "O":
        return inspect(value, true);
      case "o":
        return inspectWith(value, THOROUGH);
      case "c":
        return "";
      default:
        return undefined;
    }
  }

  // A line that is longer than all a run may log is dropped, so it need not be finished.
  const isTooLong = (text) => text.length > run.logLimit;

  // `template` with its directives filled, and how many of `args` that took, the template among them.
  function fillTemplate(template, args) {
    let text = "";
    let used = 1;
    let done = 0;
    let at = StringIndexOf(template, "%");
    while (at !== -1 && at + 1 < template.length && !isTooLong(text)) {
      const letter = template[at + 1];
      const filled = letter === "%" ? "%" : used < args.length ? directive(letter, args[used]) : undefined;
      if (filled !== undefined) {
        if (letter !== "%") used++;
        text += StringSlice(template, done, at) + filled;
        done = at + 2;
      }
      at = StringIndexOf(template, "%", at + 2);
    }
    return { __proto__: null, text: text + StringSlice(template, done), used };
  }

  // `args` is a list or array; its texts come as they are, all else as it is inspected.
  function formatLine(args) {
    const hasTemplate = args.length > 1 && typeof args[0] === "string";
    let { text, used } = hasTemplate ? fillTemplate(args[0], args) : { __proto__: null, text: "", used: 0 };
    for (; used < args.length && !isTooLong(text); used++) text += (used === 0 ? "" : " ") + inspect(args[used], false);
    return text;
  }

  return { formatLine };
})();
