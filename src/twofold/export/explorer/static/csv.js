// Reading CSV: any separator, quotes, decimal points or commas, columns by name.

const MOST_PROBLEMS = 5;

// The cells of each line. Lines end with CR, LF or both, and cells in quotes may hold line ends.
function csvLines(text) {
  const clean = text.replace(/^\ufeff/, "");
  const separator = separatorOf(clean);
  const lines = [];
  let [line, cell, quoted] = [[], "", false];
  const endLine = () => {
    line.push(cell);
    if (line.some((one) => one.trim())) lines.push(line);
    [line, cell] = [[], ""];
  };
  for (let i = 0; i < clean.length; i++) {
    const c = clean[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (clean[i + 1] === '"') cell += clean[++i];
      else quoted = false;
    } else if (c === '"' && !cell.trim()) [cell, quoted] = ["", true];
    else if (c === separator) {
      line.push(cell);
      cell = "";
    } else if (c === "\n" || c === "\r") endLine();
    else cell += c;
  }
  endLine();
  return { separator, lines: lines.map((cells) => cells.map((one) => one.trim())) };
}

// The first of tab, semicolon and comma that the header has outside of quotes.
function separatorOf(text) {
  let header = "";
  let quoted = false;
  for (const c of text.trimStart()) {
    if (c === '"') quoted = !quoted;
    else if (!quoted && (c === "\n" || c === "\r")) break;
    else if (!quoted) header += c;
  }
  return ["\t", ";", ","].find((one) => header.includes(one)) ?? ",";
}

const PLAIN = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;
// May be a number of thousands with a mark between them, or a decimal number.
const GROUPED = /^[+-]?[1-9]\d{0,2}([.,]\d{3})$/;

// The decimal mark of a file: "." or ",", or null if its numbers contradict each other or could be read both ways.
function decimalMark(cells, separator) {
  const sure = new Set();
  const maybe = new Set();
  for (const text of cells) {
    const marks = text.replace(/[^.,]/g, "");
    if (!marks || !/^[+-]?[\d.,]+(e[+-]?\d+)?$/i.test(text)) continue;
    if (marks.includes(".") && marks.includes(",")) sure.add(marks[marks.length - 1]);
    else if (marks.length > 1) sure.add(marks[0] === "." ? "," : ".");
    else if (GROUPED.test(text)) maybe.add(marks);
    else sure.add(marks);
  }
  if (sure.size > 1) return null;
  if (sure.size) return [...sure][0];
  if (maybe.size > 1) return null;
  // "1.234" alone is a decimal number; "1,234" is one where commas do not separate cells.
  return maybe.has(",") ? (separator === "," ? null : ",") : ".";
}

