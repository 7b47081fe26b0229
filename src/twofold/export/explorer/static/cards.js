// Rows as people know them: a card beside the pointer for the nearest row, and the same in the cards of pinned rows.

const LONGEST_ON_HOVER = 240;
const LONGEST_IN_PIN = 600;
const MOST_START_COLUMNS = 6;
const MOST_START_FIELDS = 4;
const MOST_CARD_CHOICES = 400;
const AWAY = 16;
const ABOVE_FINGER = 28;
const LINK = /https?:\/\/[^\s<>"']+/;

// The address in a text, or null.
function addressOf(text) {
  const found = LINK.exec(text);
  if (!found) return null;
  try {
    const { protocol, href } = new URL(found[0]);
    return protocol === "https:" || protocol === "http:" ? href : null;
  } catch {
    return null;
  }
}

class Cards {
  constructor(explorer) {
    this.explorer = explorer;
    this.isOn = true;
    // Once somebody walks over the map: not for places that a link or a notebook sets.
    this.isWanted = false;
    this.images = explorer.content.images;
    const { columns, fields } = explorer;
    const [given] = givenAndOwn(columns);
    this.choices = [
      ...columns.map((column) => ({ name: column.name, text: (row) => rowText(column, row) })),
      ...fields.map((field, l) => ({ name: field.name, text: (row) => field.own(explorer.rows.value(row, l)) })),
    ].slice(0, columns.length + MOST_CARD_CHOICES);
    this.chosen = new Set(given.slice(0, MOST_START_COLUMNS));
    if (!given.length && explorer.content.appearance.kind === "table") fields.slice(0, MOST_START_FIELDS).forEach((_, l) => this.chosen.add(columns.length + l));
    this.build();
  }

  build() {
    this.node = element("div", { id: "hover-card", className: "hover-card", hidden: true });
    // What it says of the row is said in #place, too, and there to screen readers.
    this.node.setAttribute("aria-hidden", "true");
    byId("map").append(this.node);
    // A finger leaves when it is lifted; what it pointed at stays.
    this.explorer.marks.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.hide());
    for (const kind of ["pointerdown", "pointermove"]) {
      this.explorer.marks.addEventListener(kind, (event) => {
        this.pointer = event.pointerType;
        this.isWanted = true;
      });
    }
    document.addEventListener("keydown", ({ key }) => (this.isWanted ||= key.startsWith("Arrow")));
    this.switch = element("input", { type: "checkbox", checked: true });
    this.switch.addEventListener("change", () => this.turn(this.switch.checked));
    const boxes = this.choices.map(({ name }, k) => {
      const box = element("input", { type: "checkbox", checked: this.chosen.has(k) });
      box.addEventListener("change", () => {
        if (box.checked) this.chosen.add(k);
        else this.chosen.delete(k);
        this.row = -1;
        this.explorer.pins.show();
      });
      return element("label", { className: "check" }, box, " ", element("span", { dir: "auto", textContent: name }));
    });
    const list = element("div", { className: "choices", role: "group" }, ...boxes);
    list.setAttribute("aria-label", "Columns in cards");
    const top = element("label", { className: "check" }, this.switch, " Show a card beside the pointer (I)");
    this.options = element("details", { id: "card-options" }, element("summary", { textContent: "Cards of rows" }), top, list);
  }

  turn(isOn) {
    this.isOn = this.switch.checked = isOn;
    if (!isOn) this.hide();
  }

  hide() {
    this.node.hidden = true;
  }

  // Hide the card when the map has moved under it.
  follow({ u, v, scale, across }) {
    if (!this.node.hidden && [u, v, scale, across].some((value, k) => value !== this.view[k])) this.hide();
  }

  // At a place of the screen, for the row nearest to it.
  show(row, x, y) {
    if (!this.isOn || row < 0 || this.explorer.path.isPlaying || !this.isWanted) return this.hide();
    if (this.row !== row) {
      this.node.textContent = "";
      this.node.append(...this.parts(row, LONGEST_ON_HOVER));
      this.row = row;
    }
    this.node.hidden = false;
    const { width, height, u, v, scale, across } = this.explorer.camera;
    this.view = [u, v, scale, across];
    const [w, h] = [this.node.offsetWidth, this.node.offsetHeight];
    const isFinger = this.pointer === "touch";
    const left = isFinger ? x - w / 2 : x + AWAY + w > width ? x - AWAY - w : x + AWAY;
    const top = isFinger ? y - ABOVE_FINGER - h : y + AWAY + h > height ? y - AWAY - h : y + AWAY;
    this.node.style.left = `${Math.max(2, Math.min(width - w - 2, left))}px`;
    this.node.style.top = `${Math.max(2, Math.min(height - h - 2, top))}px`;
    return null;
  }

  parts(row, longest) {
    const { content, fields, rows, rowName } = this.explorer;
    const parts = [element("strong", { dir: "auto", textContent: rowName(row) }), ...this.picture(row)];
    if (parts.length === 1 && content.appearance.kind === "image") {
      const shape = new ImageShape(content.appearance, fields, `Image of ${shownText(rowName(row))}`);
      shape.show(rows.row(row));
      parts.push(element("div", { className: "shape" }, shape.node));
    }
    return [...parts, ...this.cells(row, longest)];
  }

  // The image that was given for a row.
  picture(row) {
    const number = this.images?.of[row] ?? null;
    if (number === null) return [];
    return [element("img", { className: "picture", src: this.images.uris[number], alt: `Image of ${shownText(this.explorer.rowName(row))}` })];
  }

  // The chosen columns: wrapped texts; in a pinned card addresses can be opened.
  cells(row, longest) {
    const list = element("dl", { className: "cells" });
    for (const k of [...this.chosen].sort((a, b) => a - b)) {
      const { name, text } = this.choices[k];
      const whole = text(row);
      const value = element("dd", { dir: "auto" });
      value.append(whole.length > longest ? `${whole.slice(0, longest - 1)}…` : whole);
      const address = longest === LONGEST_IN_PIN ? addressOf(whole) : null;
      if (address) {
        const open = element("a", { href: address, target: "_blank", rel: "noopener noreferrer", className: "button", textContent: "Open" });
        open.setAttribute("aria-label", `Open the address in ${shownText(name)} in a new tab`);
        value.append(" ", open);
      }
      list.append(element("dt", { dir: "auto", textContent: name }), value);
    }
    return list.childElementCount ? [list] : [];
  }

  ofPin(row) {
    return [...this.picture(row), ...this.cells(row, LONGEST_IN_PIN)];
  }
}
