"""What the page draws: support under rows, names, colors, many rows, and saved views."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from browser import Opened, chromium
from matplotlib.image import imread
from mixed_tables import mixed_frame
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from twofold import UKR, TableMap, TwoWay
from twofold.export import explorer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LETTERS = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
N_LETTERS = 4_500  # more than are drawn as circles

EVERY_PLACE = """async (rows) => {
    const found = [];
    for (let row = 0; row < rows; row++) found.push(await window.twofold.supportOf(row));
    return found;
}"""

PIXELS = """() => {
    const [ground, layer] = ["ground", "rows-layer"].map((id) => document.getElementById(id));
    const whole = document.createElement("canvas");
    [whole.width, whole.height] = [ground.width, ground.height];
    const context = whole.getContext("2d");
    context.drawImage(ground, 0, 0);
    if (layer && !layer.hidden) context.drawImage(layer, 0, 0);
    const pixels = context.getImageData(0, 0, whole.width, whole.height).data;
    let colored = 0;
    for (let at = 0; at < pixels.length; at += 4) {
        const channels = [pixels[at], pixels[at + 1], pixels[at + 2]];
        if (pixels[at + 3] && Math.max(...channels) - Math.min(...channels) > 40) colored++;
    }
    return colored;
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """Rows of 26 classes of different sizes, with 450 features."""
    rng = np.random.default_rng(0)
    sizes = np.arange(1.0, 27.0)
    y = rng.choice(26, size=N_LETTERS, p=sizes / sizes.sum())
    Z = (3.0 * rng.normal(size=(26, 2)))[y] + 0.3 * rng.normal(size=(N_LETTERS, 2))
    X = Z @ rng.normal(size=(2, 450))
    X[:, 7] = y
    model = TwoWay(PCA(2), up="rbf", down="rbf", n_centers=30, random_state=0).fit(X[:500])
    path = tmp_path_factory.mktemp("letters") / "page.html"
    names = [f"gene {number}" for number in range(450)]
    explorer.write(
        model, np.round(X), LETTERS[y], path=path, feature_names=names, title="<b>Letters</b>"
    )
    return path, y


@pytest.fixture
def page(browser, letters):
    opened = Opened(browser, letters[0])
    yield opened
    opened.close()


def small_models():
    digits = load_digits().data[:200]
    yield UKR(init="pca", homotopy=False, max_iter=40, random_state=0).fit(digits), digits
    frame = mixed_frame()
    table = TableMap(UKR(init="pca", homotopy=False, max_iter=30, random_state=0))
    yield table.fit(frame), frame


@pytest.mark.parametrize("number", [0, 1])
def test_support_is_right_under_every_row(browser, tmp_path, number):
    model, rows = list(small_models())[number]
    core = getattr(model, "estimator_", model)
    latents = model.transform(rows)
    own = core.log_density(latents)
    usual = np.quantile(core.log_density(core.embedding_), 0.1)
    opened = Opened(browser, explorer.write(model, rows, path=tmp_path / "page.html"))
    found = np.array(opened.page.evaluate(EVERY_PLACE, len(rows)))
    opened.close()
    clear = np.abs(own - usual) > 1e-4
    expected = np.where(own >= usual, "well supported", "few data here")
    assert set(found) <= set(expected)
    np.testing.assert_array_equal(found[clear], expected[clear])


def test_far_from_rows_there_are_no_data(page):
    assert page.page.evaluate("window.twofold.support([1e3, 1e3])") == "no data here"


def test_names_lie_where_their_rows_are_and_do_not_collide(page, letters):
    names = page.state()["names"]
    assert 10 < len(names) <= 40
    assert len(set(names)) > 10
    page.page.click("#zoom-out")
    page.page.click("#zoom-out")
    page.page.click("#zoom-out")
    fewer = page.state()["names"]
    assert len(fewer) < len(names)
    # Large regions come first.
    assert "Z" in fewer


def test_ten_colors_and_gray_for_the_other_classes(page, letters):
    y = letters[1]
    order = LETTERS[np.argsort(-np.bincount(y), kind="stable")]
    entries = page.page.locator("#legend button")
    assert [entries.nth(k).inner_text() for k in range(26)] == list(order)
    dots = page.page.evaluate(
        "[...document.querySelectorAll('#legend button .dot')].map((dot) => dot.style.background)"
    )
    assert len(set(dots[:10])) == 10
    assert len(set(dots[10:])) == 1
    assert "the 10 largest of 26" in page.page.inner_text("#legend .rule")
    before = page.page.evaluate(PIXELS)
    entries.nth(20).hover()
    page.state()
    lit = page.page.evaluate(PIXELS)
    assert 0 < lit < before / 2  # one gray class has a color, the others fade
    page.page.mouse.move(*page.middle())
    page.state()
    assert page.page.evaluate(PIXELS) == before
    # By keyboard too; a class that is switched off keeps the focus.
    entries.nth(0).focus()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    assert entries.nth(1).get_attribute("aria-pressed") == "false"
    assert page.page.evaluate("document.activeElement.innerText") == order[1]


def test_one_of_many_features_is_found_by_its_name(page):
    field = page.page.get_by_role("combobox", name="Color by one of 450 features")
    field.fill("gene 44")
    suggested = page.page.evaluate(
        "[...document.querySelectorAll('#feature-names option')].map((one) => one.value)"
    )
    assert suggested == ["gene 44", *[f"gene 44{digit}" for digit in range(10)]]
    field.press("Enter")
    assert "gene 44" in page.page.inner_text("#legend")
    assert page.page.locator("#color option:checked").inner_text() == "gene 44"
    field.fill("no such gene")
    field.press("Enter")
    assert "gene 44" in page.page.inner_text("#legend")


def test_hovering_and_boxes_find_the_rows_that_are_there(page, letters):
    """Compare the grid with a search of all rows, one class of which is hidden."""
    page.page.click("#legend button >> nth=2")
    hidden = page.page.locator("#legend button").nth(2).inner_text()
    shown = LETTERS[letters[1]] != hidden
    found = page.page.evaluate(
        "(n) => Promise.all(Array.from({ length: n }, (_, row) => window.twofold.screenOf(row)))",
        N_LETTERS,
    )
    places = np.array(found)
    box = page.page.locator("#marks").bounding_box()
    page.use("box")
    page.drag((box["x"] + 100, box["y"] + 50), (box["x"] + 650, 650))
    rows = page.state()["selected"]
    ends = np.array([[100, 50], [650, 650 - box["y"]]])
    inside = ((places >= ends[0]) & (places <= ends[1])).all(axis=1)
    assert rows == np.flatnonzero(inside & shown).tolist()
    assert len(rows) < inside.sum()
    page.use("walk")
    n_near = 0
    for x, y in np.random.default_rng(0).uniform([100, 50], [650, 550], size=(12, 2)).round():
        away = np.where(shown, np.hypot(places[:, 0] - x, places[:, 1] - y), np.inf)
        page.page.mouse.move(box["x"] + x, box["y"] + y)
        page.state()
        said = re.search(r"near row (\d+)", page.page.inner_text("#place"))
        assert (said is not None) == (away.min() < 24)
        if said is not None:
            n_near += 1
            assert away[int(said[1])] == pytest.approx(away.min(), abs=0.01)
    assert n_near > 2


def opened_with(browser, path, script):
    """Open a page after a script has run in it."""
    page = browser.new_page(viewport={"width": 1100, "height": 720})
    page.add_init_script(script)
    page.goto(path.resolve().as_uri())
    assert page.evaluate("window.twofold.ready")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page


def test_webgl_and_the_canvas_draw_the_same(browser, letters):
    # Chromium's own rendering is taken for graphics hardware if it does not tell its name.
    hidden = "WebGL2RenderingContext.prototype.getExtension = () => null"
    none = """const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
            return kind === "webgl2" ? null : get.call(this, kind, ...rest);
        };"""
    counts = []
    for script, name in [(hidden, "webgl"), (none, "canvas")]:
        page = opened_with(browser, letters[0], script)
        assert page.evaluate("window.twofold.state().then((state) => state.drawnBy)") == name
        # The picture of WebGL is there until the frame ends.
        page.keyboard.press("m")
        with page.expect_download() as download:
            page.click("text=PNG")
        counts.append(_colored(page, download.value))
        page.close()
    assert counts[0] > 2_000
    assert counts[0] == pytest.approx(counts[1], rel=0.25)


def _colored(page, download):
    picture = imread(download.path())
    return int((np.ptp(picture[..., :3], axis=2) > 0.15).sum())


def test_saved_views(page, tmp_path):
    page.page.select_option("#color", label="label")
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Save the view as a PNG picture").click()
    picture = imread(download.value.path())
    width = page.page.locator("#map").bounding_box()["width"]
    assert download.value.suggested_filename == "map.png"
    assert picture.shape[1] == pytest.approx(2 * (width + 190), abs=2)
    legend = picture[:, int(2 * width) + 10 :, :3]
    assert (np.ptp(legend, axis=2) > 0.3).sum() > 1_000  # dots of the legend
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Save the view as an SVG drawing").click()
    root = ET.parse(download.value.path()).getroot()
    texts = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("text")]
    assert "<b>Letters</b>" in texts
    assert set("XYZ") <= set(texts)
    circles = [one for one in root.iter() if one.tag.endswith("circle")]
    assert len(circles) > 4_000


def test_a_printed_page_has_the_map_alone(page):
    page.page.keyboard.press("d")
    assert page.state()["theme"] == "dark"
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.state()["theme"] == "light"
    page.page.emulate_media(media="print")
    assert not page.page.is_visible(".tools")
    assert page.page.is_visible("#ground")
    assert page.page.is_visible("#legend")
    page.page.emulate_media(media="screen")
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.state()["theme"] == "dark"
