// Numbers as the browser's language writes them: decimal marks and groups of digits. CSV files keep the point.

const MARKS = marksOf(navigator.language);
// Between numbers of a list.
const LIST_MARK = MARKS.decimal === "," ? "; " : ", ";

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

// A typed number, or null. Of commas and points, the last is the decimal mark; alone, it may also part groups of three digits, as the
// language does.
function parsedNumber(typed) {
  let text = typed.trim().replaceAll("\u2212", "-").replace(/[\s\u00a0\u202f'’]/g, "");
  const last = text[Math.max(text.lastIndexOf(","), text.lastIndexOf("."))];
  const isGrouped = last === MARKS.group && new RegExp(`^[+-]?\\d{1,3}(\\${last}\\d{3})+$`).test(text);
  const decimal = isGrouped ? null : last;
  text = text.replace(/[.,]/g, (mark) => (mark === decimal ? "." : ""));
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : null;
}
