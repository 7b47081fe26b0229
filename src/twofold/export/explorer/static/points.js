// The rows on the map. Few are drawn as circles; many are stamped into pixels, which takes milliseconds for 100,000.

const FEW = 4000;
const MOST_NAMES = 24;

class Points {
  constructor(latents, q, density) {
    this.latents = numbersOf(latents);
    this.n = latents.shape[0];
    this.q = q;
    this.u = new Float64Array(this.n);
    this.v = new Float64Array(this.n);
    this.x = new Float32Array(this.n);
    this.y = new Float32Array(this.n);
    this.colors = new Uint32Array(this.n);
    this.out = null; // ones for rows that a filter hides
    this.density = density;
    this.layer = document.createElement("canvas");
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

  color(column, theme) {
    this.hidden = 0;
    for (let i = 0; i < this.n; i++) {
      const rgb = this.out && this.out[i] ? null : rowColor(column, i, theme);
      if (rgb === null) this.hidden++;
      this.colors[i] = rgb === null ? 0 : ((255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
    }
    this.order = null;
  }

  place(camera) {
    const left = 0.5 * camera.width - camera.u * camera.scale;
    const top = 0.5 * camera.height + camera.v * camera.scale;
    for (let i = 0; i < this.n; i++) {
      this.x[i] = left + this.u[i] * camera.scale;
      this.y[i] = this.lift ? camera.height * (0.5 + this.lift[i]) : top - this.v[i] * camera.scale;
    }
  }

  // Smaller for more rows, larger when zoomed in.
  radius(camera, fitted) {
    const base = Math.min(5, Math.max(0.9, 115 / Math.sqrt(this.n)));
    return Math.min(8, base * Math.sqrt(Math.max(1, camera.scale / fitted)));
  }

  draw(context, camera, ratio, fitted) {
    this.place(camera);
    const radius = this.radius(camera, fitted);
    if (this.n <= FEW) this.drawCircles(context, camera, radius);
    else this.drawStamps(context, camera, ratio, radius);
  }

  drawCircles(context, camera, radius) {
    // One path for each color.
    if (!this.order) {
      this.order = new Map();
      for (let i = 0; i < this.n; i++) {
        if (!this.colors[i]) continue;
        if (!this.order.has(this.colors[i])) this.order.set(this.colors[i], []);
        this.order.get(this.colors[i]).push(i);
      }
    }
    for (const [color, rows] of this.order) {
      context.fillStyle = cssColor([color & 255, (color >> 8) & 255, (color >> 16) & 255], 0.85);
      context.beginPath();
      for (const i of rows) {
        if (this.x[i] < -9 || this.y[i] < -9 || this.x[i] > camera.width + 9 || this.y[i] > camera.height + 9) continue;
        context.moveTo(this.x[i] + radius, this.y[i]);
        context.arc(this.x[i], this.y[i], radius, 0, 2 * Math.PI);
      }
      context.fill();
    }
  }

  drawStamps(context, camera, ratio, radius) {
    const width = Math.round(camera.width * ratio);
    const height = Math.round(camera.height * ratio);
    if (this.layer.width !== width || this.layer.height !== height || !this.image) {
      this.layer.width = width;
      this.layer.height = height;
      this.image = this.layer.getContext("2d").createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const { pixels } = this;
    pixels.fill(0);
    const stamp = discOf(Math.max(0.6, radius * ratio), width);
    const margin = stamp.reach + 1;
    for (let i = 0; i < this.n; i++) {
      const color = this.colors[i];
      if (!color) continue;
      const x = Math.round(this.x[i] * ratio);
      const y = Math.round(this.y[i] * ratio);
      if (x < margin || y < margin || x >= width - margin || y >= height - margin) continue;
      const at = y * width + x;
      for (let k = 0; k < stamp.offsets.length; k++) pixels[at + stamp.offsets[k]] = color;
    }
    this.layer.getContext("2d").putImageData(this.image, 0, 0);
    context.drawImage(this.layer, 0, 0, camera.width, camera.height);
  }

  // The names of classes in the middle of their rows.
  drawNames(context, column, theme) {
    if (column.kind !== "class" || column.names.length > MOST_NAMES) return;
    if (this.named !== column) {
      const rows = column.names.map(() => []);
      for (let i = 0; i < this.n; i++) if (column.values[i] > 0) rows[column.values[i] - 1].push(i);
      this.middles = rows.map((some) => this.middleOf(some));
      this.named = column;
    }
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 4;
    context.lineJoin = "round";
    this.middles.forEach((row, code) => {
      if (row < 0 || !column.shown.has(code)) return;
      const name = column.names[code].length > 18 ? `${column.names[code].slice(0, 17)}…` : column.names[code];
      context.strokeStyle = theme === "dark" ? "#14161a" : "#ffffff";
      context.fillStyle = theme === "dark" ? "#ffffff" : "#1c1f24";
      context.strokeText(name, this.x[row], this.y[row]);
      context.fillText(name, this.x[row], this.y[row]);
    });
  }

  // The row nearest to the medians of some rows' latents: a place where the class is.
  middleOf(rows) {
    if (!rows.length) return -1;
    const middle = Array.from({ length: this.q }, (_, l) => {
      const values = Float64Array.from(rows, (i) => this.latents[i * this.q + l]).sort();
      return values[values.length >> 1];
    });
    const away = (i) => squaredDistance(this.latents, i, middle, 1);
    return rows.reduce((best, i) => (away(i) < away(best) ? i : best));
  }

  // The visible row nearest to a place of the screen, within so many pixels.
  nearest(x, y, within = Infinity) {
    let best = within * within;
    let row = -1;
    for (let i = 0; i < this.n; i++) {
      const d = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
      if (d < best && this.colors[i]) {
        best = d;
        row = i;
      }
    }
    return row;
  }

  inBox(left, top, right, bottom) {
    const rows = [];
    for (let i = 0; i < this.n; i++) {
      if (this.x[i] >= left && this.x[i] <= right && this.y[i] >= top && this.y[i] <= bottom && this.colors[i]) rows.push(i);
    }
    return rows;
  }
}

// The pixels of a disc, as offsets from its middle.
function discOf(radius, width) {
  const reach = Math.ceil(radius);
  const offsets = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      if (dx * dx + dy * dy <= radius * radius) offsets.push(dy * width + dx);
    }
  }
  return { reach, offsets: Int32Array.from(offsets) };
}
