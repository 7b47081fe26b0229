// Where latents are on the screen. The map is a plane through the focus: with orthonormal rows P (2, q), a latent z is drawn at
// P z, and a place (u, v) of the screen stands for focus + P^T ((u, v) - P focus).

class Camera {
  constructor(landscape, q) {
    this.q = q;
    this.low = landscape.low;
    this.high = landscape.high;
    this.focus = Float64Array.from(this.low, (low, l) => 0.5 * (low + this.high[l]));
    this.across = unit(q, 0);
    this.up = q > 1 ? unit(q, 1) : null;
    this.width = 1;
    this.height = 1;
    this.reset();
  }

  resize(width, height) {
    const fitted = this.isFitted;
    this.width = width;
    this.height = height;
    if (fitted) this.reset();
  }

  // Show everything.
  reset() {
    const middle = Float64Array.from(this.low, (low, l) => 0.5 * (low + this.high[l]));
    [this.u, this.v] = this.plane(middle);
    if (this.q > 2) {
      let radius = 0;
      for (let l = 0; l < this.q; l++) radius += (0.5 * (this.high[l] - this.low[l])) ** 2;
      this.scale = (0.5 * Math.min(this.width, this.height)) / Math.sqrt(radius);
    } else {
      const high = this.q > 1 ? this.high[1] - this.low[1] : 0;
      const across = this.width / (this.high[0] - this.low[0]);
      this.scale = high ? Math.min(across, this.height / high) : across;
    }
    this.whole = this.scale;
    this.isFitted = true;
  }

  plane(z) {
    return [inner(this.across, z), this.up ? inner(this.up, z) : 0];
  }

  toScreen(u, v) {
    return [0.5 * this.width + (u - this.u) * this.scale, 0.5 * this.height - (v - this.v) * this.scale];
  }

  latentToScreen(z) {
    return this.toScreen(...this.plane(z));
  }

  screenToLatent(x, y) {
    const u = this.u + (x - 0.5 * this.width) / this.scale;
    const v = this.v - (y - 0.5 * this.height) / this.scale;
    const [fu, fv] = this.plane(this.focus);
    return this.focus.map((f, l) => f + (u - fu) * this.across[l] + (this.up ? (v - fv) * this.up[l] : 0));
  }

  move(dx, dy) {
    this.u -= dx / this.scale;
    this.v += dy / this.scale;
    this.isFitted = false;
  }

  zoom(factor, x = 0.5 * this.width, y = 0.5 * this.height) {
    const dx = x - 0.5 * this.width;
    const dy = y - 0.5 * this.height;
    const next = Math.min(1e4 * this.whole, Math.max(0.02 * this.whole, this.scale * factor));
    this.u += dx / this.scale - dx / next;
    this.v -= dy / this.scale - dy / next;
    this.scale = next;
    this.isFitted = false;
  }

  // Turn the three axes of space about those of the screen.
  turn(dx, dy) {
    const [a, b] = [dx * 0.008, dy * 0.008];
    const middle = Float64Array.from(this.low, (low, l) => 0.5 * (low + this.high[l]));
    const before = this.plane(middle);
    const depth = crossed(this.across, this.up);
    const across = this.across.map((c, l) => Math.cos(a) * c - Math.sin(a) * depth[l]);
    const turned = this.across.map((c, l) => Math.sin(a) * c + Math.cos(a) * depth[l]);
    this.across = across;
    this.up = this.up.map((c, l) => Math.cos(b) * c + Math.sin(b) * turned[l]);
    const after = this.plane(middle);
    this.u += after[0] - before[0];
    this.v += after[1] - before[1];
  }

  look(first, second) {
    this.across = unit(this.q, first);
    this.up = unit(this.q, second);
    this.reset();
  }
}

function unit(q, l) {
  const axis = new Float64Array(q);
  axis[l] = 1;
  return axis;
}

function inner(a, b) {
  let sum = 0;
  for (let l = 0; l < a.length; l++) sum += a[l] * b[l];
  return sum;
}

function crossed(a, b) {
  return Float64Array.of(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}
