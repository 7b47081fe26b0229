"""Pages of tables in a browser: words, probabilities, dates and gaps."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from browser import Opened, chromium
from mixed_tables import NASTY, mixed_frame, with_gaps

from twofold import DRUR, UKR, TableMap
from twofold.export import explorer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def penguins():
    """A frame with plain names, its gaps, and a model of the frame."""
    frame = mixed_frame(levels=("Adelie", "Chinstrap", "Gentoo")).rename(
        columns={"Adelie": "species"}
    )
    model = TableMap(UKR(init="pca", homotopy=False, max_iter=30, random_state=0)).fit(frame)
    return model, frame, with_gaps(frame)


@pytest.fixture(scope="module")
def written(penguins, tmp_path_factory):
    model, _, gapped = penguins
    return explorer.write(model, gapped, path=tmp_path_factory.mktemp("table") / "page.html")


@pytest.fixture
def page(browser, written):
    opened = Opened(browser, written)
    yield opened
    opened.close()


def cells_of(page, place, column):
    """Return the texts of a table's column by the names of its rows."""
    rows = page.page.locator(f"{place} table.fields tbody tr:not(.bars)").all()
    return {
        row.locator("th").inner_text(): row.locator("td").nth(column).inner_text() for row in rows
    }


def shown(value):
    """Return the text that the page has for a cell of the frame."""
    if pd.isna(value):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if hasattr(value, "date"):
        return value.date().isoformat()
    return str(value)


@pytest.mark.parametrize("kind", [UKR, DRUR])
def test_the_browser_decodes_as_python_does(browser, tmp_path, kind):
    frame = mixed_frame()
    options = (
        {"homotopy": False, "max_iter": 20} if kind is UKR else {"n_centers": 15, "alpha": 1e-3}
    )
    model = TableMap(kind(init="pca", random_state=0, **options)).fit(frame)
    Z = model.embedding_
    rng = np.random.default_rng(0)
    around = Z.mean(axis=0) + np.ptp(Z, axis=0) * rng.uniform(-1, 1, size=(20, 2))
    latents = np.vstack([Z[:20], around])
    opened = Opened(browser, explorer.write(model, frame, path=tmp_path / "p.html"))
    found = np.array(opened.decode(latents))
    opened.close()
    layout = model.layout_
    want = layout.numbers(model.model_.inverse_transform(latents))
    unit = np.ptp(layout.numbers(layout.into(frame)), axis=0)
    unit = np.maximum(unit, np.abs(want) * layout.log)
    assert (np.abs(found - want) <= 1e-5 * unit).all()


def test_decoded_values_are_words_numbers_and_dates(page, penguins):
    model = penguins[0]
    page.page.mouse.move(*page.place_of(50))
    here = np.array([page.state()["here"]])
    decoded, chances = model.inverse_transform(here), model.inverse_transform_proba(here)
    cells = cells_of(page, "#decoded", 0)
    assert list(cells) == list(decoded.columns)
    for name, levels in chances.items():
        if name == "always":
            continue
        word, percent = cells[name].rsplit(" ", 2)[0], cells[name].rsplit(" ", 2)[1]
        assert word == shown(decoded[name].iloc[0])
        assert abs(float(percent.strip("<>")) - 100.0 * levels.iloc[0].max()) <= 1.0
    assert cells["day"] == shown(decoded["day"].iloc[0])
    assert cells["count"] == str(decoded["count"].iloc[0])
    assert float(cells["length mm"]) == pytest.approx(decoded["length mm"].iloc[0], rel=1e-3)
    assert cells["always"] == "yes"


def test_bars_show_the_leading_levels(page, penguins):
    page.page.mouse.move(*page.place_of(50))
    here = np.array([page.state()["here"]])
    chances = penguins[0].inverse_transform_proba(here)
    nests = page.page.locator("#decoded tr.bars", has_text="nest")
    assert nests.locator(".bar").count() == 5
    assert "…" in nests.inner_text()
    leading = chances["nest"].iloc[0].sort_values(ascending=False, kind="stable").index[0]
    assert nests.locator(".level").first.inner_text() == leading
    species = page.page.locator("#decoded tr.bars", has_text="Adelie")
    assert species.locator(".level").all_inner_texts() == ["Adelie", "Chinstrap", "Gentoo"]
    track = species.locator(".track").first.bounding_box()["width"]
    widths = [fill.bounding_box() for fill in species.locator(".fill").all()]
    shares = [0.0 if box is None else box["width"] / track for box in widths]
    np.testing.assert_allclose(shares, chances["species"].iloc[0], atol=0.02)


