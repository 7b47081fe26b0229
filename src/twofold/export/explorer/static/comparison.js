// How selected rows differ from the rest: means, or shares of levels, in units of the standard deviation within both.

const MOST_COMPARED = 10;
const MORE_COMPARED = 200;
const LONGEST_HEAD = 60;

// The standardised difference of two means (Cohen's d), with the pooled standard deviation of n values each of which only count, sum and
// sum of squares are known. Features that do not vary inside the groups differ infinitely, or not at all.
function standardised(one, other) {
  const [a, b] = [one.sum / one.count, other.sum / other.count];
  const within = one.squares - one.count * a * a + (other.squares - other.count * b * b);
  const freedom = one.count + other.count - 2;
  const unit = freedom > 0 && within > 1e-12 * (one.squares + other.squares) ? Math.sqrt(within / freedom) : 0;
  return a === b ? 0 : unit ? (a - b) / unit : (a > b ? Infinity : -Infinity);
}

// Sums of a column over selected rows (1) and the others (0); rows with 2 do not count. Values are taken from the first, in units of the
// largest difference: squares of numbers far from zero keep their digits, and those of huge and tiny ones stay finite.
function sumsOf(valueAt, groups) {
  const sums = [0, 1].map(() => ({ count: 0, sum: 0, squares: 0 }));
  const values = new Float64Array(groups.length).fill(NaN);
  let shift = null;
  let unit = 0;
  for (let row = 0; row < groups.length; row++) {
    const value = groups[row] < 2 ? valueAt(row) : null;
    if (value === null) continue;
    shift ??= value;
    values[row] = value - shift;
    unit = Math.max(unit, Math.abs(values[row]));
  }
  for (let row = 0; row < groups.length; row++) {
    if (Number.isNaN(values[row])) continue;
    const value = unit ? values[row] / unit : 0;
    const own = sums[groups[row]];
    own.count++;
    own.sum += value;
    own.squares += value * value;
  }
  return { rest: sums[0], selected: sums[1], shift: shift ?? 0, unit };
}

function comparedNumbers(name, valueAt, text, groups) {
  const { rest, selected, shift, unit } = sumsOf(valueAt, groups);
  if (!rest.count || !selected.count) return [];
  const means = [selected, rest].map(({ sum, count }) => shift + unit * (sum / count));
  return [{ name, texts: means.map((mean) => text(mean)), means, difference: standardised(selected, rest) }];
}

// Of a column of words: the word whose share differs most.
function comparedLevels(name, names, codeAt, groups) {
  const counts = [0, 1].map(() => new Float64Array(names.length));
  const totals = [0, 0];
  for (let row = 0; row < groups.length; row++) {
    const code = groups[row] < 2 ? codeAt(row) : null;
    if (code === null || code < 0) continue;
    counts[groups[row]][code]++;
    totals[groups[row]]++;
  }
  if (!totals[0] || !totals[1]) return [];
  const found = names.map((level, code) => {
    // Sums of zeros and ones: their squares have the same sum.
    const [rest, selected] = [0, 1].map((g) => ({ count: totals[g], sum: counts[g][code], squares: counts[g][code] }));
    const texts = [selected, rest].map(({ sum, count }) => shareText(sum / count));
    return { name, level, texts, difference: standardised(selected, rest) };
  });
  return [found.reduce((best, one) => (Math.abs(one.difference) > Math.abs(best.difference) ? one : best))];
}

// All columns and features, those that differ most first; and the mean rows of both groups if all features are numbers.
function comparisonOf(explorer, groups) {
  const { columns, fieldsHere: fields, rows } = explorer;
  const ofColumns = columns.flatMap((column) => {
    const { name, names, values, gaps } = column;
    if (isText(column)) return [];
    if (column.kind === "class") return comparedLevels(name, names, (row) => values[row] - 1, groups);
    return comparedNumbers(name, (row) => (gaps && gaps[row] ? null : values[row]), (value) => numberText(column, value), groups);
  });
  const ofFields = fields.flatMap((field, l) => {
    if (field.fixed !== null) return [];
    const valueAt = (row) => rows.value(row, l);
    if (field.levels) return comparedLevels(field.name, field.levels, valueAt, groups);
    return comparedNumbers(field.name, valueAt, meanText(field), groups);
  });
  const isWhole = fields.length > 0 && ofFields.length === fields.length && ofFields.every(({ means }) => means);
  return {
    found: [...ofColumns, ...ofFields].sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference)),
    means: isWhole ? [0, 1].map((group) => ofFields.map(({ means }) => means[group])) : null,
  };
}

// Means of whole numbers are not whole.
function meanText(field) {
  return field.isNumber ? shortNumber : field.text;
}

class ComparisonTable {
  constructor(appearance) {
    this.appearance = appearance;
    this.node = element("div", { className: "compared" });
    this.most = MOST_COMPARED;
  }

  show({ found, means }, n, rest) {
    this.node.textContent = "";
    if (!found.length) return;
    if (means && this.appearance.kind !== "table") this.node.append(this.meansNode(means));
    const heads = ["feature", "selected", "rest", "difference"].map((text) => element("th", { textContent: text, scope: "col" }));
    const body = element("tbody", {}, ...found.slice(0, this.most).map(lineOf));
    const note = `Means or shares of ${countText(n)} rows against ${countText(rest)} others; difference in standard deviations`;
    this.node.append(
      element("p", { className: "note", textContent: note }),
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body),
    );
    const more = Math.min(found.length, MORE_COMPARED);
    if (more <= MOST_COMPARED) return;
    const button = element("button", { type: "button", textContent: this.most > MOST_COMPARED ? "Fewer" : `Show ${countText(more)} features` });
    button.addEventListener("click", () => {
      this.most = this.most > MOST_COMPARED ? MOST_COMPARED : MORE_COMPARED;
      this.show({ found, means }, n, rest);
      this.node.querySelector("button").focus();
    });
    this.node.append(button);
  }

  // The mean rows as images, or as curves in one picture.
  meansNode(means) {
    const { appearance } = this;
    if (appearance.kind === "curve") {
      const shape = new CurveShape(appearance, [], "Means of the selected rows, and of the rest, dashed");
      shape.show(...means);
      return element("div", { className: "shape" }, shape.node, element("p", { className: "note", textContent: "mean of the rest dashed" }));
    }
    const pictures = ["mean of the selected", "mean of the rest"].map((caption, k) => {
      const shape = new ImageShape(appearance, [], caption);
      shape.show(means[k]);
      return element("figure", {}, shape.node, element("figcaption", { textContent: caption }));
    });
    return element("div", { className: "means shape" }, ...pictures);
  }
}

function lineOf({ name, level, texts, difference }) {
  const short = name.length > LONGEST_HEAD ? `${name.slice(0, LONGEST_HEAD - 1)}…` : name;
  const head = element("th", { dir: "auto", scope: "row", title: shownText(name) }, ...breakable(short));
  if (level !== undefined) head.append(" = ", element("bdi", { textContent: level }));
  const size = Math.abs(difference);
  const number = Number.isFinite(size) ? shortNumber(Number(size.toFixed(2))) : "∞";
  const sign = difference < 0 ? "-" : "+";
  const bar = element("span", { className: `difference ${difference < 0 ? "less" : "more-of"}` });
  // Two standard deviations fill their half of the cell.
  bar.style.width = `${Math.min(50, 25 * size)}%`;
  const cell = element("td", {}, element("span", { className: "two-sides" }, bar), `${sign}${number}`);
  return element("tr", {}, head, ...texts.map((text) => element("td", { textContent: text, dir: "auto" })), cell);
}
