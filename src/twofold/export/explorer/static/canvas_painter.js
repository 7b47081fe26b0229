// Rows on a canvas without WebGL2. Few are drawn as circles; many are stamped into pixels, which takes milliseconds for 100,000.

class CanvasPainter {
  constructor(points) {
    this.points = points;
    this.name = "canvas";
    this.layer = document.createElement("canvas");
  }

  draw(context, camera, ratio, radius) {
    if (this.points.n <= FEW) this.drawCircles(context, camera, radius);
    else this.drawStamps(context, camera, ratio, radius);
  }

  // It has no layer of its own.
  hide() {}

  // Rows by color, with the spotlight's last.
  byColor() {
    const { points } = this;
    if (this.coloring !== points.coloring) {
      this.order = new Map();
      for (let i = 0; i < points.n; i++) {
        if (!points.colors[i]) continue;
        if (!this.order.has(points.colors[i])) this.order.set(points.colors[i], []);
        this.order.get(points.colors[i]).push(i);
      }
      const last = points.spotlight < 0 ? 0 : points.palette[points.spotlight];
      if (this.order.has(last)) {
        const rows = this.order.get(last);
        this.order.delete(last);
        this.order.set(last, rows);
      }
      this.coloring = points.coloring;
    }
    return this.order;
  }

  drawCircles(context, camera, radius) {
    const { x, y } = this.points.place();
    // One path for each color.
    for (const [color, rows] of this.byColor()) {
      context.fillStyle = cssColor(rgbOf(color), 0.85);
      context.beginPath();
      for (const i of rows) {
        if (x[i] < -9 || y[i] < -9 || x[i] > camera.width + 9 || y[i] > camera.height + 9) continue;
        context.moveTo(x[i] + radius, y[i]);
        context.arc(x[i], y[i], radius, 0, 2 * Math.PI);
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
    const { pixels, points } = this;
    pixels.fill(0);
    const stamp = discOf(Math.max(0.6, radius * ratio), width);
    const ranges = rangesInView(points, camera, radius);
    this.stamp(camera, ratio, stamp, ranges, 0);
    if (points.spotlight >= 0) this.stamp(camera, ratio, stamp, ranges, points.palette[points.spotlight]);
    this.layer.getContext("2d").putImageData(this.image, 0, 0);
    context.drawImage(this.layer, 0, 0, camera.width, camera.height);
  }

  // All colors, or only one. Without ranges, all rows in their order.
  stamp(camera, ratio, { reach, offsets }, ranges, only) {
    const { pixels, points } = this;
    const { colors, u, height: v, n } = points;
    const { width, height } = this.layer;
    const { x0, sx, y0, sy } = points.axes(camera);
    const [left, perU, top, perV] = [x0 * ratio + 0.5, sx * ratio, y0 * ratio + 0.5, sy * ratio];
    const margin = reach + 1;
    const order = ranges ? points.grid.rows : null;
    for (const [from, to] of ranges ?? [[0, n]]) {
      for (let k = from; k < to; k++) {
        const i = order ? order[k] : k;
        const color = colors[i];
        if (!color || (only && color !== only)) continue;
        const x = Math.floor(left + perU * u[i]);
        const y = Math.floor(top + perV * v[i]);
        if (x < margin || y < margin || x >= width - margin || y >= height - margin) continue;
        const at = y * width + x;
        for (let j = 0; j < offsets.length; j++) pixels[at + offsets[j]] = color;
      }
    }
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
