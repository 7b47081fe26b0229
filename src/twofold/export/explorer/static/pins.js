// Rows that were clicked: each beside its reconstruction, with the distance between the two.

const MOST_PINS = 6;

class Pins {
  constructor(explorer) {
    this.explorer = explorer;
    this.rows = [];
  }

  toggle(row) {
    if (this.rows.includes(row)) this.rows = this.rows.filter((pinned) => pinned !== row);
    else this.rows = [row, ...this.rows].slice(0, MOST_PINS);
    this.show();
  }

  clear() {
    this.rows = [];
    this.show();
  }

  // The row, what the model makes of its latent, and their distance.
  of(row) {
    const { rows, points, decode, errors, content } = this.explorer;
    const data = rows.isThere ? rows.row(row) : null;
    const rebuilt = decode(points.latent(row));
    // Columns of different units have no distance of their own; with gaps it is over the observed.
    const isPlain = data && !content.fields && !data.includes(null);
    const error = isPlain ? Math.sqrt(data.reduce((sum, value, l) => sum + (value - rebuilt[l]) ** 2, 0)) : errors.values[row];
    return { data, rebuilt, error };
  }

  show() {
    const cards = byId("cards");
    cards.textContent = "";
    byId("pins").hidden = !this.rows.length;
    for (const row of this.rows) cards.append(this.card(row));
  }

  card(row) {
    const { content, fields, rowName, column } = this.explorer;
    const { data, rebuilt, error } = this.of(row);
    const name = element("span", { dir: "auto" }, isolated(rowName(row)), column ? ` · ${isolated(rowText(column, row))}` : "");
    const close = element("button", { type: "button", textContent: "×", title: "Unpin" });
    close.setAttribute("aria-label", `Unpin ${shownText(rowName(row))}`);
    close.addEventListener("click", () => {
      this.toggle(row);
      this.explorer.drawMarks();
    });
    const card = element("div", { className: "card" }, element("p", {}, name, close));
    card.dataset.row = row;
    card.dataset.error = error;
    const { kind } = content.appearance;
    if (kind === "image") {
      const pair = element("div", { className: "pair shape" });
      for (const [caption, x] of data ? [["data", data], ["rebuilt", rebuilt]] : [["rebuilt", rebuilt]]) {
        const shape = new ImageShape(content.appearance, fields, caption);
        shape.show(x);
        pair.append(element("figure", {}, shape.node, element("figcaption", { textContent: caption })));
      }
      card.append(pair);
    } else if (kind === "curve") {
      const shape = new CurveShape(content.appearance, fields, "data, dashed, and rebuilt");
      shape.show(rebuilt, data);
      card.append(element("div", { className: "shape" }, shape.node), element("p", { textContent: data ? "data dashed, rebuilt in color" : "rebuilt" }));
    } else {
      const shape = new TableShape(content.appearance, fields, "", data ? ["data", "rebuilt"] : ["rebuilt"]);
      shape.show(...(data ? [data, rebuilt] : [rebuilt]));
      card.append(element("div", { className: "shape" }, shape.node));
    }
    card.append(element("p", { className: "error", textContent: `distance ${shortNumber(error)}` }), ...this.explorer.extras.ofPin(row));
    return card;
  }
}
