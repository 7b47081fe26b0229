"""Draw the pictures of the README: those of ``twofold demo``, and its page as a browser shows it.

python docs/pictures.py          # needs twofold[all], Playwright and a chromium on the path
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"
DRAWN = ("latent-map.png", "decoded-digits.png")
PATH = ((0.34, 0.62), (0.42, 0.47), (0.52, 0.46), (0.66, 0.5))
"""Corners of a path through several digits, as shares of the map's width and height."""


def screenshot(page, target):
    """Pin a digit, walk along a path, and take the picture."""
    page.evaluate("window.twofold.ready")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = page.locator("#marks").bounding_box()
    x, y = page.evaluate("window.twofold.screenOf(12)")
    page.mouse.click(box["x"] + x, box["y"] + y)
    page.click('[data-tool="path"]')
    corners = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in PATH]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()
    page.click("#play")
    page.locator("#along").fill("420")
    page.screenshot(path=target)


def main():
    """Run the demo, copy its pictures and photograph its page."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "twofold", "demo", "-o", folder], check=True)
        for name in DRAWN:
            shutil.copy(Path(folder, name), IMAGES / name)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1200, "height": 760})
            page.goto(Path(folder, "explorer.html").as_uri())
            screenshot(page, IMAGES / "explorer.png")
            browser.close()


if __name__ == "__main__":
    main()
