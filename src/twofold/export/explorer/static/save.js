// The view as a file: a PNG picture, an SVG drawing, or paper, each with title and legend.

const FINER = 2;
const LEGEND_WIDTH = 190;
const TITLE_HEIGHT = 34;
const LINE_HEIGHT = 18;
const MOST_IN_FILE_LEGEND = 40;
// With more rows, the drawing holds them as a picture.
const MOST_CIRCLES = 20_000;
// The name of the format, not an address: nothing is asked for.
const SVG = ["http:", "", "www.w3.org", "2000", "svg"].join("/");

function listenToSaving(explorer) {
  const button = (text, name, action) => {
    const made = element("button", { type: "button", textContent: text });
    made.setAttribute("aria-label", name);
    made.addEventListener("click", action);
    return made;
  };
  const buttons = element(
    "div",
    { className: "row" },
    button("PNG", "Save the view as a PNG picture", async () => offer("map.png", await pngOf(explorer))),
    button("SVG", "Save the view as an SVG drawing", () => offer("map.svg", new Blob([svgOf(explorer)], { type: "image/svg+xml" }))),
    button("Print", "Print the view", () => print()),
  );
  const section = element("section", { id: "save" }, element("h2", { textContent: "Save the view" }), buttons);
  section.setAttribute("aria-label", "Save the view");
  document.querySelector("aside").append(section);
  listenToPrinting(explorer);
}

