"""Rows as people know them: hover cards, images, links, and neighbors of pinned rows."""

import json
import re
import struct
import zlib
from base64 import b64encode

import numpy as np
import pandas as pd
import pytest
from browser import Opened, chromium
from mixed_tables import mixed_frame, with_gaps
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import nan_euclidean_distances

from twofold import TableMap, TwoWay
from twofold.export import explorer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N = 80
STORY = "A long story of a row. " * 20
NASTY = "<img src=x onerror='window.hurt=1'>"


def png(red, green, blue):
    """Return the bytes of an image of one pixel."""

    def chunk(kind, data):
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    pixel = zlib.compress(bytes([0, red, green, blue]))
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, 5)) + 1e6
    model = TwoWay("pca", up="rbf", down="rbf", n_centers=20, random_state=0).fit(X)
    images = [png(row, 0, 0) for row in range(N)]
    images[1] = "data:image/png;base64," + b64encode(images[0]).decode()
    images[2] = None
    columns = {
        "kind": np.array(["one", "two"])[np.arange(N) % 2],
        "story": [f"{row}: {STORY}" for row in range(N)],
        "page": [f"see https://example.org/{row}?a=1&b=<2>" for row in range(N)],
        "script": ["javascript:alert(1)"] * N,
        NASTY: [NASTY] * N,
    }
    path = tmp_path_factory.mktemp("cards") / "page.html"
    explorer.write(model, X, path=path, columns=columns, images=images)
    return model, X, path


@pytest.fixture
def page(browser, written):
    opened = Opened(browser, written[-1])
    yield opened
    opened.close()


def hover(page, row):
    page.page.mouse.move(*page.place_of(row))
    page.state()
    return page.page.locator("#hover-card")


def test_a_card_beside_the_pointer(page):
    card = hover(page, 5)
    assert page.state()["extras"]["card"] == 5
    text = card.inner_text()
    assert text.startswith("row 5")
    assert "5: A long story" in text
    assert "…" in text
    assert NASTY in text
    assert card.locator("a").count() == 0  # it follows the pointer: nothing in it can be clicked
    pixel = card.locator("img").get_attribute("src")
    assert pixel == f"data:image/png;base64,{b64encode(png(5, 0, 0)).decode()}"
    x, y = page.place_of(5)
    box = card.bounding_box()
    assert not (
        box["x"] <= x <= box["x"] + box["width"] and box["y"] <= y <= box["y"] + box["height"]
    )
    assert hover(page, 2).locator("img").count() == 0
    page.page.mouse.move(5, 5)
    assert not card.is_visible()
    assert page.page.evaluate("window.hurt === undefined")


def test_cards_follow_keys_and_can_be_switched_off(page):
    x, y = page.place_of(9)
    page.page.mouse.move(x, y)
    page.page.focus("#marks")
    page.page.keyboard.press("i")
    assert page.state()["extras"]["card"] is None
    assert not page.page.is_checked("#card-options input >> nth=0")
    page.page.keyboard.press("i")
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowRight")
    assert page.state()["extras"]["card"] is not None
    page.page.focus("#card-options summary")
    page.page.keyboard.press("Enter")
    page.page.get_by_role("checkbox", name="story").press("Space")
    page.page.get_by_role("checkbox", name="feature 3").check()
    text = hover(page, 9).inner_text()
    assert "A long story" not in text
    assert "feature 3" in text


def test_a_pinned_card_has_image_text_and_link(page):
    page.pin(1)
    row = page.state()["pins"][0]["row"]
    card = page.page.locator(".card")
    assert card.locator("img").get_attribute("alt") == f"Image of row {row}"
    assert STORY.strip() in card.inner_text()
    links = card.locator("a")
    assert links.count() == 1
    assert links.get_attribute("href") == f"https://example.org/{row}?a=1&b="
    assert links.get_attribute("rel") == "noopener noreferrer"
    assert links.get_attribute("aria-label") == "Open the address in page in a new tab"
    assert f"see https://example.org/{row}?a=1&b=<2>" in card.inner_text()


def neighbors_of(distances, row):
    distances = distances.copy()
    distances[row] = np.inf
    return np.argsort(distances, kind="stable")[:6].tolist()


def test_neighbors_in_the_data_and_on_the_map(page, written):
    model, X, _ = written
    page.pin(30)
    row = page.state()["pins"][0]["row"]
    Z = model.transform(X)
    data = neighbors_of(np.linalg.norm(X - X[row], axis=1), row)
    on_map = neighbors_of(np.linalg.norm(Z - Z[row], axis=1), row)
    assert page.state()["extras"]["neighbors"] == [{"map": on_map, "data": data}]
    shared = len(set(data) & set(on_map))
    assert f"{shared} of 6 are the same" in page.page.inner_text(".neighbors .caption")
    lists = page.page.locator(".neighbors ol")
    for place, rows, others in ((0, data, on_map), (1, on_map, data)):
        buttons = lists.nth(place).locator("button")
        assert [int(button.get_attribute("data-row")) for button in buttons.all()] == rows
        alone = [
            int(one.get_attribute("data-row")) for one in lists.nth(place).locator(".alone").all()
        ]
        assert alone == [one for one in rows if one not in others]
    lists.nth(0).locator("button").first.press("Enter")
    np.testing.assert_allclose(page.state()["here"], Z[data[0]], rtol=1e-5, atol=1e-5)


