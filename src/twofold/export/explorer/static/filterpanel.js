// The panel of filters: its charts, how many rows are left, and charts of further columns.

const MOST_COLUMN_CHARTS = 6;
const MOST_FEATURE_CHARTS = 8;
const MOST_SUGGESTED = 20;

class FilterPanel {
  constructor(explorer) {
    this.explorer = explorer;
    this.charts = new Map();
    this.filters = new Filters(explorer.points.n, () => this.changed());
    this.listeners = [];
  }

  start(panel) {
    this.panel = panel;
    panel.onOpen = () => this.build();
    byId("filter-clear").addEventListener("click", () => this.clear());
    byId("filter-select").addEventListener("click", () => this.explorer.select(this.left()));
    const adding = byId("filter-add");
    adding.addEventListener("input", () => this.suggest(adding.value));
    adding.addEventListener("change", () => this.addNamed(adding));
    this.tell();
  }

  // Charts of the first columns, once the panel is opened: most visitors want the map first.
  build() {
    if (this.isBuilt) return;
    this.isBuilt = true;
    const { columns, fieldsHere: fields, content } = this.explorer;
    // Labels first; the page's own columns behind the features of a table.
    const [given, own] = givenAndOwn(columns);
    const first = given.filter((k) => !isText(columns[k])).slice(0, MOST_COLUMN_CHARTS);
    const isTable = content.appearance.kind === "table";
    const features = isTable ? fields.flatMap(({ fixed }, l) => (fixed === null ? [`feature ${l}`] : [])).slice(0, MOST_FEATURE_CHARTS) : [];
    for (const key of [...first, ...features, ...own]) this.chart(`${key}`);
    this.suggest("");
  }

  // The chart of a column, made if there is none.
  chart(key) {
    if (!this.charts.has(key)) {
      const column = this.explorer.columnOf(key);
      const Kind = column.kind === "class" ? TickChart : RangeChart;
      const chart = new Kind(key, column, this.filters, this.explorer.points.n);
      this.charts.set(key, chart);
      byId("charts").append(chart.node);
      chart.show();
    }
    return this.charts.get(key);
  }

  *choices() {
    const { columns, fieldsHere: fields } = this.explorer;
    for (let k = 0; k < columns.length; k++) yield [columns[k].name, `${k}`];
    for (let l = 0; l < fields.length; l++) if (fields[l].fixed === null) yield [fields[l].name, `feature ${l}`];
  }

  // Columns whose name contains what is typed.
  suggest(typed) {
    const list = byId("filter-names");
    list.textContent = "";
    const wanted = typed.trim().toLowerCase();
    let count = 0;
    for (const [name, key] of this.choices()) {
      if (this.charts.has(key) || !name.toLowerCase().includes(wanted)) continue;
      list.append(element("option", { value: shownText(name) }));
      if (++count === MOST_SUGGESTED) break;
    }
  }

  addNamed(input) {
    for (const [name, key] of this.choices()) {
      if (shownText(name) !== input.value || this.charts.has(key)) continue;
      input.value = "";
      this.suggest("");
      const chart = this.chart(key);
      chart.node.scrollIntoView({ block: "nearest" });
      chart.focus();
      return;
    }
  }

  clear() {
    for (const chart of this.charts.values()) if (chart.isSet) chart.clear();
  }

  // The rows that all filters keep.
  left() {
    const rows = [];
    const { colors } = this.explorer.points;
    for (let row = 0; row < this.filters.n; row++) if (colors[row]) rows.push(row);
    return rows;
  }

  // Charts and map follow at most once a frame.
  changed() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      for (const chart of this.charts.values()) chart.show();
      this.explorer.points.out = this.filters.out;
      this.explorer.points.filtered++;
      this.explorer.recolor();
      this.tell();
      for (const listener of this.listeners) listener();
    });
  }

  tell() {
    const { n, filters } = this.filters;
    byId("filter-count").textContent = filters.size ? `${countText(this.filters.left)} of ${countText(n)} rows` : `all ${countText(n)} rows`;
    for (const id of ["filter-clear", "filter-select"]) byId(id).disabled = !filters.size;
  }
}
