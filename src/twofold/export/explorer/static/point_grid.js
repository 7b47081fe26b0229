// Rows by place: cells of a grid over two coordinates, so that a search near a place looks at few rows.

const ROWS_PER_CELL = 8;
const MOST_PER_SIDE = 256;

class PointGrid {
  constructor(a, b) {
    this.a = a;
    this.b = b;
    const n = a.length;
    this.side = Math.min(MOST_PER_SIDE, Math.max(1, Math.ceil(Math.sqrt(n / ROWS_PER_CELL))));
    [this.lowA, this.sizeA] = cellsOf(a, this.side);
    [this.lowB, this.sizeB] = cellsOf(b, this.side);
    // Counting sort: the rows of cell c are rows[start[c]] to rows[start[c + 1] - 1], in ascending order.
    const cells = new Uint32Array(n);
    this.start = new Uint32Array(this.side * this.side + 1);
    for (let i = 0; i < n; i++) {
      cells[i] = this.line(b[i]) * this.side + this.column(a[i]);
      this.start[cells[i] + 1]++;
    }
    for (let c = 0; c < this.side * this.side; c++) this.start[c + 1] += this.start[c];
    const next = this.start.slice();
    this.rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.rows[next[cells[i]]++] = i;
  }

  column(a) {
    return Math.min(this.side - 1, Math.max(0, Math.floor((a - this.lowA) / this.sizeA)));
  }

  line(b) {
    return Math.min(this.side - 1, Math.max(0, Math.floor((b - this.lowB) / this.sizeB)));
  }

  // The accepted row nearest to (a, b), or -1. Distances are in pixels: one unit has so many along a and b.
  nearest(a, b, pixelsA, pixelsB, within, accepts) {
    const { side, start, rows } = this;
    const [column, line] = [this.column(a), this.line(b)];
    let best = within * within;
    let found = -1;
    for (let ring = 0; ; ring++) {
      const [left, right, low, high] = [column - ring, column + ring, line - ring, line + ring];
      for (let r = Math.max(0, low); r <= Math.min(side - 1, high); r++) {
        const step = r === low || r === high ? 1 : Math.max(1, right - left);
        for (let c = left; c <= right; c += step) {
          if (c < 0 || c >= side) continue;
          for (let k = start[r * side + c]; k < start[r * side + c + 1]; k++) {
            const i = rows[k];
            const d = ((this.a[i] - a) * pixelsA) ** 2 + ((this.b[i] - b) * pixelsB) ** 2;
            if (d < best && accepts(i)) {
              best = d;
              found = i;
            }
          }
        }
      }
      // All other rows are beyond a side of this box behind which there are cells.
      let away = Infinity;
      if (left > 0) away = Math.min(away, (a - this.lowA - left * this.sizeA) * pixelsA);
      if (right < side - 1) away = Math.min(away, (this.lowA + (right + 1) * this.sizeA - a) * pixelsA);
      if (low > 0) away = Math.min(away, (b - this.lowB - low * this.sizeB) * pixelsB);
      if (high < side - 1) away = Math.min(away, (this.lowB + (high + 1) * this.sizeB - b) * pixelsB);
      if (away === Infinity || (away > 0 && away * away >= best)) return found;
    }
  }

  // Ranges [from, to] of `rows` whose cells touch a box, one for each line of cells.
  ranges(lowA, lowB, highA, highB) {
    const [left, right] = [this.column(lowA), this.column(highA)];
    const found = [];
    for (let r = this.line(lowB); r <= this.line(highB); r++) {
      const [from, to] = [this.start[r * this.side + left], this.start[r * this.side + right + 1]];
      if (to > from) found.push([from, to]);
    }
    return found;
  }

  // Rows in a box, in ascending order.
  inBox(lowA, lowB, highA, highB, accepts) {
    const { a, b } = this;
    const found = [];
    for (const [from, to] of this.ranges(lowA, lowB, highA, highB)) {
      for (let k = from; k < to; k++) {
        const i = this.rows[k];
        if (a[i] >= lowA && a[i] <= highA && b[i] >= lowB && b[i] <= highB && accepts(i)) found.push(i);
      }
    }
    return Array.from(Uint32Array.from(found).sort());
  }

  // How many rows the cells in a box have, and how many of these cells have rows.
  crowd(lowA, lowB, highA, highB) {
    const [left, right] = [this.column(lowA), this.column(highA)];
    let rows = 0;
    let cells = 0;
    for (let r = this.line(lowB); r <= this.line(highB); r++) {
      for (let c = left; c <= right; c++) {
        const count = this.start[r * this.side + c + 1] - this.start[r * this.side + c];
        rows += count;
        if (count) cells++;
      }
    }
    return { rows, cells };
  }
}

// The lowest value, and the size of one of so many cells over all values.
function cellsOf(values, side) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return high > low ? [low, (high - low) / side] : [values.length ? low : 0, 1];
}
