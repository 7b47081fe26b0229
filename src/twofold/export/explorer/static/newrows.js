// New rows: a pasted or dropped CSV, mapped down in the browser, drawn as diamonds and listed with their distances.

const MOST_NEW = 5_000;
const MOST_NEW_BYTES = 20_000_000;
const MOST_NEW_LISTED = 100;
const MOST_NUMBERED = 40;
// Milliseconds of mapping between two frames.
const SLICE = 30;
const DIAMOND = 6;

class NewRows {
  constructor(explorer, space) {
    this.explorer = explorer;
    this.rows = [];
    this.count = 0;
    // Counts removals of all rows, which end a mapping that is under way.
    this.run = 0;
    this.queue = Promise.resolve();
    this.down = new DownMap(explorer.content, space, explorer.landscape, explorer.points);
    this.build();
    this.listen();
  }

  build() {
    this.text = element("textarea", { rows: 3, spellcheck: false, placeholder: "Paste rows with a header, or drop a CSV file onto the page" });
    this.text.setAttribute("aria-label", "Rows as CSV, with a header");
    // Keys typed here are text, not commands.
    this.text.addEventListener("keydown", (event) => event.stopPropagation());
    this.file = element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv" });
    this.file.setAttribute("aria-label", "A CSV file with rows");
    const button = (textContent, act) => {
      const made = element("button", { type: "button", textContent });
      made.addEventListener("click", act);
      return made;
    };
    this.said = element("p", { className: "said" });
    this.said.setAttribute("role", "status");
    this.list = element("div", { className: "new-list" });
    const adding = element("div", { className: "options" }, button("Map rows", () => this.add(this.text.value)), this.file);
    this.ending = element("div", { className: "options", hidden: true }, button("Download CSV", () => this.download()), button("Remove all", () => this.clear()));
    this.details = element("details", {}, element("summary", { textContent: "New rows" }), this.text, adding, element("p", { className: "caption", textContent: this.origin }), this.said, this.ending, this.list);
    this.node = element("section", { id: "new-rows" }, this.details);
    this.node.setAttribute("aria-label", "New rows");
    document.querySelector("aside").append(this.node);
  }

  // How rows are mapped, with the measured error of what replaces the model's own map.
  get origin() {
    const { plain } = this.down;
    if (this.down.isFormula) return "Mapped by the model's own formula.";
    const start = plain.searches ? "Mapped to the nearest of the decoded rows, then by a search for the nearest point" : "Mapped to the nearest of the decoded rows, in place of the model's own map";
    const { report } = plain;
    if (!report || report.error === null) return `${start}.`;
    const [own, found] = [report.error, report.distilled_error].map(shareText);
    const before = plain.searches ? "Before the search" : "This";
    return `${start}. ${before} loses ${found} of the variance on ${report.n_held_out} held-out rows; the model loses ${own}.`;
  }

