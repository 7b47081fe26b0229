// The rows on the map: where they are, their colors, and which are near a place. A painter draws them: circles for few rows, WebGL2
// for more, pixels where WebGL2 is missing, and their density where many share a pixel.

const FEW = 4000;

class Points {
  constructor(latents, q, density) {
    this.latents = Array.isArray(latents.step) ? spreadOut(latents) : numbersOf(latents);
    this.n = latents.shape[0];
    this.q = q;
    this.u = new Float64Array(this.n);
    this.v = new Float64Array(this.n);
    this.colors = new Uint32Array(this.n);
    this.out = null; // ones for rows that a filter hides
    this.filtered = 0; // counts the changes of these
    this.codes = new Uint8Array(this.n);
    this.palette = new Uint32Array(256);
    this.spotlight = -1;
    this.density = density;
    this.placed = { x: new Float32Array(this.n), y: new Float32Array(this.n), view: null };
    // Painters keep what they made for the last of these.
    this.projection = 0;
    this.coloring = 0;
    this.labels = new Labels(this);
    this.crowds = new DensityLayer(this);
    this.usePainter(this.n > FEW ? WebGLPainter.make(this) ?? new CanvasPainter(this) : new CanvasPainter(this));
  }

  usePainter(painter) {
    this.painter?.hide();
    this.painter = painter;
  }

  latent(row) {
    return this.latents.subarray(row * this.q, (row + 1) * this.q);
  }

  // Coordinates in the camera's plane; they change only when the map is turned.
  project(camera) {
    const { latents, q, u, v } = this;
    const { across, up } = camera;
    for (let i = 0; i < this.n; i++) {
      let a = 0;
      let b = 0;
      for (let l = 0; l < q; l++) {
        a += across[l] * latents[i * q + l];
        if (up) b += up[l] * latents[i * q + l];
      }
      u[i] = a;
      v[i] = b;
    }
    if (q === 1) this.spread();
    this.camera = camera;
    this.projection++;
    this.cells = null;
  }

  // On a line: rows spread across it, as far as the density there is high, evenly by van der Corput's sequence.
  spread() {
    this.lift = new Float64Array(this.n);
    for (let i = 0; i < this.n; i++) {
      let [share, digit] = [0, 0.5];
      for (let number = i + 1; number; number >>= 1, digit /= 2) share += (number & 1) * digit;
      const high = this.density.values ? Math.exp(this.density.at(this.latent(i)) - this.density.top) : 1;
      this.lift[i] = (share - 0.5) * 0.7 * Math.min(1, high);
    }
  }

  // The coordinate that is drawn upward.
  get height() {
    return this.lift ?? this.v;
  }

  // A row is drawn at x = x0 + sx u, y = y0 + sy height.
  axes(camera) {
    const { scale } = camera;
    const x0 = 0.5 * camera.width - camera.u * scale;
    if (this.lift) return { x0, sx: scale, y0: 0.5 * camera.height, sy: camera.height };
    return { x0, sx: scale, y0: 0.5 * camera.height + camera.v * scale, sy: -scale };
  }

  // Places on the screen, made when somebody asks for them.
  get x() {
    return this.place().x;
  }

  get y() {
    return this.place().y;
  }

  place() {
    const { placed, u, height } = this;
    const { x0, sx, y0, sy } = this.axes(this.camera);
    const view = [x0, sx, y0, sy, this.projection].join();
    if (placed.view === view) return placed;
    for (let i = 0; i < this.n; i++) {
      placed.x[i] = x0 + sx * u[i];
      placed.y[i] = y0 + sy * height[i];
    }
    placed.view = view;
    return placed;
  }

  get grid() {
    this.cells ??= new PointGrid(this.u, this.height);
    return this.cells;
  }

  // Color the rows by a column; a class in the spotlight stands out.
  color(column, theme, spotlight = -1) {
    if (this.coded !== column) {
      this.codes = codesOf(column, this.n);
      this.coded = column;
    }
    this.spotlight = spotlight < 0 ? -1 : codeOfClass(column, spotlight);
    this.palette = paletteOf(column, theme, this.spotlight);
    this.theme = theme;
    this.visible = 0;
    for (let i = 0; i < this.n; i++) {
      this.colors[i] = this.out && this.out[i] ? 0 : this.palette[this.codes[i]];
      if (this.colors[i]) this.visible++;
    }
    this.recolored();
  }

  // Call this after a change of `colors`; rows of color 0 are hidden.
  recolored() {
    this.coloring++;
  }

  // Smaller for more rows, larger when zoomed in, but so that rows cover where they are twice at most.
  radius(camera, fitted) {
    const base = Math.min(5, Math.max(0.9, 115 / Math.sqrt(Math.max(1, this.visible))));
    const crowd = this.crowds.rowsPerPixel(camera);
    const most = crowd ? Math.max(0.9, Math.sqrt(2 / (Math.PI * crowd))) : 8;
    return Math.min(8, most, base * Math.sqrt(Math.max(1, camera.scale / fitted)));
  }

  draw(context, camera, ratio, fitted) {
    this.isCrowded = this.crowds.rowsPerPixel(camera) > ROWS_PER_PIXEL;
    if (!this.isCrowded) return this.painter.draw(context, camera, ratio, this.radius(camera, fitted));
    this.painter.hide();
    return this.crowds.draw(context, camera, ratio);
  }

  hide() {
    this.painter.hide();
  }

  drawNames(context, column, theme) {
    this.labels.draw(context, this.camera, column, theme);
  }

  // What drew the rows, for tests and the curious.
  get drawnBy() {
    return this.isCrowded ? "density" : this.painter.name;
  }

  // The visible row nearest to a place of the screen, within so many pixels.
  nearest(x, y, within = Infinity) {
    const { x0, sx, y0, sy } = this.axes(this.camera);
    return this.grid.nearest((x - x0) / sx, (y - y0) / sy, sx, Math.abs(sy), within, (i) => this.colors[i] !== 0);
  }

  inBox(left, top, right, bottom) {
    const { x0, sx, y0, sy } = this.axes(this.camera);
    const [first, second] = [(top - y0) / sy, (bottom - y0) / sy];
    const [low, high] = [Math.min(first, second), Math.max(first, second)];
    return this.grid.inBox((left - x0) / sx, low, (right - x0) / sx, high, (i) => this.colors[i] !== 0);
  }
}

// Places of two bytes would lie on a lattice that shows when zoomed in: each row is moved within its step, by a sequence that fills it evenly.
function spreadOut(latents) {
  const numbers = numbersOf(latents);
  const q = latents.shape[1];
  // Powers of the root of x^(q + 1) = x + 1: Roberts' sequence.
  let root = 1.5;
  for (let k = 0; k < 60; k++) root = (1 + root) ** (1 / (q + 1));
  const shares = Array.from({ length: q }, (_, l) => root ** -(l + 1));
  for (let i = 0; i < latents.shape[0]; i++) {
    for (let l = 0; l < q; l++) numbers[i * q + l] += latents.step[l] * (((i + 1) * shares[l]) % 1 - 0.5);
  }
  return numbers;
}
