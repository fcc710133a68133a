// How the console shows instances of the web's classes, whose state is in no property: as Node does, by their
// accessors. It comes after all that makes globals.

(() => {
  // The accessors are captured now, so that a program's changes are not asked. Each throws for what is no instance.
  const showFields = (Class, keys) => {
    const fields = [];
    for (const key of keys.split(" ")) {
      if (hasOwn(Class.prototype, key)) fields.push({ key, read: getter(Class.prototype, key) });
    }
    showAs(Class.prototype, (instance) => {
      const content = { __proto__: null };
      for (let i = 0; i < fields.length; i++) content[fields[i].key] = fields[i].read(instance);
      return content;
    });
  };
  const showEntries = (Class, collect) => {
    const forEach = uncurry(Class.prototype.forEach);
    showAs(Class.prototype, (instance) => collect((visit) => forEach(instance, visit)));
  };

  showFields(URL, "href origin protocol username password host hostname port pathname search searchParams hash");
  showFields(Request, "method url headers redirect signal bodyUsed");
  showFields(Response, "status statusText headers bodyUsed ok redirected type url");
  showFields(AbortController, "signal");
  showFields(AbortSignal, "aborted");
  showFields(Event, "type defaultPrevented cancelable timeStamp");
  showFields(TextEncoder, "encoding");
  showFields(TextDecoder, "encoding fatal ignoreBOM");
  showEntries(URLSearchParams, (visitAll) => {
    const pairs = [];
    visitAll((value, name) => ownValue(pairs, pairs.length, [name, value]));
    return pairs;
  });
  showEntries(Headers, (visitAll) => {
    const fields = { __proto__: null };
    visitAll((value, name) => {
      fields[name] = value;
    });
    return fields;
  });
  nameBuiltins();
  trustGetters(DOMException.prototype, ["name", "message", "code"]);
})();
