"""Why here: what changes under the pointer and along a path, support and expected error."""

import numpy as np
import pytest
from browser import Opened, chromium
from mixed_tables import mixed_frame
from sklearn.datasets import load_digits

from twofold import PrincipalManifold, TableMap, TwoWay
from twofold.export import explorer
from twofold.principal_manifold.domains import Points

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = [*"abcdefgh", "constant"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def bent(tmp_path_factory):
    """A plane bent into eight columns of very different units, and a constant one."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, size=(150, 2))
    columns = [z[:, 0], z[:, 1], z[:, 0] ** 2, z[:, 0] * z[:, 1], np.sin(3 * z[:, 1])]
    columns += [np.cos(2 * z[:, 0]), z.sum(axis=1), np.exp(z[:, 1])]
    X = np.column_stack(columns) * [1, 2, 3, 4, 5, 0.1, 0.2, 10] + 7
    X = np.column_stack([X, np.full(150, 3.0)])
    model = TwoWay("pca", up="rbf", down="rbf", n_centers=40, random_state=0).fit(X)
    path = tmp_path_factory.mktemp("why") / "page.html"
    explorer.write(model, X, path=path, feature_names=NAMES)
    return model, X, path


@pytest.fixture
def page(browser, bent):
    opened = Opened(browser, bent[-1])
    yield opened
    opened.close()


def jacobian(model, z, step=1e-4):
    """Return the derivatives (q, D) of the up-map by central differences."""
    moves = step * np.eye(len(z))
    return (model.inverse_transform(z + moves) - model.inverse_transform(z - moves)) / (2 * step)


def test_features_are_sorted_by_their_change(page, bent):
    model, X, _ = bent
    for row in (5, 70):
        page.page.mouse.move(*page.place_of(row))
        state = page.state()
        found = state["extras"]["changes"]
        J = jacobian(model, np.array(state["here"]))
        deviation = X.std(axis=0)
        sizes = np.sqrt(np.square(J).sum(axis=0))[:8] / deviation[:8]
        order = np.argsort(-sizes)
        assert [one["feature"] for one in found] == order.tolist()
        shares = np.array([one["size"] for one in found])
        np.testing.assert_allclose(shares / shares[0], sizes[order] / sizes[order[0]], rtol=1e-3)
        most = J[:, order[0]]
        np.testing.assert_allclose(found[0]["direction"], most, atol=1e-3 * np.abs(most).max())
        shown = page.page.locator("#why .changes .name").all_inner_texts()
        assert shown[:6] == [NAMES[k] for k in order[:6]]
    right = page.page.locator("#why .changes .arrow").first.get_attribute("aria-label")
    assert right.startswith("grows ")


def test_changes_can_be_closed_by_keyboard(page):
    page.page.focus("#why summary")
    page.page.keyboard.press("Enter")
    assert not page.page.is_visible("#why .changes")
    page.page.keyboard.press("Enter")
    assert page.page.is_visible("#why .changes")


def test_support_is_a_gauge_that_agrees_with_the_word(page):
    gauge = page.page.get_by_role("meter", name="Support")
    seen = {}
    x, y = page.place_of(70)
    box = page.page.locator("#marks").bounding_box()
    for place in ((x, y), (box["x"] + 3, box["y"] + 3)):
        page.page.mouse.move(*place)
        page.state()
        word = gauge.get_attribute("aria-valuetext")
        assert word in page.page.inner_text("#place")
        seen[word] = int(gauge.get_attribute("aria-valuenow"))
    assert seen["no data here"] <= 33
    assert max(seen.values()) > 33


def test_the_expected_error_is_that_of_the_rows_nearby(page, bent):
    model, X, _ = bent
    page.page.mouse.move(*page.place_of(70))
    before, state = None, page.state()
    while state != before:  # what the page computes follows the pointer
        page.page.wait_for_timeout(100)
        before, state = state, page.state()
    errors = model.reconstruction_error(X)
    squares = np.square(model.transform(X) - state["here"]).sum(axis=1)
    near = np.argsort(squares)[:20]
    weights = np.exp(-0.5 * squares[near] / squares[near][10])
    want = np.sqrt((weights * errors[near] ** 2).sum() / weights.sum())
    found = state["extras"]["expected"]
    assert found["count"] == 20
    assert found["error"] == pytest.approx(want, rel=1e-3)
    assert found["reach"] == pytest.approx(np.sqrt(squares[near].max()), rel=1e-3)
    text = page.page.get_by_role("meter", name="Expected error").get_attribute("aria-valuetext")
    assert float(text.split(";")[0]) == pytest.approx(want, rel=1e-2)


def test_curves_along_a_path(page, bent):
    model, X, _ = bent
    page.use("path")
    start, end = page.place_of(3), page.place_of(70)
    page.drag(start, ((start[0] + end[0]) / 2, start[1]), end)
    page.page.focus("#marks")
    page.page.keyboard.press("Space")
    first = page.page.locator(".curves li").first
    assert page.page.locator(".curves li").count() == 4
    page.page.locator("#along").fill("0")
    here = page.state()["here"]
    now = {NAMES[k]: value for k, value in enumerate(model.inverse_transform(np.array([here]))[0])}
    name = first.locator(".name").inner_text()
    assert float(first.locator(".now").inner_text()) == pytest.approx(now[name], rel=1e-2)
    marker = first.locator("svg line")
    assert float(marker.get_attribute("x1")) == 0.0
    page.page.locator("#along").fill("1000")
    page.state()
    assert float(marker.get_attribute("x1")) == 120.0
    ends = np.array([here, page.state()["here"]])
    size = np.abs(np.diff(model.inverse_transform(ends), axis=0))[0][:8] / X.std(axis=0)[:8]
    page.page.get_by_role("combobox", name="Most change").select_option("ends")
    assert page.state()["extras"]["curves"] == [NAMES[k] for k in np.argsort(-size)[:4]]
    least = NAMES[int(np.argmin(size))]
    page.page.get_by_role("combobox", name="Add").select_option(label=least)
    assert page.state()["extras"]["curves"][0] == least
    assert page.page.get_by_role("img", name=f"{least} along the path").count() == 1
    page.page.get_by_role("button", name=f"Remove the curve of {least}").press("Enter")
    assert least not in page.state()["extras"]["curves"]
    page.page.focus("#marks")
    page.page.keyboard.press("Escape")
    assert page.state()["extras"]["curves"] == []


def test_images_and_words(browser, tmp_path):
    X = load_digits().data[:200]
    model = TwoWay("pca", up="rbf", down="rbf", n_centers=30, random_state=0).fit(X)
    opened = Opened(browser, explorer.write(model, X, path=tmp_path / "p.html"))
    opened.page.mouse.move(*opened.place_of(7))
    J = jacobian(model, np.array(opened.state()["here"]))
    norms = np.sqrt(np.square(J).sum(axis=0))
    drawn = opened.page.evaluate(
        "Array.from(document.querySelector('#why canvas').getContext('2d')"
        ".getImageData(0, 0, 8, 8).data)"
    )
    np.testing.assert_allclose(drawn[::4], 255 * norms / norms.max(), atol=2.0)
    opened.close()
    frame = mixed_frame()
    table = TableMap(TwoWay("pca", up="rbf", down="rbf", n_centers=15, random_state=0)).fit(frame)
    opened = Opened(browser, explorer.write(table, frame, path=tmp_path / "p.html"))
    opened.use("path")
    opened.drag(opened.place_of(2), opened.place_of(110))
    names = opened.state()["extras"]["curves"]
    assert names
    assert not any(name.startswith("always") for name in names)
    assert opened.page.evaluate("window.hurt === undefined")
    opened.close()


def test_points_and_a_line(browser, tmp_path):
    X = load_digits().data[:100, 20:26]
    for domain in (Points(6), "box"):
        model = PrincipalManifold(1, domain=domain, alpha=1e-2, random_state=0).fit(X)
        opened = Opened(browser, explorer.write(model, X, path=tmp_path / "p.html"))
        opened.page.mouse.move(*opened.place_of(7))
        assert opened.state()["extras"]["changes"]
        opened.close()


@pytest.mark.parametrize("width", [390, 275])
def test_a_phone_and_zoom(browser, bent, width):
    opened = Opened(browser, bent[-1], viewport={"width": width, "height": 600}, has_touch=True)
    opened.use("path")
    opened.drag(opened.place_of(2), opened.place_of(110))
    opened.use("walk")
    opened.page.touchscreen.tap(*opened.place_of(3))
    assert opened.state()["pins"]
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.close()
