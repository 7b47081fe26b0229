"""Pages of many rows in a browser: bytes, seconds to the first picture, and frames a second.

    python -m benchmarks.explorer_speed [--rows 100000 1000000] [--publish]

Needs Playwright and a Chromium on the path. It runs without a window and without graphics hardware:
the processor draws. A row has 6 features and one of 10 classes; the map is linear, since where
latents come from does not matter here. A drag of 80 steps moves the map, one step for each frame,
for the whole map and zoomed in; the same drag then walks, which decodes and looks for the nearest
row at each step. ``--publish`` keeps the record beside this file, and writes the table of
docs/guide/explorer.md from it.
"""

import argparse
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.decomposition import PCA

from benchmarks.harness import ROOT
from benchmarks.harness.records import described, write_json
from benchmarks.harness.sections import write_section
from twofold import TwoWay
from twofold.export import explorer

KEPT = ROOT / "benchmarks" / "explorer_speed.json"
PAGE = ROOT / "docs" / "guide" / "explorer.md"
MARKS = (
    "<!-- explorer speed: written by python -m benchmarks.explorer_speed; do not edit -->",
    "<!-- explorer speed: end -->",
)
ROWS = (100_000, 1_000_000)
ZOOMS = (0, 4, 8)
"""Presses of the button that zooms in by 1.4: 1, 3.8 and 15 times the whole map."""

STEPS = 80

PAINTERS = {
    "canvas": "",
    # Without the name of the renderer, the page takes it for graphics hardware.
    "WebGL2": "WebGL2RenderingContext.prototype.getExtension = () => null",
}
"""What draws the rows, and a script that makes the page choose it."""

FIRST_PICTURE = """window.twofold.ready.then(() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))))"""

DRAG = """(steps) => new Promise((done) => {
    const marks = document.getElementById("marks");
    const box = marks.getBoundingClientRect();
    marks.setPointerCapture = () => {};
    const send = (kind, x, y) => marks.dispatchEvent(new PointerEvent(kind, {
        clientX: box.left + x, clientY: box.top + y, pointerId: 1, button: 0, bubbles: true }));
    const times = [];
    send("pointerdown", 300, 300);
    const step = (now) => {
        times.push(now);
        send("pointermove", 300 + times.length % 50, 300 + times.length % 31);
        if (times.length <= steps) return requestAnimationFrame(step);
        send("pointerup", 400, 400);
        done(times);
    };
    requestAnimationFrame(step);
})"""


def write_page(n_rows, folder):
    """Write a page of ten classes, and return its path."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n_rows)
    X = (2.5 * rng.normal(size=(10, 6)))[y] + rng.normal(size=(n_rows, 6))
    model = TwoWay(PCA(2), up="rbf", down="rbf", n_centers=50, random_state=0).fit(X[:2_000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of values that are left out
        return explorer.write(model, X, y, path=Path(folder, f"{n_rows}.html"))


def frames(page, tool):
    """Return the frames a second of a drag, and the slowest tenth's milliseconds."""
    page.click(f'[data-tool="{tool}"]')
    times = np.diff(page.evaluate(DRAG, STEPS))
    return {"per_second": 1000.0 / times.mean(), "slowest_tenth_ms": np.quantile(times, 0.9)}


def measure(browser, path, script, n_repeats):
    """Return the best of some runs of each measure: others use the processor too."""
    first, dragged = [], {}
    for _ in range(n_repeats):
        page = browser.new_page(viewport={"width": 1100, "height": 720})
        page.add_init_script(script)
        page.goto(path.as_uri())
        first.append(page.evaluate(FIRST_PICTURE) / 1000.0)
        presses = 0
        for zoom in ZOOMS:
            for _ in range(zoom - presses):
                page.click("#zoom-in")
            presses = zoom
            page.wait_for_timeout(400)
            for tool in ("pan", "walk"):
                found = frames(page, tool)
                found["drawn_by"] = page.evaluate("window.twofold.state()")["drawnBy"]
                dragged.setdefault(f"{tool}, zoomed {zoom}", []).append(found)
        page.close()
    return {
        "first_picture_seconds": min(first),
        "drags": {
            name: max(runs, key=lambda run: run["per_second"]) for name, runs in dragged.items()
        },
    }


def run(sizes, n_repeats):
    """Return the measures of pages of some sizes, by what draws them."""
    found = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for n_rows in sizes:
            path = write_page(n_rows, folder)
            size = path.stat().st_size
            for painter, script in PAINTERS.items():
                measured = measure(browser, path, script, n_repeats)
                found.append({"rows": n_rows, "painter": painter, "bytes": size, **measured})
                print(found[-1], flush=True)
        browser.close()
    return found


def table(runs):
    """Return the table of the guide."""
    head = (
        "| rows | drawn by | page | first picture | frames/s moving the map: whole, 3.8x, 15x "
        "| walking |"
    )
    lines = [head, "|---|---|---|---|---|---|"]
    for one in runs:
        drags = one["drags"]
        speeds = {
            tool: ", ".join(
                f"{drags[f'{tool}, zoomed {zoom}']['per_second']:.0f}" for zoom in ZOOMS
            )
            for tool in ("pan", "walk")
        }
        lines.append(
            f"| {one['rows']:,} | {one['painter']} | {one['bytes'] / 1e6:.1f} MB "
            f"| {one['first_picture_seconds']:.1f} s | {speeds['pan']} | {speeds['walk']} |"
        )
    return "\n".join(lines)


def main():
    """Measure, print, and keep the record on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="Write the record to this file.")
    parser.add_argument("--publish", action="store_true", help="Keep the record, write the guide.")
    options = parser.parse_args()
    record = {**described("playwright"), "runs": run(options.rows, options.repeats)}
    print(table(record["runs"]))
    if options.output is not None:
        write_json(options.output, record)
    if options.publish:
        write_json(KEPT, record)
        write_section(PAGE, *MARKS, table(record["runs"]))


if __name__ == "__main__":
    main()
