// Names of rows: a list; or for very many rows a prefix with numbers, or all names in one text.

function rowNaming({ rows, many_rows: many }) {
  if (rows) return (row) => rows[row];
  if (!many) return (row) => `row ${row}`;
  if (many.text) {
    const names = new TextDecoder().decode(many.text.codes).split("\n");
    return (row) => names[row];
  }
  // Each number is so much larger than the one before.
  const numbers = numbersOf(many.steps);
  for (let i = 1; i < numbers.length; i++) numbers[i] += numbers[i - 1];
  return (row) => `${many.prefix}${numbers[row]}`;
}

// What the page says of rows that it does not have, or not whole.
function shownPart(n, total, isWhole) {
  const parts = n < total ? [`${countText(n)} shown`] : [];
  if (!isWhole) parts.push("without their values");
  return parts.length ? ` (${parts.join(", ")})` : "";
}

// The page's own columns come after those that were given, which may have the same names.
const OWN_COLUMNS = ["reconstruction error", "log density"];

function ownColumn(columns, name) {
  return columns.slice().reverse().find((column) => column.name === name);
}

// The numbers of the columns that were given, and of the page's own; many rows have only the first of these.
function givenAndOwn(columns) {
  const own = OWN_COLUMNS.map((name) => columns.lastIndexOf(ownColumn(columns, name))).filter((k) => k >= 0);
  return [columns.map((_, k) => k).filter((k) => !own.includes(k)), own];
}

// A column of texts that differ from row to row is for cards: as classes they say nothing.
const MOST_CLASSES = 64;

function isText(column) {
  return column.kind === "class" && column.names.length > MOST_CLASSES && 2 * column.names.length > column.values.length;
}
