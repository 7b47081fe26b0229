// The legend: a ramp for numbers; for classes a button each, which hides its rows, and shows where they are while it is pointed at or has the focus.

const MOST_LISTED = 60;

function fillLegend(explorer) {
  const legend = byId("legend");
  const { column, theme } = explorer;
  legend.textContent = "";
  if (column.kind === "number") fillRamp(legend, column);
  else fillClasses(explorer, legend, column);
  if (!column.hasGaps) return;
  const dot = element("span", { className: "dot" });
  dot.style.background = cssColor(GAP[theme]);
  legend.append(element("div", { className: "gaps" }, dot, MISSING));
}

function fillRamp(legend, column) {
  const ramp = element("canvas", { className: "ramp", width: 100, height: 1 });
  const context = ramp.getContext("2d");
  for (let i = 0; i < 100; i++) {
    context.fillStyle = cssColor(rampColor(i / 99));
    context.fillRect(i, 0, 1, 1);
  }
  const ends = [column.low, column.high].map((value) => element("span", { textContent: numberText(column, value) }));
  legend.append(element("div", { textContent: column.name, dir: "auto" }), ramp, element("div", { className: "ends" }, ...ends));
}

function fillClasses(explorer, legend, column) {
  const rule = colorRule(column);
  if (rule) legend.append(element("p", { className: "rule", textContent: rule }));
  for (const code of column.byRank.slice(0, MOST_LISTED)) {
    const dot = element("span", { className: "dot" });
    dot.style.background = cssColor(colorOfClass(column, code, explorer.theme));
    const name = element("span", { textContent: column.names[code], dir: "auto" });
    const entry = element("button", { type: "button", title: "Show or hide" }, dot, name);
    const showState = () => {
      entry.classList.toggle("off", !column.shown.has(code));
      entry.setAttribute("aria-pressed", String(column.shown.has(code)));
    };
    showState();
    entry.addEventListener("click", () => {
      if (!column.shown.delete(code)) column.shown.add(code);
      showState();
      explorer.repaint(column.shown.has(code) ? code : -1);
    });
    // A finger has no hover: its second tap on a name shows the rows again, in the spotlight.
    entry.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && explorer.repaint(code));
    entry.addEventListener("pointerleave", () => explorer.repaint());
    entry.addEventListener("focus", () => entry.matches(":focus-visible") && explorer.repaint(code));
    entry.addEventListener("blur", () => explorer.repaint());
    legend.append(entry);
  }
  const more = column.names.length - MOST_LISTED;
  if (more > 0) legend.append(element("div", { textContent: `and ${countText(more)} more` }));
}

// What the colors of many classes mean, or an empty text.
function colorRule(column) {
  if (column.names.length <= MOST_HUES) return "";
  return `In color: the ${MOST_HUES} largest of ${countText(column.names.length)}. Point at a name to find its rows.`;
}
