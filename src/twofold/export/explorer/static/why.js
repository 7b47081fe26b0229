// Why here: the features that change most around a place, how well data support it, and the error to expect there.

// Half the width of the differences, and the step for which changes are shown, as shares of the map's largest extent.
const CHANGE_STEP = 1e-3;
const SHOWN_STEP = 0.01;
const MOST_CHANGES = 6;
const NEAR_ROWS = 20;
// Rows from which standard deviations are taken.
const MOST_MEASURED = 5_000;
const MOST_MEASURED_NUMBERS = 2_000_000;
// Milliseconds beyond which changes are computed when the pointer rests.
const SLOW = 8;
const REST = 120;
const SUPPORT_WORDS = ["no data here", "few data here", "well supported"];
// Log density below the border at which the gauge is empty.
const GAUGE_DEPTH = 12;
const COMPASS = ["right", "up right", "up", "up left", "left", "down left", "down", "down right"];

// Pixels and points of curves share a unit: those that are nearly constant count with this share of the usual deviation.
const LEAST_SPREAD = 0.25;

// The standard deviation of each field over the rows; that of words is the root of the summed variances of their indicators.
function spreadsOf({ fields, rows, points, content }) {
  const count = Math.min(points.n, MOST_MEASURED, Math.max(100, Math.floor(MOST_MEASURED_NUMBERS / fields.length)));
  const some = Array.from({ length: count }, (_, i) => Math.floor((i * points.n) / count));
  const spreads = fields.map((field, l) => {
    if (field.fixed !== null) return 0;
    const values = some.map((row) => rows.value(row, l)).filter((value) => value !== null);
    if (!values.length) return 0;
    if (field.levels && !field.scores) {
      const shares = field.levels.map((_, k) => values.filter((value) => value === k).length / values.length);
      return Math.sqrt(shares.reduce((sum, share) => sum + share * (1 - share), 0));
    }
    const numbers = field.scores ? values.map((value) => field.scores[value] ?? 0) : values;
    const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
    return Math.sqrt(numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0) / numbers.length);
  });
  if (content.appearance.kind === "table") return spreads;
  const usual = Math.sqrt(squareOf(spreads) / spreads.length);
  return spreads.map((spread) => (spread > 0 ? Math.max(spread, LEAST_SPREAD * usual) : 0));
}

// The squared distance of a row's latent from a place; around circles the short way.
function latentDistance(points, row, z, { box, wrapped }) {
  let sum = 0;
  for (let l = 0, at = row * points.q; l < points.q; l++, at++) {
    let d = points.latents[at] - z[l];
    if (box && wrapped[l]) d -= (box[1][l] - box[0][l]) * Math.round(d / (box[1][l] - box[0][l]));
    sum += d * d;
  }
  return sum;
}

class Why {
  constructor(explorer) {
    this.explorer = explorer;
    const { landscape, content, appearance = content.appearance } = explorer;
    const isDiscrete = content.program.some((step) => step.n_points !== undefined);
    this.extent = Math.max(...landscape.high.map((high, l) => high - landscape.low[l]));
    this.step = isDiscrete ? 1 : CHANGE_STEP * this.extent;
    this.unit = isDiscrete ? 1 : SHOWN_STEP * this.extent;
    this.unitText = isDiscrete ? "from one point to the next" : "over a hundredth of the map";
    this.kind = appearance.kind;
    this.build();
  }

  get spreads() {
    this.measured ??= spreadsOf(this.explorer);
    return this.measured;
  }

  build() {
    this.support = new Gauge("Support", [1 / 3, 2 / 3]);
    this.error = new Gauge("Expected error", [0.5]);
    byId("place").after(element("div", { className: "gauges" }, this.support.node, this.error.node));
    this.lines = Array.from({ length: MOST_CHANGES }, () => new ChangeLine());
    this.list = element("ol", { className: "changes" }, ...this.lines.map((line) => line.node));
    this.caption = element("p", { className: "caption" });
    this.node = element("details", { id: "why", open: true }, element("summary", { textContent: "What changes here" }));
    const both = element("div", { className: `why-${this.kind}` });
    if (this.kind !== "table") {
      const { appearance } = this.explorer.content;
      this.shape = new SHAPES[this.kind]({ ...appearance, low: 0, high: 1 }, [], "How much each feature changes around this place");
      both.append(element("div", { className: "shape" }, this.shape.node));
    }
    both.append(this.list);
    this.node.append(both, this.caption);
    this.node.addEventListener("toggle", () => this.node.open && this.z && this.update());
    byId("here").append(this.node);
  }