// A number written with a decimal mark, or NaN.
function numberFrom(text, mark) {
  const group = mark === "." ? "," : ".";
  let plain = text.replace(/[\s\u00a0\u202f']/g, "").replace("\u2212", "-");
  const [whole] = plain.split(mark);
  if (plain.includes(group)) {
    if (!/^[+-]?\d{1,3}([.,]\d{3})+$/.test(whole)) return NaN;
    plain = plain.replaceAll(group, "");
  }
  return PLAIN.test(plain) ? Number(plain.replace(",", ".")) : NaN;
}

// Rows of a page's columns in a CSV: own values of each field, a name for each row, and what is to be said about it.
function readRows(text, fields, rowNames = ["row", "id", "name"]) {
  const { separator, lines } = csvLines(text);
  if (!lines.length) return { rows: [], said: ["Nothing to read: the text is empty."] };
  const said = [];
  const wanted = fields.map((field, l) => ({ field, l })).filter(({ field }) => field.fixed === null);
  let [header, ...body] = lines;
  let columns = columnsByName(header, wanted);
  if (columns.found === 0 && header.length === wanted.length && header.every((cell) => PLAIN.test(cell))) {
    body = lines;
    header = [];
    columns = { of: wanted.map((_, k) => k), missing: [], twice: [] };
    said.push("No header: columns are taken in the page's order.");
  }
  if (columns.twice.length) return { rows: [], said: [`Columns that occur twice: ${listed(columns.twice)}.`] };
  if (columns.missing.length) return { rows: [], said: [`Columns that are missing: ${listed(columns.missing)}.`] };
  const used = new Set(columns.of);
  const named = header.findIndex((name, k) => !used.has(k) && rowNames.includes(name.toLowerCase()));
  const extra = header.filter((name, k) => !used.has(k) && k !== named && !fields.some((field) => field.fixed !== null && field.name === name));
  if (extra.length) said.push(`Ignored: ${listed(extra)}.`);
  if (!body.length) said.push("There are no rows below the header.");
  const numeric = wanted.flatMap(({ field }, k) => (field.levels || field.kind === "date" ? [] : [columns.of[k]]));
  const mark = decimalMark(body.flatMap((cells) => numeric.map((k) => cells[k] ?? "")), separator);
  if (mark === null) return { rows: [], said: [...said, "Numbers with points and commas: it is not clear which mark the decimals."] };
  const rows = [];
  const problems = [];
  body.forEach((cells, i) => {
    const values = new Array(fields.length).fill(0);
    const wrong = [];
    wanted.forEach(({ field, l }, k) => {
      const { value, problem } = ownValue(field, cells[columns.of[k]] ?? "", mark);
      if (problem) wrong.push(`line ${i + lines.length - body.length + 1}, ${shownText(field.name)}: ${problem}`);
      else values[l] = value;
    });
    if (wrong.length) problems.push(...wrong);
    else rows.push({ name: named >= 0 ? cells[named] ?? "" : "", values });
  });
  if (body.length > rows.length) said.push(`Left out ${body.length - rows.length} of ${body.length} rows: ${listed(problems, "; ")}.`);
  return { rows, said };
}

function listed(texts, between = ", ") {
  const more = texts.length - MOST_PROBLEMS;
  return texts.slice(0, MOST_PROBLEMS).map(isolated).join(between) + (more > 0 ? ` and ${more} more` : "");
}

// For each wanted field, the number of its column; names are compared exactly first, then without regard to case.
function columnsByName(header, wanted) {
  const [missing, twice] = [[], []];
  let found = 0;
  const of = wanted.map(({ field }) => {
    const name = field.name.trim();
    let places = header.flatMap((one, k) => (one === name ? [k] : []));
    if (!places.length) places = header.flatMap((one, k) => (one.toLowerCase() === name.toLowerCase() ? [k] : []));
    if (!places.length) missing.push(field.name);
    else if (places.length > 1) twice.push(field.name);
    found += places.length;
    return places[0];
  });
  return { of, missing, twice, found };
}

// A cell as a field's own value, or what is wrong with it.
function ownValue(field, text, mark) {
  if (!text || (/^(na|nan|null|missing)$/i.test(text) && !field.levels?.includes(text))) return { problem: "the cell is empty" };
  if (field.levels) {
    let level = field.levels.indexOf(text);
    if (level < 0) level = field.levels.findIndex((one) => one.toLowerCase() === text.toLowerCase());
    if (level < 0 && /^[01]$/.test(text) && field.levels.join() === "false,true") level = Number(text);
    if (level < 0) return { problem: `${isolated(text)} is not one of its values` };
    if (field.scores && field.scores[level] === null) return { problem: `${isolated(text)} was not in the training rows` };
    return { value: level };
  }
  if (field.kind === "date") {
    const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)Z?)?$/.exec(text);
    const days = iso ? Date.parse(`${iso[1]}T${iso[2] ?? "00:00"}Z`) / DAY : NaN;
    return Number.isFinite(days) ? { value: days } : { problem: `${isolated(text)} is not a date as 2026-01-31` };
  }
  const value = numberFrom(field.kind === "duration" ? text.replace(/\s*days?$/, "") : text, mark);
  return Number.isFinite(value) ? { value } : { problem: `${isolated(text)} is not a number` };
}
