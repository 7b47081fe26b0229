// The decoder: steps of a program, one row at a time. Names and meaning as in twofold.export.programs.

const logProfile = {
  gaussian: () => (s) => -0.5 * s,
  compact: (kernel) => (s) => (s < 1 ? kernel.power * Math.log1p(-s) : -Infinity),
  student: (kernel) => (s) => -0.5 * (kernel.df + 1) * Math.log1p(s / kernel.df),
};

function squaredDistance(points, row, x, scale) {
  let sum = 0;
  for (let l = 0, at = row * x.length; l < x.length; l++, at++) {
    const d = (x[l] - points[at]) * scale;
    sum += d * d;
  }
  return sum;
}

// Points in cells of a grid over their first dimensions, so that those near a place are found without looking at all.
class Cells {
  constructor(points, n, q) {
    this.points = points;
    this.q = q;
    this.dimensions = Math.min(q, 3);
    this.low = new Float64Array(this.dimensions).fill(Infinity);
    const high = new Float64Array(this.dimensions).fill(-Infinity);
    for (let i = 0; i < n; i++) {
      for (let l = 0; l < this.dimensions; l++) {
        const value = points[i * q + l];
        if (value < this.low[l]) this.low[l] = value;
        if (value > high[l]) high[l] = value;
      }
    }
    const perSide = Math.max(1, Math.floor((n / 4) ** (1 / this.dimensions)));
    let longest = 0;
    for (let l = 0; l < this.dimensions; l++) longest = Math.max(longest, high[l] - this.low[l]);
    this.size = longest / perSide || 1;
    this.counts = Array.from(this.low, (low, l) => Math.floor((high[l] - low) / this.size) + 1);
    const cellOf = new Int32Array(n);
    const starts = new Int32Array(this.counts.reduce((a, b) => a * b, 1) + 1);
    for (let i = 0; i < n; i++) {
      let cell = 0;
      for (let l = 0; l < this.dimensions; l++) {
        cell = cell * this.counts[l] + Math.min(this.counts[l] - 1, Math.floor((points[i * q + l] - this.low[l]) / this.size));
      }
      cellOf[i] = cell;
      starts[cell + 1]++;
    }
    for (let c = 1; c < starts.length; c++) starts[c] += starts[c - 1];
    this.starts = starts;
    this.order = new Int32Array(n);
    const next = starts.slice();
    for (let i = 0; i < n; i++) this.order[next[cellOf[i]]++] = i;
  }

  // Call visit(row) for every point of every cell that reaches within a distance of x, and maybe for some more.
  within(x, distance, visit) {
    const first = [];
    const last = [];
    for (let l = 0; l < this.dimensions; l++) {
      first.push(Math.max(0, Math.floor((x[l] - distance - this.low[l]) / this.size)));
      last.push(Math.min(this.counts[l] - 1, Math.floor((x[l] + distance - this.low[l]) / this.size)));
      if (first[l] > last[l]) return;
    }
    const walk = (l, cell) => {
      if (l === this.dimensions) {
        for (let at = this.starts[cell]; at < this.starts[cell + 1]; at++) visit(this.order[at]);
        return;
      }
      for (let c = first[l]; c <= last[l]; c++) walk(l + 1, cell * this.counts[l] + c);
    };
    walk(0, 0);
  }

  // The squared distance to the nearest point, and its row.
  nearest(x) {
    let best = Infinity;
    let row = -1;
    const visit = (i) => {
      const d = squaredDistance(this.points, i, x, 1);
      if (d < best || (d === best && i < row)) {
        best = d;
        row = i;
      }
    };
    // Start where the box of all points may begin, widen until the nearest is surely inside.
    let outside = 0;
    for (let l = 0; l < this.dimensions; l++) {
      const beyond = Math.max(this.low[l] - x[l], x[l] - this.low[l] - this.counts[l] * this.size, 0);
      outside = Math.max(outside, beyond);
    }
    for (let reach = outside + this.size; ; reach *= 2) {
      this.within(x, reach, visit);
      if (best <= reach * reach) return [best, row];
      if (reach > outside + 4 * this.size * Math.max(...this.counts)) {
        for (let i = 0; i < this.order.length; i++) visit(i);
        return [best, row];
      }
    }
  }
}

// Weights of the centers at a place: rows in reach and weights that sum to one. Those far below the largest are left out.
const NEGLIGIBLE = Math.log(1e-9);

