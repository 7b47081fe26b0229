// Panels beside the map that open and close, lists and toolbars that arrow keys walk through.

class Panel {
  constructor(section, isOpen = true) {
    this.section = section;
    const head = section.querySelector("h2");
    // The name stays where scripts look for it: inside the button.
    const name = element("span", { className: "name" }, ...head.childNodes);
    if (head.id) name.id = head.id;
    head.removeAttribute("id");
    this.button = element("button", { type: "button", className: "fold" }, name);
    head.append(this.button);
    this.button.addEventListener("click", () => this.open(!this.isOpen));
    this.set(isOpen);
  }

  get isOpen() {
    return this.button.getAttribute("aria-expanded") === "true";
  }

  set(isOpen) {
    this.button.setAttribute("aria-expanded", String(isOpen));
    this.section.classList.toggle("folded", !isOpen);
  }

  open(isOpen = true) {
    this.set(isOpen);
    if (isOpen) this.onOpen?.();
  }

  // Open, and in view as far as it fits.
  reveal() {
    this.open();
    const { parentElement: side } = this.section;
    const isSideScrolled = side.scrollHeight > side.clientHeight + 1;
    if (isSideScrolled) side.scrollTop += this.section.getBoundingClientRect().top - side.getBoundingClientRect().top;
    else this.section.scrollIntoView({ block: "nearest" });
  }
}

// Arrow keys move the focus among the matching elements of a place, Home and End to its ends. In a list only one is a stop of the Tab key.
function withArrows(place, selector, isList = true) {
  const all = () => [...place.querySelectorAll(selector)].filter((one) => one.offsetParent && !one.disabled);
  if (isList) place.querySelectorAll(selector).forEach((one, k) => (one.tabIndex = k ? -1 : 0));
  place.addEventListener("keydown", (event) => {
    const steps = isList ? { ArrowUp: -1, ArrowDown: 1 } : { ArrowLeft: -1, ArrowRight: 1 };
    const some = all();
    const at = some.indexOf(event.target);
    if (at < 0 || !(event.key in steps || ["Home", "End"].includes(event.key))) return;
    const next = event.key === "Home" ? 0 : event.key === "End" ? some.length - 1 : (at + steps[event.key] + some.length) % some.length;
    if (isList) [some[at].tabIndex, some[next].tabIndex] = [-1, 0];
    some[next].focus();
    event.preventDefault();
    event.stopPropagation();
  });
}
