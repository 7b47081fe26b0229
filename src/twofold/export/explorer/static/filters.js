// Filters: each keeps the rows of a range or of some words; a row is on the map if all filters keep it.

class Filters {
  // onChange runs after every change of the rows that are left.
  constructor(n, onChange) {
    this.n = n;
    this.onChange = onChange;
    this.fails = new Uint16Array(n);
    this.filters = new Map();
  }

  // The filter of a column: keep(row) says which rows stay; null keeps all.
  set(key, keep) {
    const old = this.filters.get(key);
    if (!old && !keep) return;
    const failing = old ?? new Uint8Array(this.n);
    for (let row = 0; row < this.n; row++) {
      const fails = keep && !keep(row) ? 1 : 0;
      this.fails[row] += fails - failing[row];
      failing[row] = fails;
    }
    if (keep) this.filters.set(key, failing);
    else this.filters.delete(key);
    this.onChange();
  }

  // The rows that are out, as ones; null if no filter is set.
  get out() {
    return this.filters.size ? Uint8Array.from(this.fails, (count) => Number(count > 0)) : null;
  }

  get left() {
    let count = 0;
    for (let row = 0; row < this.n; row++) count += Number(this.fails[row] === 0);
    return count;
  }

  // Whether all filters but this column's keep a row: what the chart of the column shows.
  othersKeep(key) {
    const own = this.filters.get(key);
    return own ? (row) => this.fails[row] === own[row] : (row) => this.fails[row] === 0;
  }
}
