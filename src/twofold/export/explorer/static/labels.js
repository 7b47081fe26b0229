// Names of classes at the densest places of their rows. A class with several regions is named in each; names that would collide with those of
// larger regions are left out until zooming makes room for them.

const MOST_NAMED = 300;
const NAME_CELLS = 40;
// A region is where a class is at least this dense, as a share of its densest place; it needs this share of the class to be named.
const DENSE = 0.25;
const REGION_SHARE = 0.2;

class Labels {
  constructor(points) {
    this.points = points;
    this.column = null;
    this.shown = [];
  }

  draw(context, camera, column, theme) {
    this.shown = [];
    if (column.kind !== "class") return;
    const { points } = this;
    if (this.column !== column || this.filtered !== points.filtered) {
      this.anchors = this.anchorsOf(column);
      this.column = column;
      this.filtered = points.filtered;
    }
    const { x0, sx, y0, sy } = points.axes(camera);
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = theme === "dark" ? "#14161a" : "#ffffff";
    context.fillStyle = theme === "dark" ? "#ffffff" : "#1c1f24";
    for (const { row, code } of this.anchors) {
      if (!column.shown.has(code)) continue;
      const [x, y] = [x0 + sx * points.u[row], y0 + sy * points.height[row]];
      if (x < 0 || y < 0 || x > camera.width || y > camera.height) continue;
      const name = column.names[code].length > 18 ? `${column.names[code].slice(0, 17)}…` : column.names[code];
      const half = 0.5 * context.measureText(name).width + 3;
      const collides = this.shown.some((other) => Math.abs(x - other.x) < half + other.half && Math.abs(y - other.y) < 16);
      if (collides) continue;
      this.shown.push({ x, y, half, name });
      context.strokeText(name, x, y);
      context.fillText(name, x, y);
    }
  }

  // For each region of the larger classes the row nearest to its densest place, the largest regions first.
  anchorsOf(column) {
    const { n, u, height, out } = this.points;
    const classes = column.byCount.slice(0, MOST_NAMED);
    const number = new Int16Array(column.names.length).fill(-1);
    classes.forEach((code, k) => (number[code] = k));
    const [lowA, sizeA] = cellsOf(u, NAME_CELLS);
    const [lowB, sizeB] = cellsOf(height, NAME_CELLS);
    const across = (i) => Math.min(NAME_CELLS - 1, (u[i] - lowA) / sizeA);
    const up = (i) => Math.min(NAME_CELLS - 1, (height[i] - lowB) / sizeB);
    const counts = classes.map(() => new Float32Array(NAME_CELLS * NAME_CELLS));
    const numberOf = (i) => (column.values[i] > 0 && !(out && out[i]) ? number[column.values[i] - 1] : -1);
    for (let i = 0; i < n; i++) {
      const k = numberOf(i);
      if (k >= 0) counts[k][Math.floor(up(i)) * NAME_CELLS + Math.floor(across(i))]++;
    }
    const regions = counts.map((cells, k) => regionsOf(cells).map((one) => ({ ...one, code: classes[k], row: -1, away: Infinity })));
    for (let i = 0; i < n; i++) {
      const k = numberOf(i);
      if (k < 0) continue;
      for (const region of regions[k]) {
        const away = (across(i) - region.across) ** 2 + (up(i) - region.up) ** 2;
        if (away < region.away) [region.away, region.row] = [away, i];
      }
    }
    return regions.flat().filter(({ row }) => row >= 0).sort((a, b) => b.rows - a.rows);
  }
}

// Connected cells that are dense: the middle of the densest one, and the number of rows.
function regionsOf(cells) {
  const side = NAME_CELLS;
  const total = cells.reduce((sum, count) => sum + count, 0);
  if (!total) return [];
  const smooth = smoothed(smoothed(cells));
  const least = DENSE * smooth.reduce((a, b) => Math.max(a, b));
  const seen = new Uint8Array(side * side);
  const found = [];
  for (let start = 0; start < side * side; start++) {
    if (seen[start] || smooth[start] < least) continue;
    const region = { rows: 0, peak: start };
    const open = [start];
    seen[start] = 1;
    while (open.length) {
      const at = open.pop();
      region.rows += cells[at];
      if (smooth[at] > smooth[region.peak]) region.peak = at;
      const [line, column] = [Math.floor(at / side), at % side];
      for (const [r, c] of [[line - 1, column], [line + 1, column], [line, column - 1], [line, column + 1]]) {
        const next = r * side + c;
        if (r < 0 || c < 0 || r >= side || c >= side || seen[next] || smooth[next] < least) continue;
        seen[next] = 1;
        open.push(next);
      }
    }
    found.push({ rows: region.rows, across: (region.peak % side) + 0.5, up: Math.floor(region.peak / side) + 0.5 });
  }
  found.sort((a, b) => b.rows - a.rows);
  return found.filter(({ rows }, k) => k === 0 || rows >= REGION_SHARE * total);
}

// Means over a cell and its neighbors.
function smoothed(cells) {
  const side = NAME_CELLS;
  const result = new Float32Array(side * side);
  for (let r = 0; r < side; r++) {
    for (let c = 0; c < side; c++) {
      let sum = 0;
      for (let i = Math.max(0, r - 1); i <= Math.min(side - 1, r + 1); i++) {
        for (let j = Math.max(0, c - 1); j <= Math.min(side - 1, c + 1); j++) sum += cells[i * side + j];
      }
      result[r * side + c] = sum / 9;
    }
  }
  return result;
}
