// Finding rows: search, lasso, filters, links, and the panels beside the map.

class Finding {
  constructor(explorer) {
    this.explorer = explorer;
    this.search = new Search(explorer);
    this.lasso = new Lasso(explorer);
    this.corners = new Corners(explorer, this.lasso);
    this.panel = new FilterPanel(explorer);
    this.link = new Link(explorer, this);
    this.panels = new Map();
  }

  start() {
    for (const section of document.querySelectorAll("aside > section")) {
      if (section.querySelector("h2")) this.panels.set(section.id, new Panel(section, section.id !== "filter"));
    }
    this.search.start();
    this.panel.start(this.panels.get("filter"));
    this.panel.listeners.push(() => this.search.refresh(), () => this.compareSoon());
    this.startTools();
    byId("filter-open").addEventListener("click", () => this.showFilters());
    // Once the map has its size.
    requestAnimationFrame(() => this.link.start());
  }

  // On a phone the tools are one row that scrolls; it fades where there is more.
  startTools() {
    const tools = document.querySelector(".tools");
    withArrows(tools, "button, input", false);
    const fade = () => tools.classList.toggle("more-tools", tools.scrollLeft + tools.clientWidth < tools.scrollWidth - 4);
    tools.addEventListener("scroll", fade);
    new ResizeObserver(fade).observe(tools);
  }

  // Once a range rests: the comparison looks at all cells.
  compareSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.explorer.selection.compare(), 150);
  }

  showFilters() {
    const filter = this.panels.get("filter");
    filter.reveal();
    filter.button.focus();
  }

  // After every choice of rows.
  selected(rows) {
    if (rows.length) this.panels.get("selected")?.reveal();
    else this.lasso.clear();
  }

  draw(context, ink) {
    const style = getComputedStyle(document.documentElement);
    const [paper, accent] = ["--paper", "--accent"].map((name) => style.getPropertyValue(name));
    const { points, selection } = this.explorer;
    markRows(context, points, selection.rows, accent, ...(selection.rows.length > 200 ? [4.5, 1] : [6, 1.5]));
    this.search.draw(context, ink, paper);
    this.lasso.draw(context, ink);
  }

  // What a key does here; true if it did something.
  onKey(key, event) {
    const { explorer, corners } = this;
    const isOnMap = event.target === explorer.marks || event.target === document.body;
    if (key === "/") byId("search").focus();
    else if (key === "f") this.showFilters();
    else if (key === "l") explorer.setTool("lasso");
    else if (key === "c" && isOnMap) corners.set();
    else if (key === "Enter" && isOnMap && corners.isBegun) corners.end();
    else {
      if (key === "Escape") {
        corners.forget();
        this.lasso.clear();
      }
      return false;
    }
    event.preventDefault();
    return true;
  }

  state() {
    const { search, panel } = this;
    return {
      found: search.rows.slice(),
      foundAt: search.at,
      left: panel.filters.filters.size ? panel.left() : null,
      compared: this.explorer.selection.rows.length ? this.explorer.selection.compared.found : [],
      fragment: this.link.fragment(),
    };
  }
}
