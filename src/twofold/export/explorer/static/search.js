// Search: rows whose name, labels or text contain what is typed. They are ringed on the map; Enter walks through them.

// Up to so many matches have wide rings; more have narrow ones, and many more are points: faster, and they hide less.
const FEW_MATCHES = 60;
const MOST_RINGS = 1000;
const MOST_MARKED = 20_000;

class Search {
  constructor(explorer) {
    this.explorer = explorer;
    this.text = "";
    this.rows = [];
    this.at = -1;
  }

  start() {
    this.input = byId("search");
    this.input.addEventListener("input", () => this.find(this.input.value));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.walk(event.shiftKey ? -1 : 1);
        event.preventDefault();
      } else if (event.key === "Escape") this.find((this.input.value = ""));
    });
    byId("found-before").addEventListener("click", () => this.walk(-1));
    byId("found-next").addEventListener("click", () => this.walk(1));
    byId("found-select").addEventListener("click", () => this.explorer.select(this.rows.slice().sort((a, b) => a - b)));
  }

  find(text) {
    this.text = text;
    this.at = -1;
    this.rows = this.matches(text.trim().toLowerCase());
    this.tell();
    this.explorer.drawMarks();
  }

  // Filters changed: the same search among the rows that are left.
  refresh() {
    if (this.text) this.find(this.text);
  }

  // Rows that match: those with exactly this name first, then those whose name begins so, then all others.
  matches(text) {
    if (!text) return [];
    const { points, rowName } = this.explorer;
    const tests = this.texts().map(({ names, code }) => {
      const codes = new Set(names.flatMap((name, k) => (name.toLowerCase().includes(text) ? [k] : [])));
      return codes.size ? (row) => codes.has(code(row)) : null;
    });
    const found = [[], [], []];
    const some = tests.filter((test) => test);
    for (let row = 0; row < points.n; row++) {
      if (!points.colors[row]) continue;
      const name = rowName(row).toLowerCase();
      if (name === text || name === `row ${text}`) found[0].push(row);
      else if (name.startsWith(text)) found[1].push(row);
      else if (name.includes(text) || some.some((test) => test(row))) found[2].push(row);
    }
    return found.flat();
  }

  // Columns and features of words: their words, and which of them a row has.
  texts() {
    const { columns, fieldsHere: fields, rows } = this.explorer;
    const ofColumns = columns.filter(({ kind }) => kind === "class").map(({ names, values }) => ({ names, code: (row) => values[row] - 1 }));
    const ofFields = fields.flatMap((field, l) => (field.levels ? [{ names: field.levels, code: (row) => rows.value(row, l) }] : []));
    return [...ofColumns, ...ofFields];
  }

  // To the next match (1) or the one before (-1), and decode it.
  walk(step) {
    if (!this.rows.length) return;
    const n = this.rows.length;
    this.at = this.at < 0 ? (step > 0 ? 0 : n - 1) : (this.at + step + n) % n;
    showRow(this.explorer, this.rows[this.at]);
    this.tell();
  }

  tell() {
    const n = this.rows.length;
    byId("found").hidden = !this.text.trim();
    byId("found-count").textContent = this.at < 0 ? `${countText(n)} found` : `${countText(this.at + 1)} of ${countText(n)}`;
    for (const id of ["found-before", "found-next", "found-select"]) byId(id).disabled = !n;
  }

  draw(context, ink, paper) {
    const { points } = this.explorer;
    if (this.rows.length <= FEW_MATCHES) {
      markRows(context, points, this.rows, paper, 7, 4.5);
      markRows(context, points, this.rows, ink, 7, 2);
    } else markRows(context, points, this.rows, ink, 5, 1.5);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    if (this.at >= 0) ring(context, points.x[this.rows[this.at]], points.y[this.rows[this.at]], 12);
  }
}

// Rings around visible rows, or points on them if they are many.
function markRows(context, points, rows, color, radius, width) {
  const isRing = rows.length <= MOST_RINGS;
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = width;
  context.beginPath();
  const placed = rows.length ? points.place() : null;
  for (const row of rows.slice(0, MOST_MARKED)) {
    if (!points.colors[row]) continue;
    const [x, y] = [placed.x[row], placed.y[row]];
    if (isRing) {
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    } else context.rect(x - 1, y - 1, 2, 2);
  }
  if (isRing) context.stroke();
  else context.fill();
}

// Decode a row's latent; the map moves if the row is not in view.
function showRow(explorer, row) {
  const { camera, points } = explorer;
  const z = points.latent(row);
  explorer.path.pause();
  explorer.showPlaying();
  camera.focus = Float64Array.from(z);
  const [x, y] = camera.latentToScreen(z);
  const margin = 20;
  const isThere = x > margin && x < camera.width - margin && (explorer.q === 1 || (y > margin && y < camera.height - margin));
  if (!isThere) {
    camera.move(0.5 * camera.width - x, explorer.q === 1 ? 0 : 0.5 * camera.height - y);
    explorer.draw();
  }
  explorer.showAt(camera.focus);
}
