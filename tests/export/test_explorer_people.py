"""The page for everyone: names for screen readers, keyboard, phones and large zoom."""

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from browser import Opened, chromium
from sklearn.datasets import load_digits

from twofold import DRUR, TableMap
from twofold.export import explorer


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of images, one of curves and one of a table with long lists."""
    folder = tmp_path_factory.mktemp("people")
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    model = DRUR(2, n_centers=20, alpha=1e-3, init="pca", random_state=0)
    frame = pd.DataFrame(
        {f"number {k}": X[:, k + 2] for k in range(30)}
        | {"word": [f"word {label}" for label in y], "maybe": np.where(y > 7, None, "yes")}
    )
    table = TableMap(DRUR(3, n_centers=20, alpha=1e-3, init="pca", random_state=0)).fit(frame)
    return {
        "image": explorer.write(model.fit(X), X, y, path=folder / "image.html", kind="image"),
        "curve": explorer.write(model, X, X[:, 20], path=folder / "curve.html", kind="curve"),
        "table": explorer.write(table, frame, path=folder / "table.html"),
    }


def used(opened):
    """Open all that a page has: matches, filters, a selection, a pin, a path and the keys."""
    opened.pin(3)
    opened.page.fill("#search", "row 1")
    opened.page.click("#filter-open")
    opened.page.locator("#charts [role=slider]").first.press("ArrowRight")
    opened.state()
    opened.page.click("#filter-select")
    opened.page.click("#help-button")
    opened.use("path")
    x, y = opened.middle()
    opened.drag((x, y), (x + 40, y))
    opened.page.focus("#marks")
    opened.page.keyboard.press("Space")
    opened.state()


def violations(opened):
    """Return the serious violations that axe finds."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    opened.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = opened.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        (one["id"], one["impact"], [node["html"][:120] for node in one["nodes"][:4]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("kind", "scheme"), [("image", "light"), ("table", "dark")])
def test_axe_finds_no_serious_violation(browser, pages, kind, scheme):
    opened = Opened(browser, pages[kind], color_scheme=scheme)
    used(opened)
    assert violations(opened) == []
    opened.close()


def test_axe_on_a_phone(browser, pages):
    phone = {"width": 390, "height": 844}
    opened = Opened(browser, pages["curve"], viewport=phone, has_touch=True)
    opened.page.fill("#search", "row 1")
    opened.page.click("#found-select")
    assert violations(opened) == []
    opened.close()


def test_the_tab_key_reaches_all_in_the_order_of_the_page(browser, pages):
    opened = Opened(browser, pages["image"])
    opened.page.click("#filter-open")
    opened.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    opened.page.focus("#search")
    seen = []
    for _ in range(120):
        seen.append(
            opened.page.evaluate(
                "(() => { const one = document.activeElement; return one.id || one.dataset.tool"
                " || one.getAttribute('aria-label') || one.className; })()"
            )
        )
        opened.page.keyboard.press("Tab")
        if seen[-1] == "filter-add":
            break
    in_order = ["search", "walk", "pan", "path", "box", "lasso", "filter-open", "zoom-in", "color"]
    in_order += ["link", "theme", "help-button", "marks", "Smallest log density", "filter-add"]
    places = [seen.index(name) for name in in_order]
    assert places == sorted(places)
    opened.close()


def test_a_chart_of_a_pixel_is_added_by_keyboard(browser, pages):
    opened = Opened(browser, pages["image"])
    keys = opened.page.keyboard
    opened.page.focus("#marks")
    keys.press("f")
    opened.page.focus("#filter-add")
    keys.type("feature 20")
    keys.press("Enter")
    name = "document.activeElement.getAttribute('aria-label')"
    assert opened.page.evaluate(name) == "Smallest feature 20"
    keys.press("PageUp")
    assert len(opened.state()["left"]) < 200
    opened.close()


def test_arrow_keys_walk_through_the_tools(browser, pages):
    opened = Opened(browser, pages["image"])
    opened.page.focus('[data-tool="walk"]')
    here = opened.state()["here"]
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("Space")
    assert opened.state()["tool"] == "pan"
    opened.page.keyboard.press("ArrowLeft")
    opened.page.keyboard.press("Enter")
    assert opened.state()["tool"] == "walk"
    opened.page.keyboard.press("End")
    assert opened.page.evaluate("document.activeElement.id") == "help-button"
    assert opened.state()["here"] == here
    opened.close()


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_the_tools_are_one_row(browser, pages, width):
    size = {"width": width, "height": 844}
    opened = Opened(browser, pages["image"], viewport=size, has_touch=True)
    tools = opened.page.locator(".tools")
    assert tools.bounding_box()["height"] < 60
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "more-tools" in tools.get_attribute("class")
    opened.page.focus("#help-button")  # scrolls there
    opened.state()
    assert opened.page.locator("#help-button").bounding_box()["x"] < width - 20
    opened.page.tap("#filter-open")
    opened.page.locator(".tick input").first.tap()
    assert 0 < len(opened.state()["left"]) < 200
    opened.page.tap("#filter-clear")
    opened.state()
    # A selection by touch comes into view below the map.
    opened.page.fill("#search", "3")
    opened.page.tap("#found-select")
    opened.state()
    assert 0 <= opened.page.locator("#count").bounding_box()["y"] < 800
    opened.close()


def test_four_hundred_percent(browser, pages):
    # A window of 1280 by 1024 pixels at 400 %.
    size = {"width": 320, "height": 256}
    opened = Opened(browser, pages["table"], viewport=size)
    used(opened)
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert opened.page.locator("#map").bounding_box()["height"] >= 150
    opened.close()
