// atob and btoa, as the HTML standard's "Base64 utility methods" has them: texts whose units are bytes.

(() => {
  const forgiving = { __proto__: null, alphabet: "base64", lastChunkHandling: "loose" };

  const invalid = (message) => new DOMExceptionClass(message, "InvalidCharacterError");

  // Methods, which have `arguments` to tell a missing argument from undefined, and are no constructors.
  const { atob, btoa } = {
    atob(data) {
      if (arguments.length === 0) throw new TypeErrorConstructor("atob needs the text to decode.");
      const text = `${data}`;
      let bytes;
      try {
        bytes = Uint8ArrayFromBase64(text, forgiving);
      } catch {
        throw invalid("The text for atob is not correctly encoded base64.");
      }
      return textOfUnits(bytes, TypedArrayLength(bytes));
    },

    btoa(data) {
      if (arguments.length === 0) throw new TypeErrorConstructor("btoa needs the text to encode.");
      const text = `${data}`;
      const bytes = new Uint8ArrayConstructor(text.length);
      for (let i = 0; i < text.length; i++) {
        const unit = StringCharCodeAt(text, i);
        if (unit > 0xff) {
          throw invalid("btoa takes characters up to U+00FF; other text needs TextEncoder and Uint8Array's toBase64.");
        }
        bytes[i] = unit;
      }
      return Uint8ArrayToBase64(bytes);
    },
  };

  defineGlobal("atob", atob);
  defineGlobal("btoa", btoa);
})();
