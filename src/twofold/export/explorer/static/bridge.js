// The page inside a notebook's widget: selected rows, latent, color and tool go both ways. Only pages made for the widget
// contain this file, see widget.js for the other side. The page listens to one message of its parent, which hands over a
// channel; after that it hears nothing but this channel.

class Bridge {
  constructor(explorer) {
    this.explorer = explorer;
    this.port = null;
    this.told = {};
  }

  start() {
    if (window.parent === window) return;
    const connect = (event) => {
      if (event.source !== window.parent || event.data?.twofold !== "connect" || !event.ports.length) return;
      window.removeEventListener("message", connect);
      this.port = event.ports[0];
      this.port.onmessage = ({ data }) => this.take(data);
      this.take(event.data);
    };
    window.addEventListener("message", connect);
    window.parent.postMessage({ twofold: "ready" }, "*");
  }

  get state() {
    const { selection, here, column, tool } = this.explorer;
    return { rows: selection.rows, latent: here, color: column.name, tool };
  }

  // Once a frame: tell what has changed.
  look() {
    if (!this.port) return;
    const { state } = this;
    const news = Object.fromEntries(Object.entries(state).filter(([name, value]) => value !== this.told[name]));
    this.told = state;
    if (!Object.keys(news).length) return;
    if (news.rows) news.rows = Array.from(news.rows);
    if (news.latent) news.latent = Array.from(news.latent);
    this.port.postMessage(news);
  }

  // Show what the notebook asks for. What the page cannot show is corrected by its answer.
  take({ rows, latent, color, tool, theme }) {
    const { explorer } = this;
    if (theme === "light" || theme === "dark") explorer.setTheme(theme);
    if (Array.isArray(rows)) explorer.select(rows.filter((row) => Number.isInteger(row) && row >= 0 && row < explorer.points.n));
    if (Array.isArray(latent) && latent.length === explorer.q && latent.every(Number.isFinite)) {
      explorer.path.pause();
      explorer.showPlaying();
      explorer.camera.focus = Float64Array.from(latent);
      explorer.showAt(latent);
    }
    if (typeof color === "string" && color !== explorer.column.name) this.colorBy(color);
    if (typeof tool === "string") {
      const button = [...document.querySelectorAll("[data-tool]")].find((one) => one.dataset.tool === tool);
      if (button && !button.hidden) explorer.setTool(tool);
    }
    // Repeat what was asked for, as the page has it now.
    for (const [name, value] of Object.entries({ rows, latent, color, tool })) if (value !== undefined) delete this.told[name];
    explorer.drawMarks();
  }

  colorBy(name) {
    const { explorer } = this;
    const column = explorer.columns.findIndex((one) => one.name === name);
    const field = explorer.fields.findIndex((one) => one.name === name);
    const choice = column >= 0 ? String(column) : field >= 0 ? `feature ${field}` : null;
    if (choice === null) return;
    explorer.choose(choice);
  }
}

const hostOf = (explorer) => new Bridge(explorer);
