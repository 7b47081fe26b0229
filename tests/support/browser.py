"""Debian's Chromium, driven by Playwright, for tests of pages."""

import os
import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = os.environ.get("TWOFOLD_CHROMIUM") or shutil.which("chromium")


@contextmanager
def chromium():
    """Yield a browser, or skip with the reason."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if not CHROMIUM:
        pytest.skip("no chromium on the path, and TWOFOLD_CHROMIUM is not set")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """An explorer page in the browser, with all it said and asked for."""

    def __init__(self, browser, path, **options):
        options = {"viewport": {"width": 1100, "height": 720}} | options
        self.page = browser.new_page(**options)
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = path.resolve().as_uri()
        self.page.goto(self.url)
        assert self.page.evaluate("window.twofold.ready") is True

    def state(self):
        """Return what the page shows, once it has drawn it."""
        self.page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        return self.page.evaluate("window.twofold.state()")

    def decode(self, latents):
        return self.page.evaluate(
            "(rows) => Promise.all(rows.map((z) => window.twofold.decode(z)))", latents.tolist()
        )

    def place_of(self, row):
        """Return where a row is, in the window's pixels, once the layout is at rest."""
        place = None
        for _ in range(50):
            self.state()  # after the next two frames
            x, y = self.page.evaluate("(row) => window.twofold.screenOf(row)", row)
            box = self.page.locator("#marks").bounding_box()
            before, place = place, (box["x"] + x, box["y"] + y)
            if place == before:
                break
        return place

    def pin(self, row):
        """Click on a row, and wait for its pin."""
        self.page.mouse.click(*self.place_of(row))
        # The page's policy forbids wait_for_function, which evaluates text there.
        assert any(self.state()["pins"] for _ in range(200)), "no pin"

    def middle(self):
        box = self.page.locator("#marks").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def use(self, tool):
        self.page.click(f'[data-tool="{tool}"]')

    def drag(self, *places):
        """Press at the first place, move over the others, release at the last."""
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=4)
        self.page.mouse.up()

    def close(self):
        """Close the page: it must have said nothing and asked for nothing but itself."""
        self.page.close()
        assert self.said == []
        assert [url for url in self.asked if not url.startswith("blob:")] == [self.url]