function kernelWeights(step) {
  const n = step.centers.shape[0];
  const q = step.centers.shape[1];
  const centers = numbersOf(step.centers);
  const scale = 1 / step.width;
  const profile = logProfile[step.kernel.name](step.kernel);
  const cells = new Cells(centers, n, q);
  const rows = new Int32Array(n);
  const logs = new Float64Array(n);
  return (x) => {
    const [nearest, nearestRow] = cells.nearest(x);
    const largest = profile(nearest * scale * scale);
    if (largest === -Infinity) return { count: 1, rows: [nearestRow], weights: [1] };
    let reach = Infinity;
    if (step.kernel.name === "compact") reach = step.width;
    if (step.kernel.name === "gaussian") reach = Math.sqrt(nearest - 2 * (NEGLIGIBLE - Math.log(n)) * step.width * step.width);
    let count = 0;
    cells.within(x, reach, (i) => {
      const log = profile(squaredDistance(centers, i, x, scale));
      if (log === -Infinity) return;
      rows[count] = i;
      logs[count++] = log;
    });
    let mass = 0;
    for (let k = 0; k < count; k++) mass += logs[k] = Math.exp(logs[k] - largest);
    for (let k = 0; k < count; k++) logs[k] /= mass;
    return { count, rows, weights: logs };
  };
}

const nodeKernel = {
  gaussian: (z, c, h) => Math.exp(-0.5 * ((z - c) / h) ** 2),
  damped: (z, c, h) => 1 / (1 + ((z - c) / h) ** 2),
  spline: (z, c) => 1 + Math.min(z, c),
  linear: (z, c) => z * c,
  delta: (z, c) => (z === c ? 1 : 0),
  periodic(z, c, h, period) {
    if (h > period) {
      let sum = 1;
      for (let j = 1; j <= 3; j++) {
        const omega = (2 * Math.PI * j) / period;
        sum += 2 * Math.exp(-0.5 * (omega * h) ** 2) * Math.cos(omega * (z - c));
      }
      return ((Math.sqrt(2 * Math.PI) * h) / period) * sum;
    }
    const around = modulo(z - c + 0.5 * period, period) - 0.5 * period;
    const turns = Math.ceil((9 * h) / period);
    let sum = 0;
    for (let j = -turns; j <= turns; j++) sum += Math.exp(-0.5 * ((around + j * period) / h) ** 2);
    return sum;
  },
};

function modulo(value, period) {
  return value - period * Math.floor(value / period);
}

function dot(points, row, x) {
  let sum = 0;
  for (let l = 0, at = row * x.length; l < x.length; l++, at++) sum += x[l] * points[at];
  return sum;
}

const pairKernel = {
  linear: (x, c, row) => dot(c, row, x),
  polynomial: (x, c, row, step) => (step.gamma * dot(c, row, x) + step.coef0) ** step.degree,
  sigmoid: (x, c, row, step) => Math.tanh(step.gamma * dot(c, row, x) + step.coef0),
  laplacian(x, c, row, step) {
    let sum = 0;
    for (let l = 0; l < x.length; l++) sum += Math.abs(x[l] - c[row * x.length + l]);
    return Math.exp(-step.gamma * sum);
  },
  cosine(x, c, row) {
    let length = 0;
    let other = 0;
    for (let l = 0; l < x.length; l++) {
      length += x[l] ** 2;
      other += c[row * x.length + l] ** 2;
    }
    return dot(c, row, x) / (Math.sqrt(length) || 1) / (Math.sqrt(other) || 1);
  },
};

// The factor of each column, from one for all columns or a list.
const factorsOf = (step, shift) => (Array.isArray(step.factor) ? step.factor : Array.from(shift, () => step.factor));
// Exponents are limited to this, so that numbers stay finite.
const LARGEST_LOG = 700;

