// What a row looks like: an image, a curve or a table.

// A name that may break after its separators.
function breakable(name) {
  return name.split(/(?<=[_.\-/])/).flatMap((part) => [part, element("wbr")]);
}

const LONGEST_TEXT = 200;

// A name as it is shown: cut if it is long. Downloads have all of it.
function shownText(text) {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text;
}

// A name within a sentence, which keeps its direction whatever that of the name is.
function isolated(text) {
  return /^[ -~]*$/.test(text) ? shownText(text) : `\u2068${shownText(text)}\u2069`;
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  if ("textContent" in properties) made.textContent = shownText(properties.textContent);
  made.append(...children);
  return made;
}

const MISSING_PIXEL = [150, 60, 80];

class ImageShape {
  constructor(appearance, _fields, label) {
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
      for (let c = 0; c < 3; c++) {
        const value = x[channels === 3 ? 3 * i + c : i];
        pixels[at + c] = value === null ? MISSING_PIXEL[c] : (value - low) * scale;
      }
      pixels[at + 3] = 255;
    }
    this.context.putImageData(this.picture, 0, 0);
  }
}

class CurveShape {
  constructor(appearance, _fields, label) {
    this.appearance = appearance;
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
      values.forEach((value, l) => {
        if (value === null) return;
        // After a gap the line begins anew.
        const isFirst = l === 0 || values[l - 1] === null;
        context[isFirst ? "moveTo" : "lineTo"](placeX(l), placeY(value));
      });
      context.stroke();
    };
    if (other) line(other, style.getPropertyValue("--soft"), [7, 5]);
    line(x, style.getPropertyValue("--accent"), []);
  }
}

// Fields below each other: decoded values, and a row's own ("row" and "data").
class TableShape {
  constructor(_appearance, fields, _label, columns = ["decoded", "row"]) {
    this.fields = fields;
    this.columns = columns;
    this.withBars = columns[0] === "decoded";
    const head = element("tr", {}, ...["feature", ...columns].map((text) => element("th", { textContent: text, className: text === "decoded" || text === "rebuilt" ? "wide" : "", scope: "col" })));
    const body = element("tbody");
    this.lines = fields.map((field) => {
      const cells = columns.map(() => new ValueCell());
      body.append(element("tr", {}, element("th", { dir: "auto", scope: "row" }, ...breakable(shownText(field.name))), ...cells.map((cell) => cell.node)));
      const bars = this.withBars && field.levels ? new Bars(field, columns.length + 1) : null;
      if (bars) body.append(bars.node);
      return { field, cells, bars };
    });
    const table = element("table", { className: "fields" }, element("thead", {}, head), body);
    // Reached by the Tab key, so that arrow keys scroll it.
    this.node = element("div", { className: "scroll", tabIndex: 0 }, table);
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", columns.join(" and "));
  }

  // One row for each column; null leaves its cells empty.
  show(...rows) {
    this.columns.forEach((name, c) => {
      const x = rows[c] ?? null;
      const isOwn = name === "row" || name === "data";
      this.lines.forEach(({ field, cells, bars }, l) => {
        if (x === null) cells[c].show("");
        else if (isOwn) cells[c].show(field.own(x[l]), null, x[l] === null);
        else {
          const { text, share } = field.decoded(x);
          cells[c].show(text, share);
          if (bars) bars.show(x);
        }
      });
    });
  }
}

// A value as text, maybe with a probability.
class ValueCell {
  constructor() {
    this.word = element("span", { dir: "auto" });
    this.share = element("span", { className: "share" });
    this.node = element("td", {}, this.word, this.share);
  }

  show(text, share = null, isMissing = false) {
    this.word.textContent = shownText(text);
    this.share.textContent = share === null ? "" : ` ${shareText(share)}`;
    this.node.classList.toggle("missing", isMissing);
  }
}

// The probabilities of a field's leading levels.
class Bars {
  constructor(field, span) {
    this.field = field;
    const count = Math.min(MOST_LEVELS, field.levels.length);
    this.bars = Array.from({ length: count }, () => {
      const level = element("span", { className: "level", dir: "auto" });
      const fill = element("span", { className: "fill" });
      const share = element("span", { className: "share" });
      const node = element("div", { className: "bar" }, level, element("span", { className: "track" }, fill), share);
      return { node, level, fill, share };
    });
    const more = field.levels.length > count ? [element("div", { className: "more", textContent: "…", title: `${field.levels.length - count} more` })] : [];
    const cell = element("td", { colSpan: span }, ...this.bars.map((bar) => bar.node), ...more);
    this.node = element("tr", { className: "bars" }, cell);
  }

  show(x) {
    const leading = this.field.leading(x);
    this.bars.forEach(({ level, fill, share }, k) => {
      const [number, value] = leading[k];
      level.textContent = level.title = shownText(this.field.levels[number]);
      fill.style.width = `${100 * value}%`;
      share.textContent = shareText(value);
    });
  }
}

const SHAPES = { image: ImageShape, curve: CurveShape, table: TableShape };
