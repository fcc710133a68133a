// console.table: the rows of a value in a frame, as Node draws it. No getter is asked, and a proxy is one cell.

const { tableText, isReadable } = (() => {
  const MOST_ROWS = 1000;
  const MOST_COLUMNS = 100;
  const MOST_TEXT = 256 * 1024;
  const CELL = makeSettings(0, false, 3, Infinity);
  const CELL_OF_MANY = makeSettings(-1, false, 3, Infinity);

  const isReadable = (value) =>
    ((typeof value === "object" && value !== null) || typeof value === "function") && !WeakSetHas(knownProxies, value);

  function cellText(value) {
    const isRecord = typeof value === "object" && isReadable(value) && !ArrayIsArray(value);
    return inspectWith(value, isRecord && ownKeys(value, false, false).length > 2 ? CELL_OF_MANY : CELL);
  }

  function slotText(object, key) {
    const descriptor = ReflectGetOwnPropertyDescriptor(object, key);
    return ObjectHasOwn(descriptor, "value") ? cellText(descriptor.value) : "[Getter]";
  }

  // A table being filled: columns in order, each the cells by row.
  class Table {
    names = newList();
    columns = newList();
    byKey = new MapConstructor();
    rows = 0;
    text = 0;

    // Whether no further row is to be read.
    get isFull() {
      return this.rows >= MOST_ROWS || this.text > MOST_TEXT;
    }

    add(name, cells = { __proto__: null }) {
      append(this.names, cutText(name));
      append(this.columns, cells);
      return cells;
    }

    put(key, text) {
      let cells = MapGet(this.byKey, key);
      if (cells === undefined) {
        if (this.columns.length > MOST_COLUMNS) return;
        MapSet(this.byKey, key, (cells = this.add(key)));
      }
      this.set(cells, text);
    }

    set(cells, text) {
      cells[this.rows] = text;
      this.text += text.length;
    }
  }

  function rule(widths, left, middle, right) {
    let line = left;
    for (let i = 0; i < widths.length; i++) line += (i === 0 ? "" : middle) + StringRepeat("─", widths[i]);
    return line + right;
  }

  // `size` is how many rows there are, drawn or not.
  function draw({ names, columns, rows }, size) {
    const widths = newList();
    let width = 1;
    for (let i = 0; i < columns.length; i++) {
      let widest = textWidth(names[i]);
      for (let row = 0; row < rows; row++) widest = MathMax(widest, textWidth(columns[i][row] ?? ""));
      append(widths, widest + 2);
      width += widest + 3;
    }
    const drawn = MathMin(rows, MathMax(1, (MOST_TEXT - (MOST_TEXT % width)) / width));
    const left = size - drawn;
    const line = (cellOf) => {
      let text = "";
      for (let i = 0; i < columns.length; i++) {
        const cell = cellOf(i);
        text += "│ " + cell + StringRepeat(" ", widths[i] - 1 - textWidth(cell));
      }
      return text + "│\n";
    };
    let text = rule(widths, "┌", "┬", "┐\n") + line((i) => names[i]) + rule(widths, "├", "┼", "┤\n");
    for (let row = 0; row < drawn; row++) text += line((i) => columns[i][row] ?? "");
    text += rule(widths, "└", "┴", "┘");
    return left > 0 ? text + "\n... " + left + " more row" + (left > 1 ? "s" : "") : text;
  }

  // The entries of a Map or the items of a Set by the order in which they are visited.
  function collectionTable(collection, isMap) {
    const size = isMap ? MapSize(collection) : SetSize(collection);
    const table = new Table();
    const index = table.add("(iteration index)");
    const keys = isMap ? table.add("Key") : undefined;
    const values = table.add("Values");
    visitEntries(collection, isMap, (key, value) => {
      index[table.rows] = NumberToString(table.rows);
      if (isMap) table.set(keys, cellText(key));
      table.set(values, cellText(value));
      table.rows++;
      return !table.isFull;
    });
    return draw(table, size);
  }

  // The keys of the rows. Those of many items are not all made into texts.
  function rowKeys(value) {
    const length = itemCount(value);
    if (length <= MOST_ROWS) return ownKeys(value, false, false);
    const keys = newList();
    for (let i = 0; i < MOST_ROWS; i++) if (ObjectHasOwn(value, i)) append(keys, NumberToString(i));
    keys.omitted = length - MOST_ROWS;
    return keys;
  }

  // The cells of one row: the columns `only` if given, else one for each of its keys.
  function putRow(table, row, only) {
    const keys = only ?? ownKeys(row, false, false);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (typeof key !== "symbol") table.put(key, isReadable(row) && ObjectHasOwn(row, key) ? slotText(row, key) : "");
    }
  }

  function rowsTable(value, only) {
    const table = new Table();
    const index = table.add("(index)");
    const values = { __proto__: null };
    let hasValues = false;
    const keys = rowKeys(value);
    let i = 0;
    for (; i < keys.length && !table.isFull; i++) {
      if (typeof keys[i] === "symbol") continue;
      index[table.rows] = cutText(keys[i]);
      const row = dataProperty(value, keys[i]);
      if (isReadable(row) || only !== undefined) {
        putRow(table, row, only);
      } else {
        table.set(values, slotText(value, keys[i]));
        hasValues = true;
      }
      table.rows++;
    }
    if (hasValues) table.add("Values", values);
    return draw(table, table.rows + keys.length - i + keys.omitted);
  }

  // The table of an object's rows; `only` are the columns to show, undefined for all.
  function tableText(value, only) {
    const kind = lineage(value);
    try {
      if (kind === MapPrototype || kind === SetPrototype) return collectionTable(value, kind === MapPrototype);
    } catch (error) {
      if (isOverflow(error)) throw error; // Otherwise it only looks like one.
    }
    return rowsTable(value, only);
  }

  return { tableText, isReadable };
})();
