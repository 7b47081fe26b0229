// The page of a server: rows and decoder stay with the server, which also maps new rows. Only served pages contain this file.
// Answers come later: until then a row has gaps, and a decoded row is blank. The page draws again when an answer arrives.

const MOST_AT_ONCE = 2_000_000;
const MOST_KEPT = 20_000_000;
const FEWEST_KEPT = 2_000;
const MOST_SERVED_LISTED = 200;
const MOST_CHARACTERS = 5_000_000;

async function askServer(kind, question) {
  let answer;
  try {
    answer = await fetch(kind, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
  } catch {
    throw new Error("The server does not answer; has it ended?");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

// The decoder on the server. Places are asked for together; while an answer is under way, the next ones wait.
class ServedDecoder {
  constructor(host) {
    this.host = host;
    this.kept = new Map();
    this.wanted = new Map();
    this.isBusy = false;
  }

  get width() {
    const width = ({ at, levels, scores, fixed }) => (fixed !== null ? 0 : at + (levels && !scores ? levels.length : 1));
    return this.host.explorer.fields.reduce((most, field) => Math.max(most, width(field)), 0);
  }

  get blank() {
    return (this.nothing ??= new Float64Array(this.width));
  }

  decode(z) {
    const key = Array.from(z).join();
    const found = this.kept.get(key);
    if (found) return found;
    this.wanted.delete(key);
    this.wanted.set(key, Array.from(z));
    if (!this.isBusy) {
      this.isBusy = true;
      queueMicrotask(() => this.ask());
    }
    return this.blank;
  }

  // The newest places first.
  async ask() {
    const most = Math.max(1, Math.min(500, Math.floor(MOST_AT_ONCE / (this.width || 1))));
    const asked = [...this.wanted].slice(-most);
    for (const [key] of asked) this.wanted.delete(key);
    try {
      const { rows } = await askServer("decode", { latents: asked.map(([, z]) => z) });
      asked.forEach(([key], k) => this.kept.set(key, Float64Array.from(rows[k])));
      const keep = Math.max(FEWEST_KEPT, MOST_KEPT / (this.width || 1));
      for (const key of this.kept.keys()) {
        if (this.kept.size <= keep) break;
        this.kept.delete(key);
      }
      this.host.refresh();
    } catch (error) {
      this.wanted.clear();
      this.host.say(error.message);
    }
    if (this.wanted.size) queueMicrotask(() => this.ask());
    else this.isBusy = false;
  }
}

// The rows on the server, with the methods of Rows.
class ServedRows {
  constructor(host, fields) {
    this.host = host;
    this.fields = fields;
    this.isThere = true;
    this.isRemote = true;
    this.kept = new Map();
    this.columns = new Map();
    this.wanted = new Set();
    this.isBusy = false;
    this.gaps = new Array(fields.length).fill(null);
  }

  value(row, l) {
    return this.row(row)[l];
  }

  row(row) {
    const found = this.kept.get(row);
    if (found) return found;
    this.wanted.add(row);
    if (!this.isBusy) {
      this.isBusy = true;
      queueMicrotask(() => this.ask());
    }
    return this.gaps;
  }

  async ask() {
    const rows = [...this.wanted];
    this.wanted.clear();
    try {
      await this.fetch(rows);
      this.host.refresh();
    } catch (error) {
      this.host.say(error.message);
    }
    if (this.wanted.size) queueMicrotask(() => this.ask());
    else this.isBusy = false;
  }

  async fetch(rows) {
    const missing = rows.filter((row) => !this.kept.has(row));
    const most = Math.max(1, Math.floor(MOST_AT_ONCE / this.fields.length));
    for (let at = 0; at < missing.length; at += most) {
      const some = missing.slice(at, at + most);
      const { values } = await askServer("rows", { rows: some });
      some.forEach((row, k) => this.kept.set(row, values[k]));
    }
  }

  column(l) {
    const n = this.host.explorer.points.n;
    const found = this.columns.get(l);
    if (found) return this.fields[l].column(found);
    const column = this.fields[l].column(new Array(n).fill(null));
    askServer("column", { column: l }).then(
      ({ values }) => {
        this.columns.set(l, values);
        const { explorer } = this.host;
        if (byId("color").value !== `feature ${l}`) return;
        explorer.column = explorer.columnOf(`feature ${l}`);
        explorer.recolor();
      },
      (error) => this.host.say(error.message),
    );
    return column;
  }
}

class Served {
  constructor(explorer) {
    this.explorer = explorer;
    this.decoder = new ServedDecoder(this);
    this.decode = (z) => this.decoder.decode(z);
    this.arrived = null;
  }

  rowsOf(fields) {
    return new ServedRows(this, fields);
  }

  start() {
    const { explorer } = this;
    // The panel keeps its last picture until the next one arrives.
    const { shape, selection } = explorer;
    const show = shape.show.bind(shape);
    shape.show = (x, ...rest) => {
      if (x !== this.decoder.blank) show(x, ...rest);
    };
    const download = selection.download.bind(selection);
    selection.download = () => explorer.rows.fetch(selection.rows).then(download, (error) => this.say(error.message));
    this.panel();
    explorer.showAt(explorer.here);
  }

  // Something has arrived: show it wherever it belongs.
  refresh() {
    const { explorer } = this;
    explorer.pins.show();
    explorer.showAt(explorer.here);
    explorer.tiles.decodeSoon();
  }

  say(text) {
    this.status.textContent = shownText(text);
  }

  // Rows pasted or opened are mapped by the model, marked on the map and listed with their distance to the manifold.
  panel() {
    const text = element("textarea", { rows: 3, spellcheck: false, placeholder: "Paste CSV: a line of column names, then rows" });
    text.setAttribute("aria-label", "New rows as CSV");
    text.addEventListener("keydown", (event) => event.stopPropagation());
    const file = element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv" });
    file.setAttribute("aria-label", "Open a CSV file");
    file.addEventListener("change", async () => {
      if (!file.files.length) return;
      text.value = await file.files[0].text();
      this.map(text.value);
    });
    const map = element("button", { type: "button", id: "map-rows", textContent: "Show on the map" });
    map.addEventListener("click", () => this.map(text.value));
    const forget = element("button", { type: "button", id: "forget-rows", textContent: "Clear", hidden: true });
    forget.addEventListener("click", () => this.take(null));
    this.forget = forget;
    this.status = element("p", { id: "served" });
    this.status.setAttribute("role", "status");
    this.list = element("div", { id: "new-list" });
    const row = element("div", { className: "row" }, map, forget);
    const section = element("section", { id: "new" }, element("h2", { textContent: "New rows" }), text, file, row, this.status, this.list);
    section.setAttribute("aria-label", "New rows");
    document.querySelector("aside").append(section);
  }

  async map(csv) {
    if (csv.length > MOST_CHARACTERS) {
      this.say("That is too large to map at once.");
      return;
    }
    this.say("Mapping …");
    try {
      const answer = await askServer("encode", { csv });
      this.take(answer);
      const count = countText(answer.names.length);
      this.say([`${count} ${answer.names.length === 1 ? "row" : "rows"} mapped by the model`, ...(answer.notes ?? [])].join(". "));
    } catch (error) {
      this.take(null);
      this.say(error.message);
    }
  }

  take(answer) {
    const { explorer } = this;
    this.arrived = answer;
    this.forget.hidden = !answer;
    this.list.textContent = "";
    this.say("");
    if (answer) {
      const known = explorer.errors.values.slice().sort();
      const body = answer.names.slice(0, MOST_SERVED_LISTED).map((name, k) => this.line(name, k, known));
      this.list.append(element("div", { className: "new-rows" }, ...body));
      const more = answer.names.length - MOST_SERVED_LISTED;
      if (more > 0) this.list.append(element("p", { textContent: `and ${countText(more)} more on the map` }));
      explorer.showAt(answer.latents[0]);
    }
    explorer.drawMarks();
  }

  line(name, k, known) {
    const { latents, errors } = this.arrived;
    let below = 0;
    while (below < known.length && known[below] < errors[k]) below++;
    const share = Math.round((100 * below) / known.length);
    const said = `distance ${shortNumber(errors[k])}, further than ${share} % of the rows`;
    const parts = [element("span", { textContent: name, dir: "auto" }), element("span", { className: "share", textContent: said })];
    const button = element("button", { type: "button", title: "Show the place" }, ...parts);
    button.addEventListener("click", () => {
      this.explorer.camera.focus = Float64Array.from(latents[k]);
      this.explorer.showAt(latents[k]);
    });
    return button;
  }

  // Once a frame, over the marks: a diamond for each new row.
  look() {
    if (!this.arrived) return;
    const { marks, camera, q } = this.explorer;
    const context = marks.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue("--accent");
    context.strokeStyle = style.getPropertyValue("--paper");
    context.lineWidth = 1.5;
    for (const z of this.arrived.latents) {
      const [x, up] = camera.latentToScreen(z);
      const y = q === 1 ? 0.5 * camera.height : up;
      context.beginPath();
      for (const [dx, dy] of [[0, -7], [7, 0], [0, 7], [-7, 0]]) context.lineTo(x + dx, y + dy);
      context.closePath();
      context.fill();
      context.stroke();
    }
  }
}

const hostOf = (explorer) => new Served(explorer);
