"""Draw the pictures of the first pages: those of ``twofold demo``, its page, and the tutorial's.

python docs/pictures.py          # needs twofold[all], Playwright and a chromium on the path
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"
DRAWN = ("latent-map.png", "decoded-digits.png")
PATH = (90, 12)
"""Rows at the ends of the path: a 3 and a 7, with eights between them."""

HALFWAY = range(420, 1000, 10)
"""Thousandths of the path, of which the first that the data support well is shown."""


def screenshot(page, target):
    """Pin a digit, walk along a path, and take the picture."""
    page.evaluate("window.twofold.ready")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = page.locator("#marks").bounding_box()

    def place_of(row):
        x, y = page.evaluate(f"window.twofold.screenOf({row})")
        return box["x"] + x, box["y"] + y

    page.mouse.click(*place_of(PATH[-1]))
    page.click('[data-tool="path"]')
    corners = [place_of(row) for row in PATH]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()
    page.click("#play")
    for share in HALFWAY:
        page.locator("#along").fill(str(share))
        if "well supported" in page.inner_text("#place"):
            break
    page.screenshot(path=target)


def run_tutorial(folder):
    """Run the code of the tutorial in a folder, where it saves its pictures."""
    text = Path(__file__).with_name("tutorial.md").read_text(encoding="utf-8")
    before, namespace = Path.cwd(), {}
    os.chdir(folder)
    try:
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(compile(block, "tutorial.md", "exec"), namespace)  # noqa: S102
    finally:
        os.chdir(before)


def main():
    """Run the demo, copy its pictures and photograph its page; then run the tutorial."""
    with tempfile.TemporaryDirectory() as folder:
        run_tutorial(folder)
        shutil.copy(Path(folder, "wines.png"), IMAGES / "tutorial-map.png")
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
