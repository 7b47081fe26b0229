// What a page knows of a place and of rows beyond the map itself: changes, cards, neighbors, new rows. One object for explorer.js to call.

class Extras {
  constructor(explorer) {
    this.explorer = explorer;
    const space = new DataSpace(explorer.content, explorer.fields);
    this.why = new Why(explorer);
    this.along = new Along(explorer, this.why);
    this.cards = new Cards(explorer);
    this.neighbors = new Neighbors(explorer, space, (row) => this.goTo(explorer.points.latent(row)));
    this.newRows = explorer.content.down ? new NewRows(explorer, space) : null;
    byId("here").append(this.cards.options);
    document.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "i" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (!["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) this.cards.turn(!this.cards.isOn);
    });
  }

  // The place that is decoded, the row nearest to it, and where it is on the screen.
  show(z, row, x, y) {
    this.why.show(z);
    this.cards.show(row, x, y);
    this.along.mark();
  }

  pathChanged() {
    this.along.measure();
  }

  ofPin(row) {
    return [...this.cards.ofPin(row), this.neighbors.ofPin(row)];
  }

  draw(context, camera, style) {
    this.cards.follow(camera);
    this.newRows?.draw(context, camera, style.getPropertyValue("--ink"), style.getPropertyValue("--paper"));
  }

  // Decode a latent, and move the map there if it is out of sight.
  goTo(z) {
    const { camera } = this.explorer;
    camera.focus = Float64Array.from(z);
    const [x, y] = placeOf(camera, camera.focus);
    if (x < 0 || y < 0 || x > camera.width || y > camera.height) [camera.u, camera.v] = camera.plane(camera.focus);
    this.explorer.path.pause();
    this.explorer.showPlaying();
    this.explorer.showAt(camera.focus);
    this.explorer.draw();
  }

  state() {
    const { why, along, cards, newRows } = this;
    return {
      changes: (why.changes ?? []).map(({ l, size, direction }) => ({ feature: l, size, direction })),
      expected: why.expected,
      curves: along.curves.map((curve) => curve.name),
      card: cards.node.hidden ? null : cards.row,
      neighbors: this.explorer.pins.rows.map((row) => this.neighbors.of(row)),
      added: newRows ? newRows.rows.map(({ name, z, distance }) => ({ name, z: Array.from(z), distance })) : null,
    };
  }
}

// What pages without rows or without a decoder of their own have in place of it.
class NoExtras {
  constructor() {
    this.newRows = null;
    for (const node of document.querySelectorAll(".of-cards")) node.hidden = true;
    // A file that is dropped must not replace the page.
    for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => event.preventDefault());
  }

  show() {}

  pathChanged() {}

  ofPin() {
    return [];
  }

  draw() {}

  state() {
    return null;
  }
}

// Where a latent is on the screen; in the middle of the height if the map is a line.
function placeOf(camera, z) {
  const [x, y] = camera.latentToScreen(z);
  return [x, camera.up ? y : 0.5 * camera.height];
}
