// What the map can be colored by: columns, and features; of many features one is found by its name.

const MOST_FEATURES_TO_COLOR = 400;
const MOST_OFFERED = 50;

function fillColors(explorer) {
  const { columns, fields, rows, content } = explorer;
  const select = byId("color");
  columns.forEach((column, k) => select.append(element("option", { value: k, textContent: column.name })));
  select.addEventListener("change", () => explorer.colorBy(select.value));
  const group = element("optgroup", { label: "features" });
  select.append(group);
  if (!rows.isThere) {
    group.append(element("option", { disabled: true, textContent: "left out: too many rows" }));
  } else if (fields.length <= MOST_FEATURES_TO_COLOR) {
    fields.forEach(({ name }, l) => group.append(element("option", { value: `feature ${l}`, textContent: name })));
  } else {
    group.label = `features: ${countText(fields.length)}, find one by its name`;
    const found = element("option", { hidden: true });
    group.append(found);
    select.parentElement.after(featureSearch(explorer, select, found));
  }
  select.value = content.start;
}

// A text field with suggestions, which sets the option `found` and the color.
function featureSearch(explorer, select, found) {
  const names = explorer.fields.map(({ name }) => name);
  const lower = names.map((name) => name.toLowerCase());
  const list = element("datalist", { id: "feature-names" });
  const field = element("input", { type: "search", id: "feature", placeholder: "feature by name", autocomplete: "off" });
  field.setAttribute("list", "feature-names");
  field.setAttribute("aria-label", `Color by one of ${names.length} features, by its name`);
  const matches = (text) => {
    const starts = [];
    const contains = [];
    for (let l = 0; l < names.length && starts.length < MOST_OFFERED; l++) {
      if (lower[l].startsWith(text)) starts.push(l);
      else if (contains.length < MOST_OFFERED && lower[l].includes(text)) contains.push(l);
    }
    return [...starts, ...contains].slice(0, MOST_OFFERED);
  };
  field.addEventListener("input", () => {
    list.textContent = "";
    for (const l of matches(field.value.toLowerCase())) list.append(element("option", { value: names[l] }));
  });
  // The whole name if there is one, else the first that fits.
  field.addEventListener("change", () => {
    const text = field.value.toLowerCase();
    if (!text) return;
    const exact = names.indexOf(field.value);
    const l = exact >= 0 ? exact : matches(text)[0];
    field.setCustomValidity(l === undefined ? "No feature has this name." : "");
    field.reportValidity();
    if (l === undefined) return;
    explorer.offerFeature(l);
    explorer.colorBy(found.value);
  });
  // Make a feature the one that the list of colors has.
  explorer.offerFeature = (l) => {
    field.value = found.textContent = names[l];
    found.value = `feature ${l}`;
    found.hidden = false;
    select.value = found.value;
  };
  return element("span", {}, field, list);
}
