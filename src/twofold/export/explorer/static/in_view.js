// Which rows are in view.

// With a larger share of the rows in view, all are drawn: it takes no longer.
const MOST_IN_VIEW = 0.6;

// What the camera sees, as a box of the rows' coordinates.
function boxInView(points, camera, margin) {
  const { x0, sx, y0, sy } = points.axes(camera);
  const ends = [(-margin - y0) / sy, (camera.height + margin - y0) / sy];
  return [(-margin - x0) / sx, Math.min(...ends), (camera.width + margin - x0) / sx, Math.max(...ends)];
}

// Ranges of the grid's rows that may be in view; null if they are most of the rows, or where the map turns and has no grid.
function rangesInView(points, camera, radius) {
  if (points.q > 2) return null;
  const found = points.grid.ranges(...boxInView(points, camera, radius));
  return found.reduce((sum, [from, to]) => sum + to - from, 0) > MOST_IN_VIEW * points.n ? null : found;
}
