// Rows in a box: listed on the page, downloaded as CSV.

const LISTED = 200;

class Selection {
  constructor(explorer) {
    this.explorer = explorer;
    this.rows = [];
  }

  choose(rows) {
    this.rows = rows;
    const { rowName, columns } = this.explorer;
    byId("selected").hidden = !rows.length;
    byId("count").textContent = `${rows.length.toLocaleString("en")} rows selected`;
    const list = byId("rows");
    list.textContent = "";
    if (!rows.length) return;
    const shown = columns.slice(0, 3);
    const head = element("tr", {}, ...["row", ...shown.map((c) => c.name)].map((text) => element("th", { textContent: text, dir: "auto" })));
    const body = element("tbody");
    for (const row of rows.slice(0, LISTED)) {
      const name = element("th", { textContent: rowName(row), dir: "auto", scope: "row" });
      body.append(element("tr", {}, name, ...shown.map((c) => element("td", { textContent: rowText(c, row), dir: "auto" }))));
    }
    list.append(element("table", {}, element("thead", {}, head), body));
    if (rows.length > LISTED) list.append(element("p", { textContent: `and ${rows.length - LISTED} more, in the CSV` }));
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
  const text = /^[=+\-@\t]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
