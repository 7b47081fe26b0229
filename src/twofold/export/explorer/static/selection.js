// Selected rows: compared with the rest, listed on the page, downloaded as CSV.

const LISTED = 200;
// Of more cells (rows times features), every so many rows are compared.
const MOST_CELLS = 2e7;

class Selection {
  constructor(explorer) {
    this.explorer = explorer;
    this.rows = [];
    this.comparison = new ComparisonTable(explorer.content.appearance);
    byId("comparison").append(this.comparison.node);
  }

  choose(rows) {
    this.rows = rows;
    byId("selected").hidden = !rows.length;
    byId("count").textContent = `${countText(rows.length)} ${rows.length === 1 ? "row" : "rows"} selected`;
    byId("rows").textContent = "";
    if (!rows.length) return;
    this.compare();
    this.list();
  }

  // Against all other rows that the filters leave.
  compare() {
    if (!this.rows.length) return;
    const { points, fieldsHere: fields } = this.explorer;
    const { out, n } = points;
    const stepOf = (count) => Math.max(1, Math.ceil((count * fields.length) / MOST_CELLS));
    const groups = new Uint8Array(n).fill(2);
    let rest = 0;
    const step = stepOf(n);
    for (let row = 0; row < n; row += step) if (!out || !out[row]) groups[row] = 0;
    for (const row of this.rows) groups[row] = 2;
    const own = stepOf(this.rows.length);
    for (let k = 0; k < this.rows.length; k += own) groups[this.rows[k]] = 1;
    for (const group of groups) rest += Number(group === 0);
    this.compared = comparisonOf(this.explorer, groups);
    this.comparison.show(this.compared, Math.ceil(this.rows.length / own), rest);
  }

  list() {
    const { rowName, columns } = this.explorer;
    const list = byId("rows");
    const shown = columns.filter((column) => !isText(column)).slice(0, 3);
    const head = element("tr", {}, ...["row", ...shown.map((c) => c.name)].map((text) => element("th", { textContent: text, dir: "auto", scope: "col" })));
    const body = element("tbody");
    for (const row of this.rows.slice(0, LISTED)) {
      const button = element("button", { type: "button", textContent: rowName(row), dir: "auto", title: "Show on the map" });
      button.addEventListener("click", () => showRow(this.explorer, row));
      const name = element("th", { scope: "row" }, button);
      body.append(element("tr", {}, name, ...shown.map((c) => element("td", { textContent: rowText(c, row), dir: "auto" }))));
    }
    list.append(element("table", {}, element("thead", {}, head), body));
    withArrows(body, "button");
    const more = this.rows.length - LISTED;
    if (more > 0) list.append(element("p", { textContent: `and ${countText(more)} more, in the CSV` }));
  }

  // All selected rows: name, columns, latents, data.
  csv() {
    const { rowName, fields, points, columns, rows } = this.explorer;
    const latentNames = Array.from({ length: points.q }, (_, l) => `latent ${l + 1}`);
    const featureNames = rows.isThere ? fields.map((field) => field.name) : [];
    const lines = [["row", ...columns.map((c) => c.name), ...latentNames, ...featureNames]];
    for (const row of this.rows) {
      const told = columns.map((c) => (c.kind === "class" ? (c.values[row] > 0 ? c.names[c.values[row] - 1] : "") : c.gaps && c.gaps[row] ? "" : c.values[row]));
      lines.push([rowName(row), ...told, ...points.latent(row), ...(rows.isThere ? rows.row(row) : []).map((value, l) => fields[l].cell(value))]);
    }
    return lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n";
  }

  download() {
    const link = element("a", { download: "rows.csv", href: URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}

function csvCell(value) {
  if (typeof value === "number") return String(Math.abs(value) < 1e-300 ? 0 : Number(value.toPrecision(9)));
  // Text that a spreadsheet would take for a formula is marked as text.
  const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
