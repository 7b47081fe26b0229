"""The widget's front end in a browser, with a model of JavaScript in place of a notebook."""

from twofold.export.explorer._page import _static

HARNESS = """
async ({ source, traits }) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const module = await import(url);
  const handlers = {};
  const fire = (name) => (handlers[`change:${name}`] ?? []).forEach((handler) => handler());
  window.saved = [];
  window.model = {
    traits,
    pending: {},
    get: (name) => model.traits[name],
    set: (name, value) => {
      model.traits[name] = model.pending[name] = value;
      fire(name);
    },
    on: (event, handler) => (handlers[event] ??= []).push(handler),
    off: (event, handler) => (handlers[event] = handlers[event].filter((one) => one !== handler)),
    count: () => Object.values(handlers).reduce((sum, some) => sum + some.length, 0),
    save_changes: () => {
      window.saved.push({ at: Date.now(), ...model.pending });
      model.pending = {};
    },
  };
  // As a message of the kernel does.
  window.fromPython = (name, value) => {
    model.traits[name] = value;
    fire(name);
  };
  window.views = [];
  window.show = (el) => window.views.push(module.default.render({ model, el }));
}
"""


class FakeNotebook:
    """A page with the widget's module, a model, and any number of views of it."""

    def __init__(self, browser, made, style="", **options):
        self.page = browser.new_page(**{"viewport": {"width": 1100, "height": 720}} | options)
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.set_content(f'<body style="margin: 0; {style}"></body>')
        traits = traits_of(made)
        self.page.evaluate(HARNESS, {"source": _static("widget.js"), "traits": traits})

    def view(self):
        """Show the widget, and return its frame once the explorer is there."""
        self.page.evaluate("() => show(document.body.appendChild(document.createElement('div')))")
        handle = self.page.locator("iframe").last.element_handle()
        frame = handle.content_frame()
        frame.wait_for_selector("#marks")
        frame.evaluate("window.twofold.ready")
        self.until("() => saved.some((one) => 'latent' in one) || model.traits.latent")
        return frame

    def until(self, condition):
        """Wait for a condition on this page; it is asked here, where no policy holds."""
        self.page.wait_for_function(condition, timeout=5_000)

    def trait(self, name):
        return self.page.evaluate("(name) => model.traits[name]", name)

    def from_python(self, name, value):
        self.page.evaluate("([name, value]) => fromPython(name, value)", [name, value])

    def close(self):
        self.page.close()
        assert self.said == []
        assert [url for url in self.asked if not url.startswith(("blob:", "about:", "data:"))] == []


def traits_of(made):
    """Return what the widget of a page starts with in the browser."""
    return {
        "_page": made.text,
        "_title": made.title,
        "_rows": [],
        "height": 640,
        "latent": None,
        "color": made.color,
        "tool": "walk",
    }
