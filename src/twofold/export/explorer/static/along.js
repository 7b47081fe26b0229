// Features along a path: small curves of those that change most, and of those that a reader chose.

const PLACES = 61;
const MOST_CURVES = 4;
const MOST_TO_CHOOSE = 2_000;
// Share of a standard deviation that is shown as zero.
const NOTHING = 1e-4;
const CURVE_WIDTH = 120;
const CURVE_HEIGHT = 30;

class Along {
  constructor(explorer, why) {
    Object.assign(this, { explorer, why });
    this.chosen = [];
    this.curves = [];
    this.build();
  }

  build() {
    this.order = element("select", {}, element("option", { value: "way", textContent: "on the way" }), element("option", { value: "ends", textContent: "between ends" }));
    this.order.addEventListener("change", () => this.show());
    this.more = element("select", {}, element("option", { value: "", textContent: "choose…" }));
    this.explorer.fields.slice(0, MOST_TO_CHOOSE).forEach((field, l) => {
      if (field.fixed === null) this.more.append(element("option", { value: l, textContent: field.name }));
    });
    this.more.addEventListener("change", () => {
      if (this.more.value !== "") this.choose(Number(this.more.value));
      this.more.value = "";
    });
    this.list = element("ul", { className: "curves" });
    const options = element("div", { className: "options" }, element("label", { textContent: "Most change " }, this.order), element("label", { textContent: "Add " }, this.more));
    this.node = element("div", { id: "features-along" }, element("h3", { textContent: "Features along the path" }), options, this.list);
    byId("player").append(this.node);
  }

  // Decode places along the path, once for a path.
  measure() {
    const { path, decode, fields } = this.explorer;
    this.curves = [];
    if (!path.isThere) return this.show();
    const rows = Array.from({ length: PLACES }, (_, k) => decode(path.at(k / (PLACES - 1))));
    this.changes = fields.flatMap((field, l) => {
      const spread = this.why.spreads[l];
      return spread > 0 ? [{ l, spread, ...this.changeOf(field, rows, spread) }] : [];
    });
    return this.show();
  }

  // How far a field's values reach along the rows, how far apart the ends are, and the values to draw: those of the level that changes most.
  changeOf(field, rows, spread) {
    const isWords = field.levels && !field.scores;
    const columns = Array.from({ length: isWords ? field.levels.length : 1 }, (_, k) => rows.map((x) => x[field.at + k]));
    const reach = columns.map((values) => Math.max(...values) - Math.min(...values));
    const ends = columns.map((values) => values[values.length - 1] - values[0]);
    const leading = reach.indexOf(Math.max(...reach));
    const size = (all) => Math.sqrt(squareOf(all)) / spread;
    return { way: size(reach), ends: size(ends), level: isWords ? leading : null, values: columns[leading] };
  }

  choose(l) {
    if (!this.chosen.includes(l)) this.chosen.push(l);
    this.show();
  }

  // Chosen features first, then those that change most.
  show() {
    this.list.textContent = "";
    this.curves = [];
    if (!this.explorer.path.isThere) return;
    const key = this.order.value;
    const sorted = this.changes.filter((one) => one[key] > 1e-9).sort((a, b) => b[key] - a[key]);
    const chosen = this.chosen.flatMap((l) => this.changes.filter((one) => one.l === l));
    const top = sorted.filter((one) => !this.chosen.includes(one.l)).slice(0, MOST_CURVES);
    for (const change of [...chosen, ...top]) {
      const curve = new SmallCurve(this.explorer.fields[change.l], change, key);
      if (this.chosen.includes(change.l)) curve.addRemove(() => {
        this.chosen = this.chosen.filter((l) => l !== change.l);
        this.show();
      });
      this.curves.push(curve);
      this.list.append(curve.node);
    }
    this.mark();
  }

  mark() {
    if (this.curves.length && this.explorer.path.isThere) for (const curve of this.curves) curve.mark(this.explorer.path.share);
  }
}

// The name of SVG is no address; it is in two parts since a page should hold none that a reader could take for a request.
function svg(tag, attributes) {
  const made = document.createElementNS("http:" + "//www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

class SmallCurve {
  constructor(field, { level, values, way, ends, spread }, key) {
    this.values = values;
    this.text = level === null ? (value) => decodedText(field, Math.abs(value) < NOTHING * spread ? 0 : value) : shareText;
    this.name = level === null ? field.name : `${field.name}: ${field.levels[level]}`;
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const x = (k) => (CURVE_WIDTH * k) / (values.length - 1);
    const y = (value) => 2 + (CURVE_HEIGHT - 4) * (1 - (value - low) / (high - low || 1));
    const picture = svg("svg", { viewBox: `0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    const both = `from ${this.text(values[0])} to ${this.text(values[values.length - 1])}`;
    picture.setAttribute("aria-label", `${shownText(this.name)} along the path: ${both}, lowest ${this.text(low)}, highest ${this.text(high)}`);
    picture.append(svg("polyline", { points: values.map((value, k) => `${x(k).toFixed(2)},${y(value).toFixed(2)}`).join(" ") }));
    this.marker = svg("line", { x1: 0, x2: 0, y1: 0, y2: CURVE_HEIGHT });
    picture.append(this.marker);
    this.now = element("span", { className: "now" });
    const size = rounded(key === "way" ? way : ends, 2);
    const name = element("span", { className: "name", dir: "auto", textContent: this.name, title: shownText(this.name) });
    this.head = element("div", { className: "head" }, name, this.now);
    this.node = element("li", {}, this.head, picture, element("div", { className: "caption", textContent: `${both} · ${size} sd` }));
  }

  addRemove(remove) {
    const button = element("button", { type: "button", textContent: "×", title: "Remove this curve" });
    button.setAttribute("aria-label", `Remove the curve of ${shownText(this.name)}`);
    button.addEventListener("click", remove);
    this.head.append(button);
  }

  mark(share) {
    const at = share * CURVE_WIDTH;
    this.marker.setAttribute("x1", at);
    this.marker.setAttribute("x2", at);
    const place = share * (this.values.length - 1);
    const below = Math.min(this.values.length - 2, Math.floor(place));
    const [a, b] = [this.values[below], this.values[below + 1]];
    this.now.textContent = this.text(a + (place - below) * (b - a));
  }
}

// A decoded number of a field, or the level of a score, as text.
function decodedText(field, value) {
  if (!field.scores) return field.text(value);
  const away = field.scores.map((score) => (score === null ? Infinity : Math.abs(score - value)));
  return field.levels[away.indexOf(Math.min(...away))];
}
