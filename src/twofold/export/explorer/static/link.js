// What the page shows as the fragment of its address: view, color, filters, selection, pins and path. Fragments come from anywhere:
// each part is checked before it changes anything, and ignored if it is wrong.

const LINK_VERSION = 1;
const LONGEST_LINK = 1_000_000;
const MOST_CORNERS = 100;
const MOST_FILTERS = 40;

class Link {
  constructor(explorer, finding) {
    this.explorer = explorer;
    this.finding = finding;
  }

  start() {
    byId("link").addEventListener("click", () => this.write());
    addEventListener("hashchange", () => this.read(location.hash));
    this.read(location.hash);
  }

  // Into the address of the page, and onto the clipboard where that is allowed.
  async write() {
    const fragment = this.fragment();
    // A page inside of another may have no address of its own.
    let said = parent === window ? "Link in the address bar" : "No link: open the page in a window of its own";
    try {
      history.replaceState(null, "", fragment);
    } catch {
      byId("link-said").textContent = said;
      return;
    }
    try {
      await navigator.clipboard.writeText(location.href);
      said = "Link copied";
    } catch {
      // The address has it.
    }
    byId("link-said").textContent = said;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (byId("link-said").textContent = ""), 4000);
  }

  fragment() {
    const { camera, points, here, path, pins, selection, columns, column } = this.explorer;
    const { low, high } = camera;
    const choice = byId("color").value;
    const parts = [["t", `${LINK_VERSION}.${points.n}`], ["c", choice.replace("feature ", "f")]];
    const view = [camera.u, camera.v, camera.scale / camera.whole];
    if (this.explorer.q > 2) view.push(...camera.across, ...camera.up, ...camera.focus);
    if (!camera.isFitted || this.explorer.q > 2) parts.push(["v", view.map(packedNumber).join("~")]);
    if (here) parts.push(["w", packedPath([here], low, high)]);
    if (column.shown && column.shown.size < column.names.length) {
      parts.push(["h", packedRows(column.names.flatMap((_, code) => (column.shown.has(code) ? [] : [code])))]);
    }
    const filters = [...this.finding.panel.charts.values()].filter((chart) => chart.isSet).map(filterText);
    if (filters.length) parts.push(["f", filters.join(";")]);
    if (selection.rows.length) parts.push(["s", packedRows(selection.rows)]);
    if (pins.rows.length) parts.push(["p", pins.rows.join(".")]);
    if (path.isThere) {
      const step = Math.ceil((path.corners.length - 1) / (MOST_CORNERS - 1)) || 1;
      const some = path.corners.filter((_, k) => k % step === 0 || k === path.corners.length - 1);
      parts.push(["l", packedPath(some, low, high)]);
    }
    return `#${parts.map(([name, text]) => `${name}=${text}`).join("&")}`;
  }

  read(fragment) {
    if (fragment.length < 2 || fragment.length > LONGEST_LINK) return;
    const parts = new URLSearchParams(fragment.slice(1));
    // A link to other rows means nothing here.
    if (parts.get("t") !== `${LINK_VERSION}.${this.explorer.points.n}`) return;
    const read = (name, use) => (parts.has(name) ? use.call(this, parts.get(name)) : null);
    // What a link does not name is as on a new page.
    this.explorer.clearPath();
    this.explorer.reset();
    read("c", this.readColor);
    read("h", this.readHidden);
    read("v", this.readView);
    this.readFilters(parts.get("f") ?? "");
    const selected = read("s", (text) => unpackedRows(text, this.explorer.points.n));
    this.explorer.select(selected ?? []);
    this.readPins(parts.get("p") ?? "");
    read("w", this.readPlace);
    read("l", this.readPath);
    this.explorer.draw();
  }

  readColor(text) {
    const found = /^(f?)(\d{1,7})$/.exec(text);
    if (!found) return;
    const choice = found[1] ? `feature ${Number(found[2])}` : `${Number(found[2])}`;
    this.explorer.choose(choice);
  }

  readHidden(text) {
    const { column } = this.explorer;
    const hidden = column.shown && unpackedRows(text, column.names.length);
    if (!hidden) return;
    column.shown = new Set(column.names.keys());
    for (const code of hidden) column.shown.delete(code);
    this.explorer.recolor();
  }

  readView(text) {
    const { camera, points, q } = this.explorer;
    const view = unpackedAll(text, "~", unpackedNumber);
    if (!view || view.length !== (q > 2 ? 3 + 3 * q : 3)) return;
    const [u, v, zoom] = view;
    if (!(zoom >= 0.02 && zoom <= 1e4)) return;
    if (q > 2) {
      const [across, up, focus] = [0, 1, 2].map((k) => Float64Array.from(view.slice(3 + k * q, 3 + (k + 1) * q)));
      const isFrame = [[across, across, 1], [up, up, 1], [across, up, 0]].every(([a, b, wanted]) => Math.abs(inner(a, b) - wanted) < 1e-6);
      if (!isFrame) return;
      Object.assign(camera, { across, up, focus });
      points.project(camera);
    }
    Object.assign(camera, { u, v, scale: zoom * camera.whole, isFitted: false });
  }

  readFilters(text) {
    const { panel } = this.finding;
    panel.clear();
    const keys = new Map([...panel.choices()].map(([, key]) => [key, key]));
    for (const one of text.split(";", MOST_FILTERS)) {
      const found = /^(f?)(\d{1,7})(:|!)([\w~.-]*)$/.exec(one);
      const key = found && keys.get(found[1] ? `feature ${Number(found[2])}` : `${Number(found[2])}`);
      if (!key) continue;
      const { kind, names } = this.explorer.columnOf(key);
      if (found[3] === ":" && kind === "number") {
        const ends = unpackedAll(found[4], "~", (end) => (end === "" ? Infinity : unpackedNumber(end)));
        if (ends && ends.length === 2) this.chartOf(key).choose(ends.map((end) => (end === Infinity ? null : end)));
      } else if (found[3] === "!" && kind === "class") {
        const codes = unpackedRows(found[4], names.length + 1);
        if (codes) this.chartOf(key).tick(codes);
      }
    }
    if (panel.filters.filters.size) this.finding.panels.get("filter").open();
  }

  // The chart of a column, behind those that every page has.
  chartOf(key) {
    this.finding.panel.build();
    return this.finding.panel.chart(key);
  }

  readPins(text) {
    const { pins, points } = this.explorer;
    const rows = text === "" ? [] : unpackedAll(text, ".", unpackedNumber);
    const isRow = (row) => Number.isInteger(row) && row >= 0 && row < points.n;
    if (!rows || rows.length > MOST_PINS || !rows.every(isRow)) return;
    pins.rows = [...new Set(rows)];
    pins.show();
  }

  readPlace(text) {
    const { camera } = this.explorer;
    const corners = unpackedPath(text, camera.low, camera.high, 1);
    if (corners) this.explorer.showAt(corners[0]);
  }

  // The path waits at its start.
  readPath(text) {
    const { explorer } = this;
    const corners = unpackedPath(text, explorer.camera.low, explorer.camera.high, MOST_CORNERS + 1);
    if (!corners || corners.length < 2) return;
    explorer.clearPath();
    explorer.path.begin(corners[0]);
    for (const corner of corners.slice(1)) explorer.path.extend(corner);
    explorer.endPath();
    explorer.path.pause();
    explorer.showPlaying();
  }
}

function filterText(chart) {
  const key = chart.key.replace("feature ", "f");
  if (chart instanceof TickChart) return `${key}!${packedRows([...chart.ticked].sort((a, b) => a - b))}`;
  return `${key}:${chart.range.map((end) => (end === null ? "" : packedNumber(end))).join("~")}`;
}
