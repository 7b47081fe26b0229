// The page: its state and what it draws.

const REACH = 24;

class Explorer {
  constructor(content) {
    this.content = content;
    const q = content.model.n_components;
    this.q = q;
    this.landscape = new Landscape(content.landscape);
    this.camera = new Camera(content.landscape, q);
    this.points = new Points(content.latents, q, this.landscape);
    this.points.project(this.camera);
    // Pages of a notebook or a server have a host, see bridge.js and served.js.
    this.host = typeof hostOf === "function" ? hostOf(this) : null;
    this.decode = content.program ? decoderOf(content.program) : this.host.decode;
    const names = content.features ?? Array.from({ length: content.model.n_features }, (_, l) => `feature ${l}`);
    this.fields = names.map((name, l) => new Field({ kind: "number", at: l, ...content.fields?.[l], name }));
    this.rows = content.data || !this.host?.rowsOf ? new Rows(content, this.fields) : this.host.rowsOf(this.fields);
    this.rowName = rowNaming(content);
    this.columns = content.columns.map(preparedColumn);
    this.errors = ownColumn(this.columns, "reconstruction error");
    this.landscape.rows = new RowSupport(this.landscape, this.points.latents, ownColumn(this.columns, "log density")?.values ?? null);
    this.points.redraw = () => this.draw();
    this.column = this.columnOf(content.start);
    this.tool = "walk";
    this.withDensity = true;
    this.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    this.here = null;
    this.box = null;
    this.pins = new Pins(this);
    this.selection = new Selection(this);
    this.tiles = new Tiles(this);
    this.finding = new Finding(this);
    this.path = new Path((z, share) => {
      byId("along").value = Math.round(share * 1000);
      this.showAt(z);
    });
    this.shape = new SHAPES[content.appearance.kind](content.appearance, this.fields, "Decoded");
    byId("decoded").append(this.shape.node);
    this.ground = byId("ground");
    this.marks = byId("marks");
    this.frames = 0;
    this.extras = content.program && content.data ? new Extras(this) : new NoExtras();
  }

  // The fields whose values the page has for all rows at once.
  get fieldsHere() {
    return this.rows.isThere && !this.rows.isRemote ? this.fields : [];
  }

  start() {
    const { model, n_rows: total, appearance } = this.content;
    byId("title").textContent = shownText(this.content.title);
    const some = shownPart(this.points.n, total, this.rows.isThere);
    byId("summary").textContent =
      `${model.name} · ${countText(total)} rows${some} · ${model.n_features} features as ${this.q} latents · ${appearance.kind}`;
    fillColors(this);
    this.fillSliders();
    this.setTheme(this.theme);
    document.querySelector('[data-tool="turn"]').hidden = this.q !== 3;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(byId("map"));
    this.resize();
    this.showAt(this.camera.focus);
    this.host?.start();
    this.finding.start();
  }

  colorBy(choice) {
    this.column = this.columnOf(choice);
    this.recolor();
    this.pins.show();
  }

  // Set the choice of the color from elsewhere; nothing happens if there is no such column.
  choose(choice) {
    const [word, number] = choice.split(" ");
    const isFeature = word === "feature";
    if (isFeature ? !(this.rows.isThere && this.fields[Number(number)]) : !this.columns[Number(word)]) return;
    const select = byId("color");
    select.value = choice;
    if (select.value !== choice) this.offerFeature?.(Number(number));
    this.colorBy(choice);
  }

  // The column of a choice: "2" is the third column, "feature 2" the third feature.
  columnOf(choice) {
    const [word, number] = choice.split(" ");
    return word === "feature" ? preparedColumn(this.rows.column(Number(number))) : this.columns[Number(word)];
  }

  recolor() {
    fillLegend(this);
    this.repaint();
  }

  // A class may be in the spotlight.
  repaint(spotlight = -1) {
    this.points.color(this.column, this.theme, spotlight);
    this.draw();
  }

