"""Many points: markers, images and the density of a map."""

from types import SimpleNamespace

import numpy as np
import pytest
from drawn_models import page
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose

from twofold import TwoWay
from twofold.plotting import LatentMapDisplay, save_figure
from twofold.plotting._labels import COLORS, MISSING, Classes, Values
from twofold.plotting._latent_space import LatentSpace
from twofold.plotting._marks import MOST_MARKS, Marks, density_image


def test_marks_shrink_and_fade_as_points_grow_in_number():
    styles = []
    for n in (10, 1_000, 20_000):
        Z = np.random.default_rng(0).standard_normal((n, 2))
        (marks,) = LatentMapDisplay(Z).plot(page()).points_
        styles.append((marks.get_sizes()[0], marks.get_alpha(), marks.get_rasterized()))
    sizes, alphas, rasterized = zip(*styles, strict=True)
    assert sizes[0] > sizes[1] > sizes[2] >= 1.0
    assert alphas[0] == 1.0 > alphas[2] >= 0.5
    assert rasterized == (False, False, True)


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    return rng.standard_normal((MOST_MARKS + 1, 2)), rng.integers(0, 3, MOST_MARKS + 1)


@pytest.mark.parametrize("kind", ["none", "classes", "values"])
def test_many_points_are_an_image(crowd, kind, tmp_path):
    Z, labels = crowd
    given = {"none": None, "classes": labels, "values": Z[:, 0]}[kind]
    display = LatentMapDisplay(Z, labels=given).plot(page())
    (image,) = display.points_
    pixels = image.get_array()
    left, right, *_ = image.get_extent()
    assert left < Z[:, 0].min() < Z[:, 0].max() < right
    assert max(pixels.shape) >= 350
    assert pixels[..., 3].max() == 1.0
    assert pixels[0, 0, 3] == 0.0
    if kind == "classes":  # a file of vectors holds the image, not the points
        assert save_figure(display, tmp_path / "many.pdf").stat().st_size < 1_000_000
    if kind == "values":
        column = pixels[..., :3][:, pixels.shape[1] // 2 + 60]
        assert column[len(column) // 2].argmax() == 1  # to the right of the middle: green


def test_no_image_in_space(crowd):
    Z = np.column_stack([*crowd[0].T, crowd[1]])
    (marks,) = LatentMapDisplay(Z).plot(page(3), show_density=False).points_
    assert len(marks._offsets3d[0]) == MOST_MARKS


def test_pixels_have_the_color_of_most_and_the_opacity_of_all():
    groups = [((0.25, 0.5), 0, 30), ((0.25, 0.5), 1, 10), ((0.75, 0.5), 1, 40), ((0.75, 0.9), 2, 1)]
    xy = np.vstack([np.tile(place, (n, 1)) for place, _, n in groups])
    codes = np.concatenate([np.full(n, code) for _, code, n in groups])
    codes[-1] = -1  # a lone point without a label
    image = density_image(xy, Marks(Classes(("a", "b"), codes)), (0, 1, 0, 1), (100, 100))
    assert_allclose(image[50, 25, :3], to_rgb(COLORS[0]))
    assert_allclose(image[50, 75, :3], to_rgb(COLORS[1]))
    assert_allclose(image[90, 75, :3], to_rgb(MISSING))
    assert image[50, 25, 3] == image[50, 75, 3] > image[90, 75, 3] > 0.3
    assert image[10, 10, 3] == 0.0
    gray = SimpleNamespace(to_rgba=lambda v: np.tile(v[:, None], (1, 4)))
    values = Marks(Values(np.where(codes == 1, 1.0, 0.0)), gray)
    colors = density_image(xy, values, (0, 1, 0, 1), (100, 100))
    assert_allclose(colors[50, 25, 0], 10 / 40)
    assert_allclose(colors[50, 75, 0], 1.0)


def test_places_far_from_all_data_are_not_asked_for(monkeypatch):
    """The density of a map with wide gaps is evaluated near the latents, and bounded elsewhere."""
    rng = np.random.default_rng(0)
    blobs = np.vstack([rng.standard_normal((200, 2)), rng.standard_normal((200, 2)) + 200])
    monkeypatch.setattr("twofold.plotting._latent_space.FEW_LATENTS", 100)
    model = TwoWay(blobs, up="nw", down="nw", random_state=0).fit(blobs @ rng.random((2, 3)))
    space = LatentSpace.of(model)
    grid = np.stack(np.meshgrid(*[np.linspace(-10, 210, 80)] * 2), -1).reshape(-1, 2)
    exact, border, asked = space.log_density(grid), space.log_border, []
    monkeypatch.setattr(
        LatentSpace, "log_density", lambda self, Z: (asked.append(len(Z)), model.log_density(Z))[1]
    )
    near = space.log_density_near(grid, 220 / 79)
    inside = exact >= border
    assert_allclose(near[inside], exact[inside])
    assert (near[~inside] < border).all()
    assert 0 < sum(asked) < 0.1 * len(grid)
