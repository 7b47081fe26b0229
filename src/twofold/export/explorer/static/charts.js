// Small charts of columns that filter rows: histograms with a range, words with ticks.

const BINS = 24;
const MOST_WORDS = 12;
const MOST_WORDS_OPEN = 200;

// What both kinds share: a title, a button that clears, and the counts of rows that the other filters leave.
class Chart {
  constructor(key, column, filters, n) {
    Object.assign(this, { key, column, filters, n });
    this.clearing = element("button", { type: "button", className: "clear", textContent: "Clear", hidden: true });
    this.clearing.setAttribute("aria-label", `Clear the filter of ${shownText(column.name)}`);
    this.clearing.addEventListener("click", () => {
      this.clear();
      this.focus();
    });
    const title = element("h3", { textContent: column.name, dir: "auto" });
    this.node = element("div", { className: "chart" }, element("div", { className: "head" }, title, this.clearing));
    this.node.setAttribute("role", "group");
    this.node.setAttribute("aria-label", `Filter by ${shownText(column.name)}`);
  }

  // Rows of each bar: all, and those that the other filters leave.
  count() {
    const keeps = this.filters.othersKeep(this.key);
    this.rest.fill(0);
    for (let row = 0; row < this.n; row++) if (this.bins[row] < this.rest.length && keeps(row)) this.rest[this.bins[row]]++;
  }

  total() {
    this.all.fill(0);
    for (let row = 0; row < this.n; row++) if (this.bins[row] < this.all.length) this.all[this.bins[row]]++;
  }

  show() {
    this.count();
    this.clearing.hidden = !this.isSet;
    this.showBars();
  }
}

// A histogram. Its range is open at an end that stands at the border, where rows beyond it are counted in the last bar.
class RangeChart extends Chart {
  constructor(key, column, filters, n) {
    super(key, column, filters, n);
    this.range = [null, null];
    this.divide();
    this.bars = Array.from(this.rest, () => element("span", { className: "rest" }));
    this.backs = this.bars.map((bar) => element("span", { className: "bin" }, element("span", { className: "all" }), bar));
    this.plot = element("div", { className: "plot" }, ...this.backs);
    this.ends = [0, 1].map((end) => this.slider(end));
    this.plot.append(...this.ends);
    this.inputs = [0, 1].map((end) => this.input(end));
    const label = (text, input) => element("label", { textContent: text }, input);
    this.node.append(this.plot, element("div", { className: "from-to" }, label("from ", this.inputs[0]), label("to ", this.inputs[1])));
    this.total();
    const most = Math.max(1, ...this.all);
    this.backs.forEach((back, k) => (back.firstChild.style.height = `${(100 * this.all[k]) / most}%`));
    this.listen();
  }

  get isSet() {
    return this.range.some((end) => end !== null);
  }

  // Bars of equal width; one for each of few whole numbers.
  divide() {
    const { values, gaps } = this.column;
    let { low, high } = this.column;
    const isWhole = high - low < BINS && values.every((value, row) => (gaps && gaps[row]) || Number.isInteger(value));
    if (isWhole) [low, high] = [low - 0.5, high + 0.5];
    else if (!(low < high)) [low, high] = [low - 0.5 * (Math.abs(low) || 1), low + 0.5 * (Math.abs(low) || 1)];
    const count = isWhole ? Math.round(high - low) : BINS;
    [this.low, this.high, this.width] = [low, high, (high - low) / count];
    // 255: a gap, which is in no bar.
    const binOf = (value) => Math.min(count - 1, Math.max(0, Math.floor((value - low) / this.width)));
    this.bins = Uint8Array.from(values, (value, row) => (gaps && gaps[row] ? 255 : binOf(value)));
    this.all = new Float64Array(count);
    this.rest = new Float64Array(count);
  }