  // Sliders for latents that the map does not show in one plane; for more than three, which two it shows.
  fillSliders() {
    if (this.q < 3) return;
    this.sliders = Array.from({ length: this.q }, (_, l) => {
      const { low, high } = this.camera;
      const slider = element("input", { type: "range", min: low[l], max: high[l], step: "any", value: this.camera.focus[l] });
      slider.addEventListener("input", () => {
        this.camera.focus[l] = Number(slider.value);
        this.showAt(this.camera.focus);
      });
      byId("sliders").append(element("label", { textContent: `latent ${l + 1} ` }, slider));
      return slider;
    });
    if (this.q === 3) return;
    byId("axes").hidden = false;
    const selects = [0, 1].map((chosen) => {
      const options = Array.from({ length: this.q }, (_, l) => element("option", { value: l, textContent: `latent ${l + 1}` }));
      const select = element("select", {}, ...options);
      select.value = chosen;
      select.setAttribute("aria-label", chosen ? "Upward axis" : "Axis to the right");
      byId("axes").append(select);
      return select;
    });
    for (const select of selects) {
      select.addEventListener("change", () => {
        const [first, second] = selects.map((one) => Number(one.value));
        if (first === second) return;
        this.camera.look(first, second);
        this.fitted = this.camera.scale;
        this.points.project(this.camera);
        this.draw();
      });
    }
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    this.recolor();
    this.pins.show();
    if (this.here) this.showAt(this.here);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = byId("map");
    if (!width || !height) return;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    for (const canvas of [this.ground, this.marks]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    this.camera.resize(width, height);
    if (this.camera.isFitted) this.fitted = this.camera.scale;
    this.draw();
  }

  // Draw at most once a frame, however many events ask for it.
  draw() {
    this.groundIsOld = true;
    this.drawMarks();
  }

  drawMarks() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      if (this.groundIsOld) this.drawGround();
      this.groundIsOld = false;
      this.drawOverlay();
      this.frames++;
      this.host?.look();
    });
  }

  // On the map's canvas, or on another one, which may be finer and may lack the rows.
  drawGround(context = this.ground.getContext("2d"), ratio = this.ratio, withRows = true) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.camera.width, this.camera.height);
    this.landscape.draw(context, this.camera, this.theme, this.withDensity && !this.tiles.isOn);
    this.tiles.draw(context, this.camera);
    if (this.tiles.isOn) this.points.hide();
    else if (withRows) this.points.draw(context, this.camera, ratio, this.fitted ?? this.camera.scale);
  }

  drawOverlay(context = this.marks.getContext("2d"), ratio = this.ratio) {
    const style = getComputedStyle(document.documentElement);
    const [ink, focus] = ["--ink", "--focus"].map((name) => style.getPropertyValue(name));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.camera.width, this.camera.height);
    if (!this.tiles.isOn) this.points.drawNames(context, this.column, this.theme);
    this.path.draw(context, this.camera, focus);
    this.extras.draw(context, this.camera, style);
    this.finding.draw(context, ink);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    for (const row of this.pins.rows) ring(context, this.points.x[row], this.points.y[row], 8);
    if (this.here) {
      let [x, y] = this.camera.latentToScreen(this.here);
      context.strokeStyle = focus;
      if (this.q === 1) {
        y = 0.5 * this.camera.height;
        context.beginPath();
        context.moveTo(x, 0);
        context.lineTo(x, this.camera.height);
        context.stroke();
      }
      ring(context, x, y, 6);
    }
    if (this.box) {
      const [left, top, right, bottom] = this.box;
      context.setLineDash([5, 4]);
      context.strokeStyle = ink;
      context.strokeRect(left, top, right - left, bottom - top);
      context.setLineDash([]);
    }
  }

  // Decode a latent and say where it is.
  showAt(z) {
    this.here = Float64Array.from(z);
    const [x, y] = this.camera.latentToScreen(this.here);
    const row = this.points.nearest(x, this.q === 1 ? 0.5 * this.camera.height : y, this.q === 1 ? Infinity : REACH);
    const isTable = this.content.appearance.kind === "table";
    this.shape.show(this.decode(this.here), isTable && row >= 0 && this.rows.isThere ? this.rows.row(row) : null);
    const near = row < 0 ? "" : ` · near ${isolated(this.rowName(row))} (${isolated(rowText(this.column, row))})`;
    const support = this.landscape.support(this.here);
    byId("place").textContent = `(${Array.from(this.here, (one) => shortNumber(one)).join(LIST_MARK)})${support && ` · ${support}`}${near}`;
    if (this.sliders) this.sliders.forEach((slider, l) => (slider.value = this.here[l]));
    this.extras.show(this.here, row, x, this.q === 1 ? 0.5 * this.camera.height : y);
    this.drawMarks();
  }

  setTool(tool) {
    if (tool === "turn" && this.q !== 3) return;
    this.tool = tool;
    this.drawMarks();
    for (const button of document.querySelectorAll("[data-tool]")) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    this.marks.style.cursor = { pan: "grab", turn: "grab" }[tool] ?? "crosshair";
  }

  listen() {
    for (const button of document.querySelectorAll("[data-tool]")) button.addEventListener("click", () => this.setTool(button.dataset.tool));
    const zoom = (factor) => {
      this.camera.zoom(factor);
      this.draw();
    };
    byId("zoom-in").addEventListener("click", () => zoom(1.4));
    byId("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
    byId("reset").addEventListener("click", () => this.reset());
    byId("theme").addEventListener("click", () => this.setTheme(this.theme === "dark" ? "light" : "dark"));
    byId("help-button").addEventListener("click", () => this.toggleHelp());
    byId("density").addEventListener("change", (event) => {
      this.withDensity = event.target.checked;
      this.draw();
    });
    byId("tiles-label").hidden = this.content.appearance.kind !== "image" || this.q === 1;
    byId("tiles").addEventListener("change", (event) => {
      this.tiles.toggle(event.target.checked);
      this.draw();
    });
    byId("play").addEventListener("click", () => this.togglePlay());
    byId("along").addEventListener("input", (event) => {
      this.path.pause();
      this.showPlaying();
      this.path.go(Number(event.target.value) / 1000);
    });
    byId("download").addEventListener("click", () => this.selection.download());
    byId("forget").addEventListener("click", () => this.select([]));
    listenToSaving(this);
    listenToPointer(this);
    document.addEventListener("keydown", (event) => onKey(this, event));
  }

  reset() {
    this.camera.reset();
    this.fitted = this.camera.scale;
    this.draw();
  }

  toggleHelp() {
    byId("help").hidden = !byId("help").hidden;
    byId("help-button").setAttribute("aria-expanded", String(!byId("help").hidden));
  }

  togglePlay() {
    if (!this.path.isThere) return;
    if (this.path.isPlaying) this.path.pause();
    else this.path.play();
    this.showPlaying();
  }

  showPlaying() {
    byId("play").textContent = this.path.isPlaying ? "Pause" : "Play";
  }

  endPath() {
    byId("player").hidden = !this.path.end();
    this.extras.pathChanged();
    this.showPlaying();
  }

  clearPath() {
    this.path.clear();
    this.extras.pathChanged();
    byId("player").hidden = true;
  }

  select(rows) {
    this.selection.choose(rows);
    if (!rows.length) this.box = null;
    this.finding.selected(rows);
    this.drawMarks();
  }

  pinNear(x, y) {
    const row = this.points.nearest(x, y, REACH);
    if (row < 0) return;
    this.pins.toggle(row);
    this.camera.focus = Float64Array.from(this.points.latent(row));
    this.showAt(this.camera.focus);
  }
}