function offer(name, blob) {
  const link = element("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Paper is white: the page is printed light, and drawn at once, for no frame comes before the printer's.
function listenToPrinting(explorer) {
  const { points } = explorer;
  let theme = null;
  let painter = null;
  const drawNow = (next, by) => {
    points.usePainter(by);
    explorer.setTheme(next);
    explorer.drawGround();
    explorer.drawOverlay();
  };
  addEventListener("beforeprint", () => {
    byId("map").style.setProperty("--shape", `${explorer.camera.width} / ${explorer.camera.height}`);
    if (theme !== null) return;
    [theme, painter] = [explorer.theme, points.painter];
    drawNow("light", new CanvasPainter(points));
  });
  addEventListener("afterprint", () => {
    if (theme !== null) drawNow(theme, painter);
    theme = null;
  });
}

// The entries of the legend: {text, rgb}, or {ramp: [low, high]}, or {text} alone.
function legendEntries({ column, theme }) {
  const gaps = column.hasGaps ? [{ text: MISSING, rgb: GAP[theme] }] : [];
  if (column.kind === "number") {
    return [{ text: column.name }, { ramp: [column.low, column.high].map((value) => numberText(column, value)) }, ...gaps];
  }
  const codes = column.byRank.filter((code) => column.shown.has(code));
  const entries = codes.slice(0, MOST_IN_FILE_LEGEND).map((code) => ({ text: column.names[code], rgb: colorOfClass(column, code, theme) }));
  const more = codes.length - entries.length;
  return [{ text: column.name }, ...entries, ...(more > 0 ? [{ text: `and ${countText(more)} more` }] : []), ...gaps];
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// Wide and tall enough for the map, the title above it and the legend beside it.
function sizeOf({ camera }, entries) {
  const height = Math.max(camera.height, LINE_HEIGHT * (entries.length + 2));
  return [camera.width + LEGEND_WIDTH, height + TITLE_HEIGHT];
}

async function pngOf(explorer) {
  const { camera, theme, content } = explorer;
  const entries = legendEntries(explorer);
  const [width, height] = sizeOf(explorer, entries);
  const whole = canvasOf(width, height);
  const context = whole.getContext("2d");
  context.setTransform(FINER, 0, 0, FINER, 0, 0);
  context.fillStyle = cssColor(PAPER[theme]);
  context.fillRect(0, 0, width, height);
  // The ring of the place under the pointer belongs to the panel beside the map, which is not saved.
  const { here } = explorer;
  explorer.here = null;
  for (const draw of ["drawGround", "drawOverlay"]) {
    const layer = canvasOf(camera.width, camera.height);
    explorer[draw](layer.getContext("2d"), FINER);
    context.drawImage(layer, 0, TITLE_HEIGHT, camera.width, camera.height);
  }
  explorer.here = here;
  const ink = theme === "dark" ? "#e8eaee" : "#1c1f24";
  context.fillStyle = ink;
  context.textBaseline = "middle";
  context.font = "600 16px system-ui, sans-serif";
  context.fillText(shortened(content.title, 90), 12, 0.5 * TITLE_HEIGHT);
  context.font = "13px system-ui, sans-serif";
  entries.forEach(({ text, rgb, ramp }, line) => {
    const [x, y] = [camera.width + 14, TITLE_HEIGHT + LINE_HEIGHT * (line + 0.5)];
    if (ramp) {
      for (let i = 0; i < 100; i++) {
        context.fillStyle = cssColor(rampColor(i / 99));
        context.fillRect(x + 1.5 * i, y - 6, 2, 10);
      }
      context.fillStyle = ink;
      context.fillText(ramp[0], x, y + LINE_HEIGHT);
      context.textAlign = "end";
      context.fillText(ramp[1], x + 151, y + LINE_HEIGHT);
      context.textAlign = "start";
      return;
    }
    if (rgb) {
      context.fillStyle = cssColor(rgb);
      context.beginPath();
      context.arc(x + 5, y, 5, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = ink;
    }
    context.fillText(shortened(text, 22), x + (rgb ? 16 : 0), y);
  });
  return new Promise((done) => whole.toBlob(done, "image/png"));
}

function canvasOf(width, height) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(width * FINER), Math.round(height * FINER)];
  return canvas;
}

function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Few rows are circles, in groups by color; names, legend and path are text and lines that another program can edit.
function svgOf(explorer) {
  const { camera, theme, content } = explorer;
  const entries = legendEntries(explorer);
  const [width, height] = sizeOf(explorer, entries);
  const ink = theme === "dark" ? "#e8eaee" : "#1c1f24";
  const paper = cssColor(PAPER[theme]);
  const root = svgElement("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 13, fill: ink });
  root.append(svgElement("title", {}, content.title), svgElement("rect", { width, height, fill: paper }));
  root.append(svgElement("text", { x: 12, y: 22, "font-size": 16, "font-weight": 600 }, shortened(content.title, 90)));
  const map = svgElement("svg", { y: TITLE_HEIGHT, width: camera.width, height: camera.height });
  const areCircles = !explorer.tiles.isOn && explorer.points.n <= MOST_CIRCLES;
  const ground = canvasOf(camera.width, camera.height);
  explorer.drawGround(ground.getContext("2d"), FINER, !areCircles);
  map.append(svgElement("image", { width: camera.width, height: camera.height, href: ground.toDataURL("image/png") }));
  if (areCircles) map.append(...circlesOf(explorer));
  if (!explorer.tiles.isOn) map.append(...namesOf(explorer, paper));
  map.append(...svgMarksOf(explorer, ink));
  root.append(map, legendOf(entries, camera.width + 14));
  // Control characters of names have no place in XML.
  return new XMLSerializer().serializeToString(root).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

function circlesOf({ points, camera, fitted }) {
  const { x, y } = points.place();
  const r = points.radius(camera, fitted ?? camera.scale);
  const groups = new Map();
  for (let i = 0; i < points.n; i++) {
    const color = points.colors[i];
    if (!color || x[i] < -r || y[i] < -r || x[i] > camera.width + r || y[i] > camera.height + r) continue;
    if (!groups.has(color)) groups.set(color, svgElement("g", { fill: cssColor(rgbOf(color)), "fill-opacity": 0.85 }));
    groups.get(color).append(svgElement("circle", { cx: x[i].toFixed(1), cy: y[i].toFixed(1), r: r.toFixed(1) }));
  }
  return groups.values();
}

function namesOf({ points }, paper) {
  return points.labels.shown.map(({ x, y, name }) =>
    svgElement(
      "text",
      { x, y, "text-anchor": "middle", "dominant-baseline": "middle", "font-weight": 600, stroke: paper, "stroke-width": 4, "paint-order": "stroke" },
      name,
    ),
  );
}

// The path and the pinned rows.
function svgMarksOf({ path, pins, points, camera }, ink) {
  const made = [];
  if (path.corners.length) {
    const corners = path.corners.map((z) => camera.latentToScreen(z).map((value) => value.toFixed(1)).join());
    made.push(svgElement("polyline", { points: corners.join(" "), fill: "none", stroke: cssColor(SPOT.light), "stroke-width": 2.5 }));
  }
  for (const row of pins.rows) made.push(svgElement("circle", { cx: points.x[row], cy: points.y[row], r: 8, fill: "none", stroke: ink, "stroke-width": 2 }));
  return made;
}

function legendOf(entries, left) {
  const group = svgElement("g", { transform: `translate(${left} ${TITLE_HEIGHT})` });
  entries.forEach(({ text, rgb, ramp }, line) => {
    const y = LINE_HEIGHT * (line + 0.5);
    if (ramp) {
      for (let i = 0; i < 50; i++) group.append(svgElement("rect", { x: 3 * i, y: y - 6, width: 3.5, height: 10, fill: cssColor(rampColor(i / 49)) }));
      group.append(svgElement("text", { y: y + LINE_HEIGHT }, ramp[0]));
      group.append(svgElement("text", { x: 152, y: y + LINE_HEIGHT, "text-anchor": "end" }, ramp[1]));
      return;
    }
    if (rgb) group.append(svgElement("circle", { cx: 5, cy: y, r: 5, fill: cssColor(rgb) }));
    group.append(svgElement("text", { x: rgb ? 16 : 0, y, "dominant-baseline": "middle" }, shortened(text, 22)));
  });
  return group;
}
