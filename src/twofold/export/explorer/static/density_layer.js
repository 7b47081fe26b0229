// Where many rows share a pixel, their density: each pixel has the mean color of its rows and is the more opaque the more it has. A picture of
// the whole map serves while the view moves; when it has been still for a moment, a sharper one of the view replaces it.

const CROWDED = 30_000;
// Rows for each pixel of the cells that have rows.
const ROWS_PER_PIXEL = 0.5;
const WHOLE_SIDE = 1024;
// Milliseconds.
const SETTLED = 120;

class DensityLayer {
  constructor(points) {
    this.points = points;
    this.whole = null;
    this.view = null;
  }

  // Rows in view for each pixel where there are any; 0 for few rows, and where the map turns and has no cells.
  rowsPerPixel(camera) {
    const { points } = this;
    if (points.n <= CROWDED || points.q > 2) return 0;
    const { sx, sy } = points.axes(camera);
    const { rows, cells } = points.grid.crowd(...boxInView(points, camera, 0));
    const area = points.grid.sizeA * sx * points.grid.sizeB * Math.abs(sy);
    // Of rows that filters and the legend hide, there are about as many everywhere.
    const visible = (rows * points.visible) / points.n;
    return visible > CROWDED ? visible / (cells * area) : 0;
  }

  draw(context, camera, ratio) {
    const { points } = this;
    const { x0, sx, y0, sy } = points.axes(camera);
    if (!this.isOf(this.whole)) this.whole = this.drawWhole();
    const { box, pixels } = this.whole;
    context.imageSmoothingEnabled = true;
    const at = ([lowA, lowB, highA, highB]) => [x0 + sx * lowA, y0 + sy * (sy < 0 ? highB : lowB), sx * (highA - lowA), Math.abs(sy) * (highB - lowB)];
    const isCoarse = sx * ratio > 1.2 * pixels[0] || Math.abs(sy) * ratio > 1.2 * pixels[1];
    if (isCoarse && this.isOf(this.view) && this.view.key === this.keyOf(camera, ratio)) {
      context.drawImage(this.view.picture, 0, 0, camera.width, camera.height);
      return;
    }
    context.drawImage(this.whole.picture, ...at(box));
    if (isCoarse) this.sharpenSoon(camera, ratio);
  }

  keyOf(camera, ratio) {
    return [camera.u, camera.v, camera.scale, camera.width, camera.height, ratio].join();
  }

  isOf(layer) {
    return layer && layer.projection === this.points.projection && layer.coloring === this.points.coloring;
  }

  sharpenSoon(camera, ratio) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.view = this.drawView(camera, ratio);
      this.points.redraw?.();
    }, SETTLED);
  }

  drawWhole() {
    const { grid } = this.points;
    const extentA = grid.side * grid.sizeA;
    const extentB = grid.side * grid.sizeB;
    // On a line the two coordinates have different units.
    const longest = this.points.lift ? 0 : Math.max(extentA, extentB);
    const [width, height] = [extentA, extentB].map((extent) => Math.max(1, Math.round((WHOLE_SIDE * extent) / (longest || extent))));
    const box = [grid.lowA, grid.lowB, grid.lowA + extentA, grid.lowB + extentB];
    return this.drawBox(box, width, height, [[0, this.points.n]]);
  }

  drawView(camera, ratio) {
    const box = boxInView(this.points, camera, 0);
    const [width, height] = [camera.width, camera.height].map((size) => Math.max(1, Math.round(size * ratio)));
    return { ...this.drawBox(box, width, height, this.points.grid.ranges(...box)), key: this.keyOf(camera, ratio) };
  }

  // A picture of a box, from ranges of the grid's rows.
  drawBox(box, width, height, ranges) {
    const { points } = this;
    const { u, height: v, colors, grid, spotlight } = points;
    const [lowA, lowB, highA, highB] = box;
    const [perA, perB] = [width / (highA - lowA), height / (highB - lowB)];
    const isUp = !points.lift;
    const shown = spotlight < 0 ? 0 : points.palette[spotlight];
    const counts = new Float32Array(width * height);
    const sums = new Float32Array(3 * width * height);
    for (const [from, to] of ranges) {
      for (let k = from; k < to; k++) {
        const i = grid.rows[k];
        const color = colors[i];
        const column = Math.min(width - 1, Math.floor((u[i] - lowA) * perA));
        const line = Math.min(height - 1, Math.floor((v[i] - lowB) * perB));
        if (!color || column < 0 || line < 0 || u[i] > highA || v[i] > highB) continue;
        const at = (isUp ? height - 1 - line : line) * width + column;
        const weight = shown && color === shown ? 20 : 1;
        counts[at] += weight;
        sums[3 * at] += weight * (color & 255);
        sums[3 * at + 1] += weight * ((color >> 8) & 255);
        sums[3 * at + 2] += weight * ((color >> 16) & 255);
      }
    }
    return {
      picture: pictureOf(counts, sums, width, height),
      box,
      pixels: [perA, perB],
      projection: points.projection,
      coloring: points.coloring,
    };
  }
}

function pictureOf(counts, sums, width, height) {
  let [total, filled] = [0, 0];
  for (let at = 0; at < counts.length; at++) {
    total += counts[at];
    if (counts[at]) filled++;
  }
  // A pixel with four times the usual number of rows is opaque.
  const full = Math.log1p((4 * total) / Math.max(1, filled));
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [width, height];
  const context = picture.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < counts.length; at++) {
    const count = counts[at];
    if (!count) continue;
    const opacity = Math.min(255, Math.round(70 + (185 * Math.log1p(count)) / full));
    pixels[at] = ((opacity << 24) | ((sums[3 * at + 2] / count) << 16) | ((sums[3 * at + 1] / count) << 8) | (sums[3 * at] / count)) >>> 0;
  }
  context.putImageData(image, 0, 0);
  return picture;
}
