// The down-map for rows that are not on the page, and distances as the model measures them. See _new_rows.py.

// The encoding of flat values, the inverse of Flat.
BUILD.Encoded = (step) => {
  const [scale, center, offset, floor, log] = [step.scale, step.center, step.offset, step.floor, step.log].map(numbersOf);
  return (x) => scale.map((s, l) => ((log[l] ? Math.log(Math.max(x[l] + offset[l], floor[l])) : x[l]) - center[l]) / s);
};

// The row of a model's columns that a row's own values stand for; NaN in gaps.
function flatRow(fields, values, width) {
  const x = new Float64Array(width);
  fields.forEach(({ at, levels, scores, fixed }, l) => {
    const value = values[l];
    if (fixed !== null) return;
    if (levels && !scores) for (let k = 0; k < levels.length; k++) x[at + k] = value === null ? NaN : Number(k === value);
    else if (value === null) x[at] = NaN;
    else x[at] = scores ? scores[value] ?? NaN : value;
  });
  return x;
}

// The space in which the model measures distances between rows: the encoding of a table, in units of each column.
class DataSpace {
  constructor({ metric, program }, fields) {
    this.fields = fields;
    this.into = decoderOf(metric.into);
    // The up-map without the steps from the encoding to the table's columns.
    this.decode = decoderOf(program.slice(0, program.length - metric.n_back));
    this.factors = metric.factors;
    this.width = metric.into.length ? metric.into[0].scale.codes.length : fields.length;
  }

  encoded(values) {
    return this.into(flatRow(this.fields, values, this.width));
  }

  // In units of the columns, for distances.
  scaled(x) {
    return this.factors ? x.map((value, l) => value / this.factors[l]) : x;
  }

  // Of an encoded row from the manifold's point at a latent.
  distance(x, z) {
    const [a, b] = [this.scaled(x), this.scaled(this.decode(z))];
    return Math.sqrt(a.reduce((sum, value, l) => sum + (value - b[l]) ** 2, 0));
  }
}

// A step whose centers are whole rows of data, with only the columns that it compares.
function withOwnColumns(step) {
  if (!step.centers || !step.columns) return step;
  const { columns, centers } = step;
  const [whole, [n, d]] = [numbersOf(centers), centers.shape];
  const codes = new Float64Array(n * columns.length);
  for (let i = 0; i < n; i++) columns.forEach((column, l) => (codes[i * columns.length + l] = whole[i * d + column]));
  return { ...step, centers: { codes, step: 1, offset: 0, shape: [n, columns.length] } };
}

// From rows to latents: a formula, or the nearest of many decoded latents and a search from there.
class DownMap {
  constructor(content, space, landscape, points) {
    Object.assign(this, { space, landscape, points, plain: content.down });
    this.isFormula = this.plain.kind === "formula";
    if (this.isFormula) this.formula = decoderOf(this.plain.program.map(withOwnColumns));
    else this.units = decoderOf(this.plain.units);
  }

  // The latents that rows are compared with, and their images; made at the first use.
  prepare() {
    if (this.isFormula || this.images) return;
    const { n_points: nPoints, rows } = this.plain;
    const numbers = rows ? Array.from(numbersOf(rows)) : Array.from({ length: nPoints ?? this.points.n }, (_, i) => i);
    this.places = numbers.map((i) => (nPoints ? Float64Array.of(i) : this.points.latent(i)));
    const images = this.places.map((z) => this.units(this.space.decode(z)));
    this.width = images[0].length;
    this.images = new Float64Array(images.length * this.width);
    images.forEach((image, i) => this.images.set(image, i * this.width));
  }

  // The places whose images are nearest to a row in centered units, the nearest first.
  nearest(target, count) {
    const found = new Nearest(count);
    for (let i = 0; i < this.places.length; i++) found.offer(i, squaredDistance(this.images, i, target, 1));
    return found.rows.map((i) => this.places[i]);
  }

  // The latent of a row's own values, and its distance from the manifold there.
  place(values, withSearch = true) {
    this.prepare();
    const x = this.space.encoded(values);
    let z;
    if (this.isFormula) z = this.formula(flatRow(this.space.fields, values, this.space.width));
    else {
      const target = this.units(x);
      const searches = withSearch && this.plain.searches;
      const starts = this.nearest(target, searches ? STARTS : 1);
      z = searches ? this.search(target, starts) : Float64Array.from(starts[0]);
    }
    return { z, distance: this.space.distance(x, z) };
  }

  search(target, starts) {
    this.projection ??= new NearestPoint((z) => this.units(this.space.decode(z)), this.landscape, this.plain.floor);
    return this.projection.of(target, starts);
  }
}

// The few rows with the least distances, in their order.
class Nearest {
  constructor(count) {
    this.count = count;
    this.rows = [];
    this.distances = [];
  }

  offer(row, distance) {
    const { rows, distances, count } = this;
    if (!(distance < (rows.length < count ? Infinity : distances[count - 1]))) return;
    let at = rows.length;
    while (at > 0 && distances[at - 1] > distance) at--;
    rows.splice(at, 0, row);
    distances.splice(at, 0, distance);
    if (rows.length > count) rows.length = distances.length = count;
  }
}