  // Support at once; the rest once a frame or, if that is slow, when the pointer rests.
  show(z) {
    this.z = z;
    this.showSupport(z);
    if (this.isAsked) return;
    if (this.cost > SLOW) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.update(), REST);
      return;
    }
    this.isAsked = true;
    requestAnimationFrame(() => this.update());
  }

  update() {
    this.isAsked = false;
    const start = performance.now();
    this.showError(this.z);
    this.cost = performance.now() - start;
    if (!this.node.open) return;
    this.columns = differences(this.explorer.decode, this.z, this.step, this.explorer.landscape);
    this.changes = this.sorted();
    this.cost = performance.now() - start;
    const largest = this.changes.length ? this.changes[0].size : 0;
    this.lines.forEach((line, k) => line.show(this.changes[k], largest, this.explorer.camera));
    this.caption.textContent = largest ? `standard deviations ${this.unitText}` : "Nothing changes here.";
    if (this.shape) this.showShape();
  }

  // Fields with the length of their gradient in standard deviations, and its direction in the latents.
  sorted() {
    const { fields } = this.explorer;
    const found = fields.flatMap((field, l) => {
      const spread = this.spreads[l];
      if (!(spread > 0)) return [];
      const gradient = (at) => this.columns.map((column) => column[at]);
      let leading = field.at;
      let square = squareOf(gradient(field.at));
      if (field.levels && !field.scores) {
        square = 0;
        let most = -1;
        for (let k = 0; k < field.levels.length; k++) {
          const one = squareOf(gradient(field.at + k));
          square += one;
          if (one > most) [most, leading] = [one, field.at + k];
        }
      }
      const size = (Math.sqrt(square) * this.unit) / spread;
      const level = field.levels && !field.scores ? field.levels[leading - field.at] : null;
      return size > 1e-9 ? [{ field, l, size, level, direction: gradient(leading) }] : [];
    });
    return found.sort((a, b) => b.size - a.size);
  }

  showShape() {
    const norms = Float64Array.from(this.columns[0], (_, at) => Math.sqrt(squareOf(this.columns.map((column) => column[at]))) * this.unit);
    const high = norms.reduce((a, b) => Math.max(a, b), 0);
    this.shape.appearance.high = high || 1;
    this.shape.show(norms);
    const top = this.kind === "image" ? "white" : "highest";
    this.caption.textContent = `Change of all features (${top}: ${rounded(high, 2)}), and of some in standard deviations, ${this.unitText}`;
  }

  // The gauge agrees with the word: each has a third, and the density sets the place in it.
  showSupport(z) {
    const { landscape } = this.explorer;
    const word = landscape.support(z);
    const third = SUPPORT_WORDS.findIndex((one) => word.startsWith(one));
    this.support.node.hidden = third < 0;
    if (third < 0) return;
    const value = landscape.at(z);
    const ends = [landscape.border - GAUGE_DEPTH, landscape.border, landscape.usual, landscape.top];
    const inThird = (value - ends[third]) / (ends[third + 1] - ends[third] || 1);
    this.support.show((third + Math.min(1, Math.max(0, inThird))) / 3, word);
  }

  // The root mean square error of the rows nearby, weighted by their distances.
  errorAt(z) {
    const { points, landscape, errors } = this.explorer;
    const near = new Nearest(Math.min(NEAR_ROWS, points.n));
    for (let row = 0; row < points.n; row++) near.offer(row, latentDistance(points, row, z, landscape));
    const { rows, distances } = near;
    const middle = distances[distances.length >> 1] || 1e-300;
    let [mass, sum] = [0, 0];
    rows.forEach((row, k) => {
      const weight = Math.exp(-0.5 * Math.min(distances[k] / middle, 1400));
      mass += weight;
      sum += weight * errors.values[row] ** 2;
    });
    const reach = Math.sqrt(distances[distances.length - 1]);
    return { error: Math.sqrt(sum / mass), count: rows.length, reach };
  }

  get usualError() {
    const { values } = this.explorer.errors;
    this.usual ??= Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
    return this.usual;
  }

  showError(z) {
    const { error, count, reach } = this.errorAt(z);
    const share = this.usualError > 0 ? Math.min(1, (0.5 * error) / this.usualError) : 0;
    const text = `${rounded(error, 3)}; all rows ${rounded(this.usualError, 3)}`;
    this.error.show(share, text, `Of the ${count} nearest rows, within ${shortNumber(reach)} on the map`);
    this.expected = { error, count, reach };
  }
}

function squareOf(vector) {
  return vector.reduce((sum, value) => sum + value * value, 0);
}

function rounded(value, digits) {
  return shortNumber(Number(value.toPrecision(digits)));
}

// A bar from nothing to all, with marks.
class Gauge {
  constructor(name, marks) {
    this.text = element("span", { className: "gauge-text" });
    this.fill = element("span", { className: "fill" });
    const ticks = marks.map((share) => {
      const tick = element("span", { className: "tick" });
      tick.style.insetInlineStart = `${100 * share}%`;
      return tick;
    });
    this.track = element("span", { className: "track" }, this.fill, ...ticks);
    this.track.setAttribute("role", "meter");
    this.track.setAttribute("aria-label", name);
    this.track.setAttribute("aria-valuemin", "0");
    this.track.setAttribute("aria-valuemax", "100");
    this.node = element("div", { className: "gauge" }, element("span", { textContent: name }), this.track, this.text);
  }

  show(share, text, title = "") {
    this.fill.style.width = `${100 * share}%`;
    this.track.setAttribute("aria-valuenow", String(Math.round(100 * share)));
    this.track.setAttribute("aria-valuetext", text);
    this.text.textContent = text;
    this.node.title = title;
  }
}

// A feature with its change as a bar, and an arrow to where it grows.
class ChangeLine {
  constructor() {
    this.name = element("span", { className: "name", dir: "auto" });
    this.fill = element("span", { className: "fill" });
    this.arrow = element("span", { className: "arrow", textContent: "→" });
    this.arrow.setAttribute("role", "img");
    this.value = element("span", { className: "value" });
    this.node = element("li", {}, this.name, element("span", { className: "track" }, this.fill), this.value, this.arrow);
  }

  show(change, largest, camera) {
    this.node.hidden = !change;
    if (!change) return;
    const { field, size, level, direction } = change;
    this.name.textContent = this.name.title = shownText(level === null ? field.name : `${field.name}: ${level}`);
    this.fill.style.width = `${(100 * size) / largest}%`;
    this.value.textContent = rounded(size, 2);
    const [u, v] = camera.plane(direction);
    const angle = Math.atan2(v, u);
    this.arrow.style.transform = `rotate(${-angle}rad)`;
    this.arrow.setAttribute("aria-label", `grows ${COMPASS[(Math.round((4 * angle) / Math.PI) + 8) % 8]}`);
  }
}