  slider(end) {
    const node = element("span", { className: "end", tabIndex: 0 });
    node.setAttribute("role", "slider");
    node.setAttribute("aria-label", `${end ? "Largest" : "Smallest"} ${shownText(this.column.name)}`);
    node.setAttribute("aria-valuemin", 0);
    node.setAttribute("aria-valuemax", 100);
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5, Home: -1e9, End: 1e9 };
    node.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      event.preventDefault();
      event.stopPropagation();
      const bar = Math.round((this.end(end) - this.low) / this.width) + moves[event.key] * (event.shiftKey ? 5 : 1);
      this.move(end, this.low + bar * this.width);
    });
    return node;
  }

  input(end) {
    const isDate = /\d-\d/.test(numberText(this.column, this.low));
    const node = element("input", { type: "text", inputMode: isDate ? "text" : "decimal", autocomplete: "off" });
    node.setAttribute("aria-label", `${shownText(this.column.name)}, ${end ? "to" : "from"}`);
    node.addEventListener("change", () => {
      const value = node.value.trim() ? this.parsed(node.value) : null;
      const isWrong = node.value.trim() !== "" && value === null;
      node.setAttribute("aria-invalid", String(isWrong));
      if (!isWrong) this.choose(end ? [this.range[0], value] : [value, this.range[1]]);
    });
    return node;
  }

  // A typed number, or the day of a typed date.
  parsed(typed) {
    const isDate = /^\s*\d{4}-\d\d?-\d\d?\s*$/.test(typed) && this.column.text;
    const days = isDate ? Date.parse(typed.trim()) / DAY : NaN;
    return Number.isFinite(days) ? days : parsedNumber(typed.replace(/\s*days?\s*$/, ""));
  }

  // Where an end stands, open or not.
  end(end) {
    return this.range[end] ?? (end ? this.high : this.low);
  }

  // An end at the border is open; ends do not pass each other.
  move(end, value) {
    const other = this.end(1 - end);
    const moved = end ? Math.max(value, other) : Math.min(value, other);
    const slack = 1e-9 * (this.high - this.low);
    const next = this.range.slice();
    next[end] = end ? (moved >= this.high - slack ? null : moved) : (moved <= this.low + slack ? null : moved);
    this.choose(next);
  }

  choose([low, high]) {
    if (low !== null && high !== null && low > high) [low, high] = [high, low];
    this.range = [low, high];
    const { values, gaps } = this.column;
    const keep = (row) => !(gaps && gaps[row]) && (low === null || values[row] >= low) && (high === null || values[row] <= high);
    this.filters.set(this.key, this.isSet ? keep : null);
  }

  clear() {
    this.choose([null, null]);
  }

  focus() {
    this.ends[0].focus();
  }

  // Drag a new range; near an end, drag the end.
  listen() {
    let fixed = null;
    const valueAt = (event) => {
      const box = this.plot.getBoundingClientRect();
      return this.low + (Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (this.high - this.low));
    };
    const drag = (event) => {
      if (fixed === null) return;
      const value = valueAt(event);
      const [low, high] = [Math.min(fixed, value), Math.max(fixed, value)];
      this.choose([low <= this.low ? null : low, high >= this.high ? null : high]);
    };
    this.plot.addEventListener("pointerdown", (event) => {
      this.plot.setPointerCapture(event.pointerId);
      const value = valueAt(event);
      const reach = (8 / this.plot.clientWidth) * (this.high - this.low);
      const near = [0, 1].find((end) => this.range[end] !== null && Math.abs(value - this.range[end]) < reach);
      fixed = near === undefined ? value : this.end(1 - near);
    });
    this.plot.addEventListener("pointermove", drag);
    const end = (event) => {
      // A click is no range.
      if (fixed !== null && Math.abs(valueAt(event) - fixed) < 1e-3 * (this.high - this.low)) this.clear();
      fixed = null;
    };
    this.plot.addEventListener("pointerup", end);
    this.plot.addEventListener("pointercancel", () => (fixed = null));
  }

  showBars() {
    const most = Math.max(1, ...this.all);
    this.bars.forEach((bar, k) => {
      const middle = this.low + (k + 0.5) * this.width;
      bar.style.height = `${(100 * this.rest[k]) / most}%`;
      this.backs[k].classList.toggle("outside", middle < this.end(0) || middle > this.end(1));
    });
    this.ends.forEach((node, end) => {
      const share = Math.min(1, Math.max(0, (this.end(end) - this.low) / (this.high - this.low)));
      node.style.left = `${100 * share}%`;
      node.setAttribute("aria-valuenow", Math.round(100 * share)); // readers speak the text
      node.setAttribute("aria-valuetext", this.range[end] === null ? "open" : numberText(this.column, this.range[end]));
    });
    this.inputs.forEach((input, end) => {
      if (input === document.activeElement && input.getAttribute("aria-invalid") === "true") return;
      input.value = this.range[end] === null ? "" : numberText(this.column, this.range[end]);
      input.placeholder = numberText(this.column, end ? this.high : this.low);
    });
  }
}

