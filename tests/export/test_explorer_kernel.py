"""The widget in JupyterLab, with a kernel and a browser: how fast a selection reaches Python.

Slow, and skipped without jupyterlab, ipykernel and anywidget:
``pytest -m slow tests/export/test_explorer_kernel.py``.
"""

import json
import os
import re
import secrets
import subprocess
import sys
import time

import pytest
from browser import chromium

pytestmark = [
    pytest.mark.slow,
    # The widgets of other packages warn when they are imported.
    pytest.mark.filterwarnings("default"),
]

SLOWEST = 0.2
PATIENCE = 120

CELLS = [
    """
import json, time
from sklearn.datasets import load_iris
from twofold import TwoWay
X, y = load_iris(return_X_y=True, as_frame=True)
model = TwoWay("pca", up="nw", down="nw").fit(X)
widget = model.explore(X, labels=y, title="Irises")
def note(change):
    at = time.time()
    with open("seen.jsonl", "a") as file:
        rows = len(widget.selection()) if change["name"] == "selected" else 0
        seen = {"at": at, "name": change["name"], "new": change["new"], "rows": rows}
        file.write(json.dumps(seen) + "\\n")
widget.observe(note, ["selected", "latent", "tool", "color"])
widget
""",
    'widget.selected = [3, 5, 8]; widget.latent = [0.5, 0.25]; widget.color = "log density"',
]


@pytest.fixture
def lab(tmp_path):
    """Yield the address of a JupyterLab server in a folder with one notebook."""
    for name in ("jupyterlab", "ipykernel", "anywidget"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    cells = [
        {"cell_type": "code", "id": f"cell{number}", "metadata": {}, "outputs": [],
         "execution_count": None, "source": source.strip()}
        for number, source in enumerate(CELLS)
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    token = secrets.token_hex(16)
    home = tmp_path / "home"
    home.mkdir()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--port=0", "--allow-root",
        "--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={token}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = (tmp_path / "log").open("w")
    environment = os.environ | {"HOME": str(home), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    server = subprocess.Popen(command, cwd=tmp_path, stderr=log, stdout=log, env=environment)
    try:
        yield f"{_address(server, tmp_path / 'log')}lab/tree/n.ipynb?token={token}", tmp_path
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE)
        log.close()


def _address(server, log):
    for _ in range(10 * PATIENCE):
        found = re.search(r"http://127\.0\.0\.1:\d+/", log.read_text(encoding="utf-8"))
        if found:
            return found.group()
        assert server.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not start")


def seen(folder, name):
    """Return what Python has seen of a trait."""
    file = folder / "seen.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [one for one in map(json.loads, lines) if one["name"] == name]


def until(condition):
    for _ in range(10 * PATIENCE):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("nothing happened")


def test_a_selection_in_jupyterlab_reaches_python(lab):
    address, folder = lab
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(address)
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        page.get_by_text("| Idle").wait_for()  # cells that run before are lost
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        handle = page.locator(".jp-OutputArea iframe").first.element_handle()
        frame = handle.content_frame()
        frame.wait_for_selector("#marks")
        assert frame.evaluate("window.twofold.ready") is True
        until(lambda: seen(folder, "latent"))  # the page tells where it is
        handle.scroll_into_view_if_needed()
        frame.evaluate(
            "document.addEventListener('pointerup', () => (window.released = Date.now()), true)"
        )
        frame.click('[data-tool="box"]')
        until(lambda: any(one["new"] == "box" for one in seen(folder, "tool")))
        delays = []
        for number in range(5):
            box = frame.locator("#marks").bounding_box()
            before = len(seen(folder, "selected"))
            page.mouse.move(box["x"] + 3, box["y"] + 3)
            page.mouse.down()
            page.mouse.move(
                box["x"] + box["width"] - 3 - number, box["y"] + box["height"] - 3, steps=4
            )
            page.mouse.up()
            told = until(lambda before=before: seen(folder, "selected")[before:])[-1]
            assert told["rows"] == len(told["new"]) == 150
            delays.append(told["at"] - frame.evaluate("window.released") / 1000)
            frame.click("#forget")
            until(lambda: seen(folder, "selected")[-1]["new"] == [])
        print(f"from the browser to Python: {[f'{1000 * one:.0f} ms' for one in sorted(delays)]}")
        page.screenshot(path=folder / "lab.png")
        # From Python to the page.
        page.locator(".jp-CodeCell .cm-content").nth(1).click()
        page.keyboard.press("Shift+Enter")
        frame.wait_for_selector("#count:has-text('3 rows selected')")
        state = frame.evaluate("window.twofold.state()")
        assert state["here"] == [0.5, 0.25]
        assert frame.locator("#color option:checked").inner_text() == "log density"
        page.close()
    assert sorted(delays)[len(delays) // 2] < SLOWEST
