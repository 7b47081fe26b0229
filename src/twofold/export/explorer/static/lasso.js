// Lasso: rows inside a line drawn by hand. By keyboard, path, box and lasso get their corners one at a time.

// Pixels between two corners of the line.
const LASSO_STEP = 3;

class Lasso {
  constructor(explorer) {
    this.explorer = explorer;
    this.corners = [];
  }

  begin(x, y) {
    this.explorer.box = null;
    this.corners = [[x, y]];
    this.view = this.viewNow();
  }

  // The line is on the screen: once the map moves it would surround other rows, and is not drawn.
  viewNow() {
    const { u, v, scale, width, height, across } = this.explorer.camera;
    return [u, v, scale, width, height, ...across].join();
  }

  extend(x, y) {
    const [lastX, lastY] = this.corners[this.corners.length - 1];
    if (Math.hypot(x - lastX, y - lastY) >= LASSO_STEP) this.corners.push([x, y]);
    this.explorer.drawMarks();
  }

  // More than a click: lines may end where they began.
  get isDrawn() {
    return this.corners.length > 2;
  }

  // Select what is inside; the line stays until the selection is forgotten.
  end() {
    this.explorer.select(this.inside());
  }

  clear() {
    this.corners = [];
  }

  // The visible rows inside the closed line, by the number of its sides to their right.
  inside() {
    const { points } = this.explorer;
    const { corners } = this;
    const rows = [];
    const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const placed = points.place();
    for (const row of points.inBox(left, top, right, bottom)) {
      const [x, y] = [placed.x[row], placed.y[row]];
      let isInside = false;
      for (let k = 0, before = corners.length - 1; k < corners.length; before = k++) {
        if (ys[k] > y === ys[before] > y) continue;
        if (x < xs[k] + ((y - ys[k]) / (ys[before] - ys[k])) * (xs[before] - xs[k])) isInside = !isInside;
      }
      if (isInside) rows.push(row);
    }
    return rows;
  }

  draw(context, color) {
    if (!this.corners.length || this.view !== this.viewNow()) return;
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.setLineDash([5, 4]);
    context.beginPath();
    for (const corner of this.corners) context.lineTo(...corner);
    context.closePath();
    context.stroke();
    context.setLineDash([]);
  }
}

// Corners by keyboard: C sets one at the decoded place, Enter ends the path or the lasso; a box ends with its second corner.
class Corners {
  constructor(explorer, lasso) {
    this.explorer = explorer;
    this.lasso = lasso;
    this.tool = null;
    this.places = [];
  }

  get isBegun() {
    return this.tool !== null && this.tool === this.explorer.tool;
  }

  set() {
    const { explorer, lasso } = this;
    const { tool, here, camera } = explorer;
    if (!["path", "box", "lasso"].includes(tool)) return;
    const isFirst = !this.isBegun;
    const [x, middle] = camera.latentToScreen(here);
    // On a line, boxes have the height of the map.
    const y = explorer.q > 1 ? middle : isFirst ? 0 : camera.height;
    this.tool = tool;
    this.places = isFirst ? [[x, y]] : [...this.places, [x, y]];
    if (tool === "lasso") lasso[isFirst ? "begin" : "extend"](x, y);
    else if (tool === "path") {
      if (isFirst) explorer.clearPath();
      explorer.path[isFirst ? "begin" : "extend"](here);
    } else {
      const [[a, b], [c, d]] = [this.places[0], [x, y]];
      explorer.box = [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];
      if (!isFirst) this.end();
    }
    explorer.drawMarks();
  }

  end() {
    const { explorer, lasso, tool } = this;
    this.tool = null;
    if (tool === "path") explorer.endPath();
    else if (tool === "lasso") lasso.end();
    else explorer.select(explorer.points.inBox(...explorer.box));
  }

  forget() {
    this.tool = null;
  }
}