const BUILD = {
  Take(step) {
    const columns = numbersOf(step.columns);
    const shift = numbersOf(step.shift);
    const factors = factorsOf(step, shift);
    return (x) => shift.map((s, l) => x[columns[l]] * factors[l] - s);
  },
  Put(step) {
    const columns = numbersOf(step.columns);
    const shift = numbersOf(step.shift);
    const constants = numbersOf(step.constants);
    const factors = factorsOf(step, shift);
    return (u) => {
      const x = constants.slice();
      for (let l = 0; l < columns.length; l++) x[columns[l]] = (u[l] + shift[l]) * factors[l];
      return x;
    };
  },
  Linear(step) {
    const [m, d] = step.matrix.shape;
    const matrix = numbersOf(step.matrix);
    const bias = numbersOf(step.bias);
    return (x) => {
      const image = bias.slice();
      for (let i = 0; i < m; i++) {
        const factor = x[i];
        if (factor === 0) continue;
        for (let l = 0, at = i * d; l < d; l++, at++) image[l] += factor * matrix[at];
      }
      return image;
    };
  },
  Sigmoid: () => (x) => Float64Array.from(x, (t) => 1 / (1 + Math.exp(-t))),
  RadialFeatures(step) {
    const centers = numbersOf(step.centers);
    const n = step.centers.shape[0];
    const profile = logProfile[step.kernel.name](step.kernel);
    const scale = 1 / step.width;
    return (x) => {
      const features = new Float64Array(n);
      for (let i = 0; i < n; i++) features[i] = Math.exp(profile(squaredDistance(centers, i, x, scale)));
      return features;
    };
  },
  RadialMeans(step) {
    const weigh = kernelWeights(step);
    const { codes } = step.targets;
    const [unit, offset] = [columnsOf(step.targets.step, step.targets), columnsOf(step.targets.offset, step.targets)];
    const d = step.targets.shape[1];
    return (x) => {
      const { count, rows, weights } = weigh(x);
      const mean = new Float64Array(d);
      for (let k = 0; k < count; k++) {
        const weight = weights[k];
        for (let l = 0, at = rows[k] * d; l < d; l++, at++) mean[l] += weight * codes[at];
      }
      // Weights sum to one: the mean of the numbers is that of their codes, in their unit.
      for (let l = 0; l < d; l++) mean[l] = offset[l] + unit[l] * mean[l];
      return mean;
    };
  },
  RadialMedians(step) {
    const weigh = kernelWeights(step);
    const targets = numbersOf(step.targets);
    const d = step.targets.shape[1];
    return (x) => {
      const { count, rows, weights } = weigh(x);
      const order = Array.from({ length: count }, (_, k) => k);
      const medians = new Float64Array(d);
      for (let l = 0; l < d; l++) {
        const value = (k) => targets[rows[k] * d + l];
        order.sort((a, b) => value(a) - value(b));
        let reached = 0;
        let total = 0;
        for (const k of order) total += weights[k];
        for (const k of order) {
          reached += weights[k];
          if (reached >= 0.5 * total * (1 - 1e-12)) {
            medians[l] = value(k);
            break;
          }
        }
      }
      return medians;
    };
  },
  PairKernel(step) {
    const centers = numbersOf(step.centers);
    const kernel = pairKernel[step.name];
    const n = step.centers.shape[0];
    return (x) => Float64Array.from({ length: n }, (_, row) => kernel(x, centers, row, step));
  },
  NodeProducts(step) {
    const [n, q] = step.nodes.shape;
    const nodes = numbersOf(step.nodes);
    const widths = numbersOf(step.widths);
    const kernels = step.kernels.map((kernel) => (z, c, h) => nodeKernel[kernel.name](z, c, h, kernel.period));
    return (z) => {
      const features = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        let value = step.is_sum ? 0 : 1;
        for (let l = 0; l < q; l++) {
          const factor = kernels[l](z[l], nodes[i * q + l], widths[l]);
          value = step.is_sum ? value + factor : value * factor;
        }
        features[i] = value;
      }
      return features;
    };
  },
  // Columns of a table in their own units; probabilities of levels sum to one in each group.
  Flat(step) {
    const [scale, center, offset, log, group] = [step.scale, step.center, step.offset, step.log, step.group].map(numbersOf);
    const n = Math.max(-1, ...group) + 1;
    return (x) => {
      const sums = new Float64Array(n);
      const values = scale.map((s, l) => {
        const value = x[l] * s + center[l];
        if (group[l] >= 0) {
          sums[group[l]] += Math.max(0, value);
          return Math.max(0, value);
        }
        return log[l] ? Math.max(0, Math.exp(Math.min(LARGEST_LOG, Math.max(-LARGEST_LOG, value))) - offset[l]) : value;
      });
      return values.map((value, l) => {
        const g = group[l];
        if (g < 0) return value;
        return sums[g] > 0 ? value / sums[g] : center[l];
      });
    };
  },
  IntoDomain(step) {
    if (step.n_points !== undefined) return (z) => z.map((t) => Math.min(step.n_points - 1, Math.max(0, roundedToEven(t))));
    const { wrapped, ends } = step;
    return (z) => z.map((t, l) => (wrapped[l] ? modulo(t + 1, 2) - 1 : Math.min(ends[l], Math.max(-ends[l], t))));
  },
};

function roundedToEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

// Return z -> x for a program of steps.
function decoderOf(program) {
  const steps = program.map((step) => BUILD[step.kind](step));
  return (z) => steps.reduce((x, step) => step(x), Float64Array.from(z));
}
