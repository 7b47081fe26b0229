// The nearest point of the manifold by damped Gauss-Newton steps, as twofold.maps.projection searches it, from the nearest images.

const STARTS = 4;
const MOST_STEPS = 40;
const MOST_DAMPINGS = 6;
// Half the width of central differences, as a share of the map's extent.
const SEARCH_STEP = 1e-5;
const DONE = 1e-8;

class NearestPoint {
  constructor(decode, landscape, floor) {
    this.decode = decode;
    this.landscape = landscape;
    this.least = floor === null ? -Infinity : landscape.border + floor;
    this.extent = Math.max(...landscape.high.map((high, l) => high - landscape.low[l]));
  }

  of(target, starts) {
    let best = null;
    for (const start of starts) {
      const found = this.from(target, this.state(target, Float64Array.from(start)));
      if (!best || found.loss < best.loss) best = found;
    }
    return best.z;
  }

  state(target, z) {
    const image = this.decode(z);
    const residual = target.map((value, l) => value - image[l]);
    return { z, residual, loss: residual.reduce((sum, value) => sum + value * value, 0) };
  }

  from(target, state) {
    let damping = 1e-3;
    for (let step = 0; step < MOST_STEPS; step++) {
      const columns = differences(this.decode, state.z, SEARCH_STEP * this.extent, this.landscape);
      const slope = columns.map((column) => inner(column, state.residual));
      const normal = columns.map((a) => columns.map((b) => inner(a, b)));
      let next = null;
      for (let k = 0; k < MOST_DAMPINGS && !next; k++, damping *= 8) {
        const move = solved(normal.map((row, l) => row.map((value, m) => (l === m ? value * (1 + damping) + 1e-300 : value))), slope);
        const z = insideBox(state.z.map((value, l) => value + move[l]), this.landscape);
        if (!z.every(Number.isFinite) || !this.isAllowed(z)) continue;
        const tried = this.state(target, z);
        if (tried.loss < state.loss) next = tried;
      }
      if (!next) return state;
      damping = Math.max(1e-9, damping / 40);
      const isDone = Math.hypot(...next.z.map((value, l) => value - state.z[l])) < DONE * this.extent;
      state = next;
      if (isDone) return state;
    }
    return state;
  }

  // Whether a place is on the map and, where the page knows the density, the latents are dense enough there.
  isAllowed(z) {
    const { low, high } = this.landscape;
    if (!z.every((value, l) => value >= low[l] && value <= high[l])) return false;
    const density = this.landscape.at(z);
    return density === null || density >= this.least;
  }
}

// A latent moved into the domain: onto its border, or around a circle.
function insideBox(z, { box, wrapped }) {
  if (!box) return z;
  return z.map((value, l) => {
    const [low, high] = [box[0][l], box[1][l]];
    return wrapped[l] ? low + modulo(value - low, high - low) : Math.min(high, Math.max(low, value));
  });
}

// The derivatives of a map by each latent, by central differences; at a border by the side that is inside.
function differences(map, z, step, { box, wrapped }) {
  return Array.from(z, (value, l) => {
    const ends = [value - step, value + step].map((end) => (box && !wrapped[l] ? Math.min(box[1][l], Math.max(box[0][l], end)) : end));
    const [before, after] = ends.map((end) => {
      const moved = Float64Array.from(z);
      moved[l] = end;
      return map(moved);
    });
    const width = ends[1] - ends[0] || 1;
    return after.map((x, k) => (x - before[k]) / width);
  });
}

// The solution of a small system of equations, by elimination with pivots.
function solved(matrix, right) {
  const rows = matrix.map((row, l) => [...row, right[l]]);
  const n = rows.length;
  for (let l = 0; l < n; l++) {
    let pivot = l;
    for (let k = l + 1; k < n; k++) if (Math.abs(rows[k][l]) > Math.abs(rows[pivot][l])) pivot = k;
    [rows[l], rows[pivot]] = [rows[pivot], rows[l]];
    for (let k = 0; k < n; k++) {
      if (k === l) continue;
      const factor = rows[k][l] / rows[l][l];
      for (let m = l; m <= n; m++) rows[k][m] -= factor * rows[l][m];
    }
  }
  return rows.map((row, l) => row[n] / row[l]);
}