  listen() {
    this.file.addEventListener("change", () => {
      if (this.file.files.length) this.read(this.file.files[0]);
      this.file.value = "";
    });
    document.addEventListener("dragover", (event) => {
      if (!event.dataTransfer || ![...event.dataTransfer.types].some((type) => type === "Files" || type === "text/plain")) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    document.addEventListener("dragleave", (event) => event.relatedTarget === null && document.body.classList.remove("dropping"));
    document.addEventListener("drop", (event) => {
      document.body.classList.remove("dropping");
      const { files } = event.dataTransfer;
      const text = files.length ? "" : event.dataTransfer.getData("text/plain");
      if (!files.length && !text) return;
      event.preventDefault();
      if (files.length) this.read(files[0]);
      else this.add(text);
    });
    document.addEventListener("paste", (event) => {
      if (["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName)) return;
      const text = event.clipboardData.getData("text/plain");
      if (text.trim()) this.add(text);
    });
  }

  async read(file) {
    if (file.size > MOST_NEW_BYTES) return this.say([`${isolated(file.name)} has ${Math.round(file.size / 1e6)} MB; at most ${MOST_NEW_BYTES / 1e6} MB are read.`]);
    return this.add(await file.text());
  }

  say(texts) {
    this.details.open = true;
    this.said.textContent = texts.join(" ");
  }

  // Rows that come while others are mapped wait for them.
  add(text) {
    this.queue = this.queue.then(() => this.addNow(text));
    return this.queue;
  }

  // Read rows and map them, a slice at a time. Resolves when all are on the map.
  async addNow(text) {
    if (text.length > MOST_NEW_BYTES) return this.say([`The text is too long; at most ${MOST_NEW_BYTES / 1e6} MB are read.`]);
    const { rows, said } = readRows(text, this.explorer.fields);
    const room = MOST_NEW - this.rows.length;
    if (rows.length > room) said.push(`Only the first ${room} rows are taken: the page holds ${countText(MOST_NEW)} new rows.`);
    const taken = rows.slice(0, Math.max(0, room));
    const { run } = this;
    let last = performance.now();
    for (const [k, { name, values }] of taken.entries()) {
      this.count++;
      const place = this.down.place(values);
      if (place.z.every(Number.isFinite)) this.rows.push({ name: name || `new ${this.count}`, values, ...place });
      else said.push(`${isolated(name || `new ${this.count}`)} has no place: its numbers are too large.`);
      if (performance.now() - last < SLICE) continue;
      this.say([`Mapped ${k + 1} of ${taken.length}…`]);
      this.explorer.drawMarks();
      await new Promise((done) => setTimeout(done));
      if (run !== this.run) return null;
      last = performance.now();
    }
    if (taken.length) said.unshift(`Mapped ${taken.length} ${taken.length === 1 ? "row" : "rows"}.`);
    this.say(said);
    this.show();
    return null;
  }

  clear() {
    this.run++;
    this.rows = [];
    this.say(["All new rows are removed."]);
    this.show();
    this.text.focus();
  }

  show() {
    this.list.textContent = "";
    this.ending.hidden = !this.rows.length;
    if (this.rows.length) {
      const heads = ["row", "distance", "support"].map((textContent) => element("th", { textContent, scope: "col" }));
      const body = element("tbody", {}, ...this.rows.slice(0, MOST_NEW_LISTED).map((row, k) => this.line(row, k)));
      this.list.append(element("table", {}, element("thead", {}, element("tr", {}, ...heads, element("td"))), body));
      const more = this.rows.length - MOST_NEW_LISTED;
      if (more > 0) this.list.append(element("p", { className: "caption", textContent: `and ${countText(more)} more, on the map and in the CSV` }));
    }
    this.explorer.drawMarks();
  }

  line(row, k) {
    const go = element("button", { type: "button", title: "Go there" }, `${k + 1} `, element("span", { dir: "auto", textContent: row.name }));
    go.addEventListener("click", () => this.explorer.extras.goTo(row.z));
    const remove = element("button", { type: "button", textContent: "×", title: "Remove" });
    remove.setAttribute("aria-label", `Remove ${shownText(row.name)}`);
    remove.addEventListener("click", () => {
      this.rows.splice(k, 1);
      this.show();
    });
    const isFar = row.distance > this.usual;
    const distance = element("td", { textContent: shortNumber(row.distance), className: isFar ? "far" : "" });
    distance.title = isFar ? `further from the manifold than 99 % of the page's rows (${shortNumber(this.usual)})` : "";
    if (isFar) distance.append(element("span", { textContent: " far" }));
    const support = element("td", { textContent: this.explorer.landscape.support(row.z) });
    return element("tr", {}, element("th", { scope: "row" }, go), distance, support, element("td", {}, remove));
  }

  // The distance that one in a hundred of the page's rows exceeds.
  get usual() {
    if (this.quantile === undefined) {
      const sorted = Float64Array.from(this.explorer.errors.values).sort();
      this.quantile = sorted[Math.floor(0.99 * (sorted.length - 1))];
    }
    return this.quantile;
  }

  draw(context, camera, ink, paper) {
    context.font = "600 11px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    this.rows.forEach(({ z }, k) => {
      const [x, y] = placeOf(camera, z);
      context.beginPath();
      for (const [dx, dy] of [[0, -1], [1, 0], [0, 1], [-1, 0]]) context.lineTo(x + DIAMOND * dx, y + DIAMOND * dy);
      context.closePath();
      context.fillStyle = paper;
      context.fill();
      context.strokeStyle = ink;
      context.lineWidth = 2;
      context.stroke();
      if (this.rows.length > MOST_NUMBERED) return;
      context.lineWidth = 3;
      context.strokeStyle = paper;
      context.strokeText(String(k + 1), x + DIAMOND + 3, y);
      context.fillStyle = ink;
      context.fillText(String(k + 1), x + DIAMOND + 3, y);
    });
  }

  csv() {
    const { fields, q } = this.explorer;
    const lines = [["row", "distance", ...Array.from({ length: q }, (_, l) => `latent ${l + 1}`), ...fields.map((field) => field.name)]];
    for (const { name, z, distance, values } of this.rows) lines.push([name, distance, ...z, ...values.map((value, l) => fields[l].cell(value))]);
    return lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n";
  }

  download() {
    const link = element("a", { download: "new rows.csv", href: URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}