def test_a_neighbor_out_of_sight_is_brought_into_view(page):
    page.pin(30)
    row = page.state()["extras"]["neighbors"][0]["data"][-1]
    x, y = page.place_of(30)
    page.page.mouse.move(x, y)
    for _ in range(12):
        page.page.mouse.wheel(0, -600)
    page.state()
    page.page.locator(".neighbors button[data-row]").filter(has_text=f"row {row}").first.click()
    here = page.place_of(row)
    box = page.page.locator("#marks").bounding_box()
    assert box["x"] <= here[0] <= box["x"] + box["width"]
    assert box["y"] <= here[1] <= box["y"] + box["height"]


def test_neighbors_in_a_table_with_gaps(browser, tmp_path):
    frame = mixed_frame(levels=("Adelie", "Chinstrap", "Gentoo"))
    model = TableMap(TwoWay("pca", up="rbf", down="rbf", n_centers=15, random_state=0)).fit(frame)
    gapped = with_gaps(frame)
    opened = Opened(browser, explorer.write(model, gapped, path=tmp_path / "p.html"))
    opened.pin(40)
    row = opened.state()["pins"][0]["row"]
    encoded = model.layout_.into(gapped)
    distances = nan_euclidean_distances(encoded[[row]], encoded)[0]
    (found,) = opened.state()["extras"]["neighbors"]
    opened.close()
    order = np.sort(distances[found["data"]])
    np.testing.assert_allclose(order, np.sort(np.delete(distances, row))[:6], rtol=1e-5)


def test_own_pixels_are_the_image_of_image_pages(browser, tmp_path):
    X, y = load_digits(return_X_y=True)
    model = TwoWay("pca", up="rbf", down="rbf", n_centers=20, random_state=0).fit(X[:100])
    opened = Opened(browser, explorer.write(model, X[:100], y[:100], path=tmp_path / "p.html"))
    card = hover(opened, 5)
    assert card.locator("canvas").count() == 1
    assert "label" in card.inner_text()
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(browser, written, scheme):
    opened = Opened(
        browser,
        written[-1],
        viewport={"width": 390, "height": 844},
        has_touch=True,
        color_scheme=scheme,
    )
    x, y = opened.place_of(3)
    opened.page.touchscreen.tap(x, y)
    assert opened.state()["pins"]
    card = opened.page.locator("#hover-card")
    assert card.is_visible()
    box, area = card.bounding_box(), opened.page.locator("#map").bounding_box()
    assert box["x"] >= area["x"]
    assert box["x"] + box["width"] <= area["x"] + area["width"] + 1
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.close()


def test_equal_images_are_stored_once(written):
    text = written[-1].read_text(encoding="utf-8")
    content = json.loads(re.search(r'id="content">(.*?)</script>', text, re.DOTALL).group(1))
    assert content["images"]["of"][:4] == [0, 0, None, 1]
    assert len(content["images"]["uris"]) == N - 2


@pytest.mark.parametrize(
    ("image", "error", "message"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", ValueError, "neither a PNG nor a JPEG"),
        ("data:image/svg+xml;base64,PHN2Zy8+", ValueError, "not a data URI of a PNG or JPEG"),
        ("https://example.org/a.png", ValueError, "not a data URI"),
        ("data:image/png;base64,!!!", ValueError, "not in base64"),
        ("data:image/png;base64,PHN2Zy8+", ValueError, "neither a PNG nor a JPEG"),
        (b"\xff\xd8\xff" + bytes(1_000_000), ValueError, "at most 1,000,000"),
        (7, TypeError, "of type int"),
    ],
)
def test_other_images_are_refused(tmp_path, written, image, error, message):
    model, X, _ = written
    with pytest.raises(error, match=message):
        explorer.write(model, X, path=tmp_path / "p.html", images=[image] + [None] * (N - 1))
    assert not list(tmp_path.iterdir())


def test_images_need_one_for_each_row(tmp_path, written):
    model, X, _ = written
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        explorer.write(model, X, path=tmp_path / "p.html", images=[None])
    with pytest.raises(TypeError, match="sequence"):
        explorer.write(model, X, path=tmp_path / "p.html", images=b"abc")
    images = pd.Series([png(1, 2, 3)] * (N - 1) + [np.nan])
    explorer.write(model, X, path=tmp_path / "p.html", images=images, max_points=10)
