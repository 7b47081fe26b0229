// What a row looks like: an image, a curve or a table.

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

class ImageShape {
  constructor(appearance, _features, label) {
    this.appearance = appearance;
    this.node = element("canvas", { className: "image", width: appearance.width, height: appearance.height });
    this.node.setAttribute("role", "img");
    this.node.setAttribute("aria-label", label);
    this.context = this.node.getContext("2d");
    this.picture = this.context.createImageData(appearance.width, appearance.height);
  }

  show(x) {
    const { low, high, channels } = this.appearance;
    const scale = 255 / (high - low || 1);
    const pixels = this.picture.data;
    for (let i = 0, at = 0; at < pixels.length; i++, at += 4) {
      for (let c = 0; c < 3; c++) pixels[at + c] = (x[channels === 3 ? 3 * i + c : i] - low) * scale;
      pixels[at + 3] = 255;
    }
    this.context.putImageData(this.picture, 0, 0);
  }
}

class CurveShape {
  constructor(appearance, features, label) {
    this.appearance = appearance;
    this.features = features;
    this.node = element("canvas", { width: 640, height: 320 });
    this.node.setAttribute("role", "img");
    this.node.setAttribute("aria-label", label);
  }

  // A row, and maybe another behind it, dashed.
  show(x, other = null) {
    const context = this.node.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const { width, height } = this.node;
    const { low, high } = this.appearance;
    const margin = 10;
    const placeX = (l) => margin + ((width - 2 * margin) * l) / Math.max(1, x.length - 1);
    const placeY = (value) => height - margin - ((height - 2 * margin) * (value - low)) / (high - low || 1);
    context.clearRect(0, 0, width, height);
    context.lineWidth = 1;
    context.strokeStyle = style.getPropertyValue("--line");
    if (low < 0 && high > 0) {
      context.beginPath();
      context.moveTo(margin, placeY(0));
      context.lineTo(width - margin, placeY(0));
      context.stroke();
    }
    const line = (values, color, dash) => {
      context.strokeStyle = color;
      context.lineWidth = 3;
      context.setLineDash(dash);
      context.beginPath();
      values.forEach((value, l) => context.lineTo(placeX(l), placeY(value)));
      context.stroke();
    };
    if (other) line(other, style.getPropertyValue("--soft"), [7, 5]);
    line(x, style.getPropertyValue("--accent"), []);
  }
}

class TableShape {
  constructor(appearance, features, _label, heads = ["feature", "value"]) {
    this.columns = heads.length - 1;
    this.cells = [];
    const body = element("tbody");
    features.forEach((name) => {
      const row = element("tr", {}, element("th", { textContent: name, dir: "auto", scope: "row" }));
      for (let c = 0; c < this.columns; c++) {
        const cell = element("td");
        this.cells.push(cell);
        row.append(cell);
      }
      body.append(row);
    });
    const head = element("tr", {}, ...heads.map((text) => element("th", { textContent: text, scope: "col" })));
    this.node = element("div", { className: "scroll" }, element("table", {}, element("thead", {}, head), body));
  }

  show(...rows) {
    rows.filter(Boolean).forEach((x, c) => {
      for (let l = 0; l < x.length; l++) this.cells[l * this.columns + c].textContent = shortNumber(x[l]);
    });
  }
}

const SHAPES = { image: ImageShape, curve: CurveShape, table: TableShape };