// Words with ticks. Without a tick all rows stay; otherwise those whose word is ticked.
class TickChart extends Chart {
  constructor(key, column, filters, n) {
    super(key, column, filters, n);
    this.ticked = new Set();
    const { names } = column;
    this.bins = Uint32Array.from(column.values, (value) => (value > 0 ? value - 1 : names.length));
    this.all = new Float64Array(names.length + 1);
    this.rest = new Float64Array(names.length + 1);
    this.total();
    const codes = Array.from(this.all, (_, code) => code).filter((code) => this.all[code]);
    // Many words: the frequent ones first.
    this.codes = codes.length > MOST_WORDS ? codes.sort((a, b) => this.all[b] - this.all[a] || a - b) : codes;
    this.list = element("div", { className: "ticks" });
    this.node.append(this.list);
    this.lines = new Map();
    this.open(MOST_WORDS);
    if (codes.length > MOST_WORDS) this.addMore();
  }

  get isSet() {
    return this.ticked.size > 0;
  }

  open(most) {
    for (const code of this.codes.slice(0, most)) this.line(code);
  }

  addMore() {
    const hidden = this.codes.length - MOST_WORDS;
    const more = element("button", { type: "button", className: "clear", textContent: `${countText(hidden)} more` });
    more.addEventListener("click", () => {
      this.open(MOST_WORDS_OPEN);
      const rest = this.codes.length - MOST_WORDS_OPEN;
      if (rest > 0) this.node.append(element("p", { className: "note", textContent: `and ${countText(rest)} more: search for them` }));
      more.remove();
      this.show();
    });
    this.node.append(more);
  }

  line(code) {
    if (this.lines.has(code)) return;
    const tick = element("input", { type: "checkbox" });
    const [back, bar, count] = ["all", "rest", "count"].map((className) => element("span", { className }));
    const name = code < this.column.names.length ? this.column.names[code] : MISSING;
    const word = element("span", { className: "word", textContent: name, dir: "auto", title: shownText(name) });
    const node = element("label", { className: "tick" }, tick, word, element("span", { className: "track" }, back, bar), count);
    tick.addEventListener("change", () => {
      if (tick.checked) this.ticked.add(code);
      else this.ticked.delete(code);
      this.choose();
    });
    this.list.append(node);
    this.lines.set(code, { tick, back, bar, count });
  }

  tick(codes) {
    this.ticked = new Set(codes.filter((code) => this.all[code]));
    for (const code of this.ticked) this.line(code);
    this.choose();
  }

  choose() {
    const { bins, ticked } = this;
    this.filters.set(this.key, this.isSet ? (row) => ticked.has(bins[row]) : null);
  }

  clear() {
    this.ticked.clear();
    this.choose();
  }

  focus() {
    this.list.querySelector("input")?.focus();
  }

  showBars() {
    const most = this.all.reduce((a, b) => Math.max(a, b), 1);
    for (const [code, { tick, back, bar, count }] of this.lines) {
      tick.checked = this.ticked.has(code);
      back.style.width = `${(100 * this.all[code]) / most}%`;
      bar.style.width = `${(100 * this.rest[code]) / most}%`;
      count.textContent = countText(this.rest[code]);
    }
  }
}