def test_hover_and_click_show_the_own_values_of_a_row(page, penguins):
    gapped = penguins[2]
    row = int(np.flatnonzero(gapped["species"].isna() & gapped["count"].notna())[0])
    page.pin(row)
    near = page.state()["pins"][0]["row"]
    own = {str(name): shown(value) for name, value in gapped.iloc[near].items()}
    for cells in (cells_of(page, ".card", 0), cells_of(page, "#decoded", 1)):
        for name in ("species", "nest", "grade", "ringed", "day", "count"):
            assert cells[name] == own[name]
    assert page.state()["pins"][0]["error"] >= 0.0


def test_words_and_dates_color(page, penguins):
    gapped = penguins[2]
    page.page.select_option("#color", label="species")
    legend = page.page.locator("#legend button").all_inner_texts()
    assert legend == ["Adelie", "Chinstrap", "Gentoo"]
    assert page.page.inner_text("#legend .gaps") == "missing"
    page.page.select_option("#color", label="day")
    ends = page.page.locator("#legend .ends span").all_inner_texts()
    days = gapped["day"].dropna().dt.strftime("%Y-%m-%d").to_list()
    assert set(ends) <= set(days)
    assert page.page.inner_text("#legend .gaps") == "missing"
    page.page.select_option("#color", label="length mm")
    assert page.page.locator("#legend .gaps").count() == 0
    page.page.select_option("#color", label="always")
    assert page.page.locator("#legend button").all_inner_texts() == ["yes"]


def test_csv_has_words_and_empty_cells(page, penguins):
    gapped = penguins[2]
    page.use("box")
    box = page.page.locator("#marks").bounding_box()
    page.drag(
        (box["x"] + 2, box["y"] + 2), (box["x"] + box["width"] - 2, box["y"] + box["height"] - 2)
    )
    table = list(csv.DictReader(io.StringIO(page.page.evaluate("window.twofold.csv()"))))
    assert len(table) == len(gapped)
    for name in ("species", "nest", "ringed", "day"):
        want = [shown(value).replace("missing", "") for value in gapped[name]]
        assert [line[name] for line in table] == want
    counts = [np.nan if line["count"] == "" else float(line["count"]) for line in table]
    np.testing.assert_allclose(counts, gapped["count"].astype("float64"))


def test_a_path_morphs_probabilities(page):
    page.use("path")
    page.drag(page.place_of(2), page.place_of(117))
    page.page.focus("#marks")
    page.page.keyboard.press("Space")
    words = []
    for share in (0, 1000):
        page.page.locator("#along").fill(str(share))
        page.state()
        words.append(cells_of(page, "#decoded", 0)["species"])
    assert words[0].startswith("Adelie")
    assert words[1].startswith("Gentoo")


def test_nasty_words(browser, tmp_path):
    frame = mixed_frame()
    model = TableMap(DRUR(n_centers=15, alpha=1e-3, init="pca", random_state=0)).fit(frame)
    opened = Opened(browser, explorer.write(model, frame, path=tmp_path / "p.html"))
    opened.pin(7)
    assert NASTY[0] in cells_of(opened, ".card", 0)
    assert set(opened.page.locator("#legend button").all_inner_texts()) <= set(NASTY)
    assert opened.page.evaluate("window.hurt === undefined")
    opened.close()


def test_gaps_of_plain_rows(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = DRUR(n_centers=10, alpha=1e-3, init="pca", random_state=0).fit(X)
    X[5, 1] = np.nan
    for kind, shape in (("table", None), ("curve", None), ("image", (1, 3))):
        path = explorer.write(model, X, path=tmp_path / "p.html", kind=kind, image_shape=shape)
        opened = Opened(browser, path)
        opened.pin(5)
        assert opened.state()["pins"][0]["error"] > 0.0
        if kind == "table":
            assert cells_of(opened, ".card", 0)["feature 1"] == "missing"
        opened.page.select_option("#color", label="feature 1")
        opened.close()


@pytest.mark.parametrize("width", [360, 400])
def test_a_phone(browser, written, width):
    opened = Opened(browser, written, viewport={"width": width, "height": 740}, has_touch=True)
    opened.page.touchscreen.tap(*opened.place_of(3))
    assert opened.state()["pins"]
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tables = "Array.from(document.querySelectorAll('.scroll'))"
    assert opened.page.evaluate(f"{tables}.every((one) => one.scrollWidth <= one.clientWidth)")
    opened.close()
