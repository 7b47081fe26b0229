// The neighbors of a pinned row in the data and on the map, and where the two disagree.

const MOST_NEIGHBORS = 6;
// Numbers of the page's rows up to which distances in the data are computed in the browser.
const MOST_NUMBERS = 3_000_000;

class Neighbors {
  constructor(explorer, space, go) {
    Object.assign(this, { explorer, space, go });
    this.known = new Map();
  }

  get canCompare() {
    const { points } = this.explorer;
    return points.n * this.space.width <= MOST_NUMBERS;
  }

  // All rows as the model sees them, in units of the columns; NaN in gaps.
  get matrix() {
    if (!this.made) {
      const { rows, points } = this.explorer;
      this.made = new Float32Array(points.n * this.space.width);
      // Shifted to the first row: single precision would lose the digits of columns far from zero.
      let first = null;
      for (let row = 0; row < points.n; row++) {
        const x = this.space.scaled(this.space.encoded(rows.row(row)));
        first ??= x.map((value) => (Number.isNaN(value) ? 0 : value));
        this.made.set(x.map((value, l) => value - first[l]), row * this.space.width);
      }
    }
    return this.made;
  }

  of(row) {
    if (!this.known.has(row)) {
      const { points, landscape } = this.explorer;
      const onMap = new Nearest(MOST_NEIGHBORS);
      const z = points.latent(row);
      for (let i = 0; i < points.n; i++) if (i !== row) onMap.offer(i, latentDistance(points, i, z, landscape));
      this.known.set(row, { map: onMap.rows, data: this.canCompare ? this.inData(row) : null });
    }
    return this.known.get(row);
  }

  inData(row) {
    const { matrix } = this;
    const d = this.space.width;
    const found = new Nearest(MOST_NEIGHBORS);
    for (let i = 0; i < this.explorer.points.n; i++) {
      if (i === row) continue;
      let [sum, count] = [0, 0];
      for (let l = 0, a = row * d, b = i * d; l < d; l++, a++, b++) {
        const difference = matrix[a] - matrix[b];
        if (difference !== difference) continue;
        sum += difference * difference;
        count++;
      }
      // Over the columns that both rows have, scaled up to all.
      found.offer(i, count ? (sum * d) / count : Infinity);
    }
    return found.rows;
  }

  ofPin(row) {
    const { map, data } = this.of(row);
    const node = element("details", { className: "neighbors", open: true }, element("summary", { textContent: "Nearest rows" }));
    if (!data) {
      const { points } = this.explorer;
      node.append(element("p", { className: "caption", textContent: `Those in the data are left out: ${countText(points.n)} rows of ${this.space.width} columns are too many to compare here.` }));
    } else {
      const shared = data.filter((one) => map.includes(one)).length;
      node.append(element("p", { className: "caption", textContent: `${shared} of ${data.length} are the same in the data and on the map.` }));
    }
    const lists = data ? [["in the data", data, map], ["on the map", map, data]] : [["on the map", map, map]];
    node.append(element("div", { className: "pair" }, ...lists.map(([name, rows, others]) => this.list(name, rows, others))));
    return node;
  }

  list(name, rows, others) {
    const { rowName, column, points } = this.explorer;
    const list = element("ol");
    for (const row of rows) {
      const isAlone = !others.includes(row);
      const pixel = points.palette[points.codes[row]];
      const dot = element("span", { className: "dot" });
      dot.style.background = pixel ? cssColor(rgbOf(pixel)) : "transparent";
      const button = element("button", { type: "button", className: isAlone ? "alone" : "" }, dot, element("span", { dir: "auto", textContent: rowName(row) }));
      if (isAlone) button.append(element("span", { className: "mark", textContent: "≠" }));
      button.setAttribute("aria-label", `Go to ${shownText(rowName(row))}, ${isolated(rowText(column, row))}${isAlone ? `, near only ${name}` : ""}`);
      button.title = isAlone ? `near only ${name}` : "Go there";
      button.dataset.row = row;
      button.addEventListener("click", () => this.go(row));
      list.append(element("li", {}, button));
    }
    return element("div", {}, element("h3", { textContent: name }), list);
  }
}
