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
function ownColumn(columns, name) {
  return columns.slice().reverse().find((column) => column.name === name);
}
