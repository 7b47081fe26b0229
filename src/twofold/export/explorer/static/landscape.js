// The density of the latents on its grid: shaded, with the domain's border, and asked at single places.

class Landscape {
  constructor(plain) {
    Object.assign(this, plain);
    this.q = plain.low.length;
    this.values = plain.grid ? numbersOf(plain.grid) : null;
    this.side = plain.grid ? plain.grid.shape[0] : 0;
    this.top = this.values ? this.values.reduce((a, b) => Math.max(a, b), -Infinity) : 0;
    this.lines = this.q === 2 && this.values && !this.box ? contourOf(this, this.border) : [];
  }

  // The log density at a latent, linear between grid points; null where there is no grid.
  at(z) {
    if (!this.values) return null;
    let weights = [[0, 1]];
    for (let l = 0; l < this.q; l++) {
      const place = Math.min(this.side - 1, Math.max(0, ((z[l] - this.low[l]) / (this.high[l] - this.low[l])) * (this.side - 1)));
      const below = Math.min(this.side - 2, Math.floor(place));
      const rest = place - below;
      weights = weights.flatMap(([at, w]) => [[at * this.side + below, w * (1 - rest)], [at * this.side + below + 1, w * rest]]);
    }
    return weights.reduce((sum, [at, w]) => sum + w * this.values[at], 0);
  }

  support(z) {
    return this.rows.text(z);
  }

  // A small picture of the density, to be stretched over the map.
  shade(theme) {
    const picture = document.createElement("canvas");
    picture.width = this.side;
    picture.height = this.side;
    const context = picture.getContext("2d");
    const image = context.createImageData(this.side, this.side);
    const ink = theme === "dark" ? 255 : 0;
    // Square roots show thin regions too; the lowest value is nothing.
    const root = (value) => Math.exp(0.5 * (value - this.top));
    const least = root(this.values.reduce((a, b) => Math.min(a, b), Infinity));
    const usual = root(this.usual);
    for (let i = 0; i < this.side; i++) {
      for (let j = 0; j < this.side; j++) {
        const at = 4 * ((this.side - 1 - j) * this.side + i);
        const share = Math.max(0, root(this.values[i * this.side + j]) - least) / usual;
        image.data[at] = image.data[at + 1] = image.data[at + 2] = ink;
        image.data[at + 3] = Math.min(64, 42 * Math.sqrt(share));
      }
    }
    context.putImageData(image, 0, 0);
    return picture;
  }

  draw(context, camera, theme, withDensity) {
    if (this.q === 1) this.drawCurve(context, camera, theme, withDensity);
    if (this.q !== 2) return;
    if (withDensity && this.values) {
      if (this.shaded !== theme) {
        this.picture = this.shade(theme);
        this.shaded = theme;
      }
      // Grid points are the middles of pixels.
      const half = [0, 1].map((l) => (0.5 * (this.high[l] - this.low[l])) / (this.side - 1));
      const [left, top] = camera.toScreen(this.low[0] - half[0], this.high[1] + half[1]);
      const [right, bottom] = camera.toScreen(this.high[0] + half[0], this.low[1] - half[1]);
      context.imageSmoothingEnabled = true;
      context.drawImage(this.picture, left, top, right - left, bottom - top);
    }
    context.strokeStyle = theme === "dark" ? "#9aa3b2" : "#6b7280";
    context.lineWidth = 1;
    this.drawBorder(context, camera);
  }

  drawBorder(context, camera) {
    context.setLineDash([4, 3]);
    context.beginPath();
    if (this.box) {
      const [[left, low], [right, high]] = this.box;
      // Two sides of a wrapped dimension are one place and no border.
      const sides = [];
      if (!this.wrapped[0]) sides.push([left, low, left, high], [right, low, right, high]);
      if (!this.wrapped[1]) sides.push([left, low, right, low], [left, high, right, high]);
      for (const [u, v, s, t] of sides) {
        context.moveTo(...camera.toScreen(u, v));
        context.lineTo(...camera.toScreen(s, t));
      }
    } else {
      for (const line of this.lines) line.forEach(([u, v], k) => context[k ? "lineTo" : "moveTo"](...camera.toScreen(u, v)));
    }
    context.stroke();
    context.setLineDash([]);
  }

  drawCurve(context, camera, theme, withDensity) {
    if (!withDensity || !this.values) return;
    context.fillStyle = theme === "dark" ? "#ffffff22" : "#00000018";
    context.beginPath();
    const base = 0.5 * camera.height;
    const high = 0.38 * camera.height;
    const along = (i) => camera.toScreen(this.low[0] + ((this.high[0] - this.low[0]) * i) / (this.side - 1), 0)[0];
    for (let i = 0; i < this.side; i++) context.lineTo(along(i), base - high * Math.exp(this.values[i] - this.top));
    for (let i = this.side - 1; i >= 0; i--) context.lineTo(along(i), base + high * Math.exp(this.values[i] - this.top));
    context.fill();
  }
}
