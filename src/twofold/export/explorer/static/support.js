// How well the data support a place. The density's grid is too coarse for rows that stand alone, so the known log densities of the rows nearby
// correct it: at a row it is the row's own, half a cell away and further it is the grid's.

// Log densities closer to the border than this lie on it: rows that were projected onto the border do.
const ON_BORDER = 1e-3;

class RowSupport {
  // Rows of latents (n, q) by the grid's cells; `known` are their log densities, or null if the page has none.
  constructor(landscape, latents, known) {
    this.landscape = landscape;
    this.latents = latents;
    this.known = known;
    this.q = landscape.q;
    this.cells = null;
  }

  get isThere() {
    return this.landscape.values !== null;
  }

  // A row's place on one axis of the grid, in cells.
  at(value, l) {
    const { low, high, side } = this.landscape;
    return ((value - low[l]) / (high[l] - low[l])) * (side - 1);
  }

  // Cells by number; a cell reaches half a step to each side of its grid point. The rows of cell c are rows[start[c]] and so on.
  rowsByCell() {
    const { side } = this.landscape;
    const n = this.latents.length / this.q;
    const numbers = new Uint32Array(n);
    const start = new Uint32Array(side ** this.q + 1);
    for (let i = 0; i < n; i++) {
      for (let l = 0; l < this.q; l++) numbers[i] = numbers[i] * side + Math.round(this.at(this.latents[i * this.q + l], l));
      start[numbers[i] + 1]++;
    }
    for (let c = 0; c + 1 < start.length; c++) start[c + 1] += start[c];
    const next = start.slice();
    const rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) rows[next[numbers[i]]++] = i;
    return { start, rows };
  }

  // The row nearest to a latent within half a cell, and its distance as a share of that.
  nearest(z) {
    this.cells ??= this.rowsByCell();
    const { start, rows } = this.cells;
    const { side } = this.landscape;
    let numbers = [0];
    for (let l = 0; l < this.q; l++) {
      const middle = Math.round(this.at(z[l], l));
      numbers = numbers.flatMap((number) => [-1, 0, 1].map((step) => number * side + middle + step));
    }
    let [row, best] = [-1, 1];
    for (const number of numbers) {
      // Beyond the map there are no cells.
      if (!(number >= 0 && number + 1 < start.length)) continue;
      for (let k = start[number]; k < start[number + 1]; k++) {
        const i = rows[k];
        let sum = 0;
        for (let l = 0; l < this.q; l++) sum += (2 * (this.at(z[l], l) - this.at(this.latents[i * this.q + l], l))) ** 2;
        if (sum < best) [row, best] = [i, sum];
      }
    }
    return { row, share: Math.sqrt(best) };
  }

  // "well supported", "few data here" or "no data here", and "" where there is no grid.
  text(z) {
    if (!this.isThere) return "";
    let value = this.landscape.at(z);
    const { row, share } = this.nearest(z);
    if (row >= 0 && this.known) {
      const own = this.landscape.at(this.latents.subarray(row * this.q, (row + 1) * this.q));
      value += (1 - share) * (this.known[row] - own);
    }
    if (value >= this.landscape.usual) return "well supported";
    return value >= this.landscape.border - ON_BORDER || row >= 0 ? "few data here" : "no data here";
  }
}
