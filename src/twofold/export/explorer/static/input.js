// What pointer and keys do.

// Pixels that a click may move.
const CLICK = 5;

function listenToPointer(explorer) {
  const { marks, camera } = explorer;
  const pointers = new Map();
  let action = null;
  let start = null;
  let last = null;
  let pinch = null;
  const placeOf = (event) => {
    const box = marks.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const twoFingers = () => {
    const [[a, b], [c, d]] = [...pointers.values()];
    return { x: 0.5 * (a + c), y: 0.5 * (b + d), apart: Math.hypot(a - c, b - d) || 1 };
  };

  marks.addEventListener("pointerdown", (event) => {
    const [x, y] = placeOf(event);
    marks.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [x, y]);
    if (pointers.size === 2) {
      action = "pinch";
      pinch = twoFingers();
      return;
    }
    start = last = [x, y];
    action = event.button !== 0 ? "pan" : event.shiftKey ? "box" : explorer.tool;
    if (action === "path") {
      explorer.clearPath();
      explorer.path.begin(camera.screenToLatent(x, y));
    }
    if (action === "lasso") explorer.finding.lasso.begin(x, y);
    if (action === "walk") explorer.path.pause();
  });

  marks.addEventListener("pointermove", (event) => {
    const [x, y] = placeOf(event);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, [x, y]);
    if (action === "pinch" && pointers.size === 2) {
      const next = twoFingers();
      camera.move(next.x - pinch.x, next.y - pinch.y);
      camera.zoom(next.apart / pinch.apart, next.x, next.y);
      pinch = next;
      explorer.draw();
      return;
    }
    if (action === "pan") {
      camera.move(x - last[0], y - last[1]);
      explorer.draw();
    } else if (action === "turn") {
      camera.turn(x - last[0], y - last[1]);
      explorer.points.project(camera);
      explorer.draw();
    } else if (action === "box") {
      explorer.box = [Math.min(start[0], x), Math.min(start[1], y), Math.max(start[0], x), Math.max(start[1], y)];
      explorer.drawMarks();
    } else if (action === "lasso") {
      explorer.finding.lasso.extend(x, y);
    } else if (action === "path") {
      explorer.path.extend(camera.screenToLatent(x, y));
      explorer.showAt(camera.screenToLatent(x, y));
    } else if (action === "walk" || (action === null && !explorer.path.isPlaying)) {
      explorer.showAt(camera.screenToLatent(x, y));
    }
    last = [x, y];
  });

  const end = (event) => {
    if (!pointers.delete(event.pointerId) || action === null) return;
    if (action === "pinch") {
      if (!pointers.size) action = null;
      return;
    }
    const [x, y] = placeOf(event);
    const moved = Math.hypot(x - start[0], y - start[1]);
    const done = action;
    action = null;
    if (event.type === "pointercancel") {
      explorer.box = null;
      explorer.clearPath();
    } else if (done === "path") explorer.endPath();
    else if (moved < CLICK && event.button === 0 && !(done === "lasso" && explorer.finding.lasso.isDrawn)) explorer.pinNear(x, y);
    else if (done === "box") explorer.select(explorer.points.inBox(...explorer.box));
    else if (done === "lasso") explorer.finding.lasso.end();
    explorer.drawMarks();
  };
  marks.addEventListener("pointerup", end);
  marks.addEventListener("pointercancel", end);
  marks.addEventListener("contextmenu", (event) => event.preventDefault());
  marks.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      camera.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...placeOf(event));
      explorer.draw();
    },
    { passive: false },
  );
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const TOOL_KEYS = { w: "walk", m: "pan", t: "turn", p: "path", b: "box" };

function onKey(explorer, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
  const { camera } = explorer;
  const onMap = event.target === explorer.marks || event.target === document.body;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (explorer.finding.onKey(key, event)) return;
  if (key in ARROWS && onMap) {
    const step = event.shiftKey ? 40 : 8;
    const [x, y] = camera.latentToScreen(explorer.here);
    explorer.path.pause();
    explorer.showPlaying();
    explorer.showAt(camera.screenToLatent(x + step * ARROWS[key][0], y + step * ARROWS[key][1]));
  } else if (key === "Enter" && event.target === explorer.marks) explorer.pinNear(...camera.latentToScreen(explorer.here));
  else if (key === " " && onMap) explorer.togglePlay();
  else if (key in TOOL_KEYS) explorer.setTool(TOOL_KEYS[key]);
  else if (key === "+" || key === "=") camera.zoom(1.4);
  else if (key === "-") camera.zoom(1 / 1.4);
  else if (key === "0") explorer.reset();
  else if (key === "d") explorer.setTheme(explorer.theme === "dark" ? "light" : "dark");
  else if (key === "?") explorer.toggleHelp();
  else if (key === "Escape") {
    explorer.extras.cards?.hide();
    explorer.clearPath();
    explorer.pins.clear();
    explorer.select([]);
    byId("help").hidden = true;
  } else return;
  if (onMap) event.preventDefault();
  explorer.draw();
}
