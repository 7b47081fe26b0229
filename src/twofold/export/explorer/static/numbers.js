// Numbers as the browser's language writes them: decimal marks and groups of digits. CSV files keep the point.

const MARKS = marksOf(navigator.language);

// Decimal and group marks of a language; those of English where its digits are not 0 to 9.
function marksOf(language) {
  try {
    const parts = new Intl.NumberFormat(language, { useGrouping: true }).formatToParts(-1234567.5);
    const digits = parts.filter(({ type }) => type === "integer").map(({ value }) => value).join("");
    const mark = (wanted, otherwise) => parts.find(({ type }) => type === wanted)?.value ?? otherwise;
    if (digits === "1234567") return { decimal: mark("decimal", "."), group: mark("group", "") };
  } catch {
    // An unknown language.
  }
  return { decimal: ".", group: "," };
}

// A number with four digits, as a CSV file has it.
function pointNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

function shortNumber(value) {
  return pointNumber(value).replace(".", MARKS.decimal);
}

// A count, with its digits in groups.
function countText(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, MARKS.group);
}

// A typed number, or null. A mark of groups counts as a decimal mark unless it stands between groups of three digits.
function parsedNumber(typed) {
  let text = typed.trim().replaceAll("\u2212", "-").replace(/[\s\u00a0\u202f']/g, "");
  const { decimal, group } = MARKS;
  const isGrouped = group && (text.includes(decimal) || new RegExp(`^[+-]?\\d{1,3}(\\${group}\\d{3})+$`).test(text));
  if (isGrouped && group.trim()) text = text.replaceAll(group, "");
  text = text.replace(decimal, ".").replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : null;
}
