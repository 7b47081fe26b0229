// Columns as people read them: numbers, whole numbers, dates, truth values, and words with probabilities.

const MOST_LEVELS = 5;
const DAY = 86_400_000;
// Days from 1970 up to which a browser knows dates.
const LAST_DAY = 1e8;

function dateText(days, short = shortNumber) {
  if (!(Math.abs(days) <= LAST_DAY)) return short(days);
  return new Date(Math.floor(days + 1e-6) * DAY).toISOString().split("T")[0];
}

function shareText(share) {
  if (share > 0 && share < 0.005) return "<1 %";
  if (share < 1 && share > 0.995) return ">99 %";
  return `${Math.round(100 * share)} %`;
}

const NUMBER_TEXTS = {
  number: (value, short = shortNumber) => short(value),
  integer: (value, short = shortNumber) => (Math.abs(value) < 1e15 ? String(Math.round(value) + 0) : short(value)),
  date: dateText,
  duration: (value, short = shortNumber) => `${short(value)} days`,
};

// One column of the table. A decoded row holds at `at` its number, or a score of its ordered levels, or from there on the probabilities of its levels.
class Field {
  constructor({ name, kind, at, levels = null, scores = null, step = 0, fixed = null }) {
    Object.assign(this, { name, kind, at, levels, scores, fixed });
    const text = NUMBER_TEXTS[kind];
    this.isNumber = kind === "number" || kind === "integer";
    this.text = step ? (value, short) => text(Math.round(value / step) * step, short) : text;
  }

  // A row's own value: a number, the number of a level, or null.
  own(value, short = shortNumber) {
    if (value === null) return MISSING;
    if (this.fixed !== null) return this.fixed;
    return this.levels ? this.levels[value] : this.text(value, short);
  }

  // The same for a CSV file.
  cell(value) {
    if (value === null) return "";
    return this.isNumber && !this.levels && this.fixed === null ? value : this.own(value, pointNumber);
  }

  // Of a decoded row: the text, and the probability of a level.
  decoded(x) {
    if (this.fixed !== null) return { text: this.fixed, share: null };
    if (!this.levels) return { text: this.text(x[this.at]), share: null };
    const shares = this.shares(x);
    const level = shares.indexOf(Math.max(...shares));
    return { text: this.levels[level], share: shares[level] };
  }

  // The probabilities of all levels. Those of ordered levels have the decoded score as their mean.
  shares(x) {
    if (!this.scores) return Array.from(x.subarray(this.at, this.at + this.levels.length));
    const known = this.scores.flatMap((score, k) => (score === null ? [] : [[score, k]]));
    const upper = Math.min(known.length - 1, Math.max(1, known.filter(([score]) => score < x[this.at]).length));
    const [[low, below], [high, above]] = [known[upper - 1], known[upper]];
    const share = Math.min(1, Math.max(0, (x[this.at] - low) / (high - low)));
    return this.levels.map((_, k) => (k === below ? 1 - share : k === above ? share : 0));
  }

  // The most probable levels with their probabilities; few levels stay in their order.
  leading(x) {
    const pairs = this.shares(x).map((share, k) => [k, share]);
    if (pairs.length <= MOST_LEVELS) return pairs;
    return pairs.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_LEVELS);
  }

  // As a column to color by.
  column(values) {
    const { name } = this;
    if (this.fixed !== null) return { name, kind: "class", names: [this.fixed], values: plainArray(values.map((value) => Number(value !== null))) };
    if (this.levels) return { name, kind: "class", names: this.levels, values: plainArray(values.map((value) => (value === null ? 0 : value + 1))) };
    const gaps = values.map((value) => Number(value === null));
    return { name, kind: "number", text: this.text, values: plainArray(values.map((value) => value ?? 0)), gaps: plainArray(gaps) };
  }
}

function plainArray(values) {
  return { codes: Float64Array.from(values), step: 1, offset: 0, shape: [values.length] };
}

// Rows as they were given: for each, a number, the number of a level or null in every field. Pages of very many rows leave their values out.
class Rows {
  constructor({ data, gaps }, fields) {
    this.fields = fields;
    this.data = data;
    this.isThere = data !== null;
    if (!this.isThere) return;
    this.step = columnsOf(data.step, data);
    this.offset = columnsOf(data.offset, data);
    this.gaps = gaps ? numbersOf(gaps) : null;
  }

  value(row, l) {
    if (!this.isThere) return null;
    const at = row * this.fields.length + l;
    if (this.gaps && this.gaps[at]) return null;
    return this.offset[l] + this.step[l] * this.data.codes[at];
  }

  row(row) {
    return this.fields.map((_, l) => this.value(row, l));
  }

  column(l) {
    const n = this.data.shape[0];
    return this.fields[l].column(Array.from({ length: n }, (_, row) => this.value(row, l)));
  }
}
