// Use all that the runtime offers. Nothing here asks anything of what was tampered with.
const out = { __proto__: null, values, got: 0, again: 0, raw: 0, refused: 0, cycle: 0, fired: 0, thrown: 0 };
try {
  con.log("text %s %d %o %j", "a", 1, logged, logged);
  con.group("in");
  con.warn("two\nlines", logged, holes, date, buffer);
  con.groupEnd();
  con.count("n");
  con.countReset("n");
  con.time("t");
  con.assert(false, "no");
  con.table(holes);
  con.dir(logged);
  con.trace("here");
  con.log(argument.e, proxy, bad, tool);
  con.error(failure, values);
  out.got = await tool(argument, argument.a, "x");
  out.again = [await tool(argument.m), await tool()];
  out.raw = await raw("store", "f", "[]");
  try { await tool(10n) } catch (error) { out.refused = typeof error }
  try { await tool(bad) } catch (error) { out.cycle = typeof error }
  let ticks = 0;
  await new P((go) => {
    const id = often(() => {
      if (++ticks < 3) return;
      stop(id);
      go();
    }, 1);
  });
  await new P((go) => soon(go));
  await new P((go) => later((fired) => { out.fired = fired; go() }, 1, ticks));
} catch (error) {
  out.thrown = typeof error === "string" ? error : "an error";
}
con.log("heard", heard);