function ring(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

const ready = withArrays(JSON.parse(byId("content").textContent)).then((content) => {
  const explorer = new Explorer(content);
  explorer.start();
  return explorer;
});

// For the console: decode latents, and read what the page shows.
window.twofold = Object.freeze({
  ready: ready.then(() => true),
  decode: async (z) => Array.from((await ready).decode(z)),
  state: async () => {
    const e = await ready;
    return {
      here: e.here && Array.from(e.here),
      tool: e.tool,
      theme: e.theme,
      frames: e.frames,
      pins: e.pins.rows.map((row) => ({ row, error: e.pins.of(row).error })),
      selected: e.selection.rows.slice(),
      ...e.finding.state(),
      path: e.path.isThere ? { share: e.path.share, isPlaying: e.path.isPlaying, corners: e.path.corners.length } : null,
      images: e.tiles.count,
      extras: e.extras.state(),
      drawnBy: e.points.drawnBy,
      names: e.points.labels.shown.map(({ name }) => name),
      view: { u: e.camera.u, v: e.camera.v, scale: e.camera.scale },
    };
  },
  support: async (z) => (await ready).landscape.support(z),
  supportOf: async (row) => {
    const e = await ready;
    return e.landscape.support(e.points.latent(row));
  },
  csv: async () => (await ready).selection.csv(),
  // Latents and distances of rows of own values, or of CSV; and the new rows as CSV.
  encode: async (rows, withSearch = true) => {
    const { down } = (await ready).extras.newRows;
    return rows.map((values) => down.place(values, withSearch)).map(({ z, distance }) => ({ z: Array.from(z), distance }));
  },
  add: async (text) => (await ready).extras.newRows.add(text),
  newCsv: async () => (await ready).extras.newRows.csv(),
  screenOf: async (row) => {
    const { x, y } = (await ready).points;
    return [x[row], y[row]];
  },
});
