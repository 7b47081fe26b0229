// The notebook's side of the widget (an anywidget module): the page in a frame, and a channel to it. See bridge.js.
//
// The frame is sandboxed and has no origin of its own, so page and notebook cannot touch each other. All that the page shows
// is in the traits of the model: a frame that is loaded again, as JupyterLab does when it moves a cell, gets them again.

const TRAITS = { rows: "_rows", latent: "latent", color: "color", tool: "tool" };

// Milliseconds between two latents while the pointer moves.
const PACE = 50;

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox");
  frame.title = model.get("_title");
  frame.style.cssText = "display: block; width: 100%; box-sizing: border-box; border: 1px solid #8884; border-radius: 6px;";
  frame.style.height = `${Number(model.get("height"))}px`;
  let port = null;
  let timer = null;
  let waiting = null;
  let theme = null;
  // What the page shows, as text.
  let known = {};

  const changed = (names) => {
    const news = {};
    for (const name of names) {
      const value = model.get(TRAITS[name]);
      if (value === null || value === undefined || value === "") continue;
      if (JSON.stringify(value) === known[name]) continue;
      known[name] = JSON.stringify(value);
      news[name] = value;
    }
    return news;
  };

  const save = (news) => {
    for (const [name, value] of Object.entries(news)) model.set(TRAITS[name], value);
    model.save_changes();
  };

  // Latents come once a frame and are saved at a steady pace, all else at once.
  const take = (told) => {
    const news = Object.entries(told).filter(([name, value]) => name in TRAITS && JSON.stringify(value) !== known[name]);
    for (const [name, value] of news) known[name] = JSON.stringify(value);
    const { latent, ...rest } = Object.fromEntries(news);
    if (latent !== undefined) {
      waiting = latent;
      if (timer === null) flush();
    }
    if (Object.keys(rest).length) save(rest);
  };

  const flush = () => {
    timer = null;
    if (waiting === null) return;
    save({ latent: waiting });
    waiting = null;
    timer = setTimeout(flush, PACE);
  };

  const connect = (event) => {
    if (event.source !== frame.contentWindow || event.data?.twofold !== "ready") return;
    port?.close();
    const channel = new MessageChannel();
    port = channel.port1;
    port.onmessage = ({ data }) => take(data);
    known = {};
    theme = themeAt(el);
    const state = { twofold: "connect", theme, ...changed(Object.keys(TRAITS)) };
    frame.contentWindow.postMessage(state, "*", [channel.port2]);
  };

  const listeners = Object.entries(TRAITS).map(([name, trait]) => {
    const tell = () => {
      const news = changed([name]);
      if (port && Object.keys(news).length) port.postMessage(news);
    };
    model.on(`change:${trait}`, tell);
    return [`change:${trait}`, tell];
  });
  const resize = () => (frame.style.height = `${Number(model.get("height"))}px`);
  model.on("change:height", resize);
  // Notebooks switch their theme by attributes of the document or its body.
  const watcher = new MutationObserver(() => {
    if (!port || themeAt(el) === theme) return;
    theme = themeAt(el);
    port.postMessage({ theme });
  });
  for (const node of [document.documentElement, document.body]) watcher.observe(node, { attributes: true });
  window.addEventListener("message", connect);
  frame.srcdoc = model.get("_page");
  el.append(frame);

  return () => {
    window.removeEventListener("message", connect);
    for (const [event, tell] of listeners) model.off(event, tell);
    model.off("change:height", resize);
    clearTimeout(timer);
    watcher.disconnect();
    port?.close();
  };
}

// The notebook's theme, by the color of its text. A canvas understands all ways to write colors.
function themeAt(el) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(el).color;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "dark" : "light";
}

export default { render };
