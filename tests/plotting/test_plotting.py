"""The displays: numbers read out of the artists, for models of one to three latent dimensions."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from twofold import DRUR, SNE, UKR, AgglomerativeIsomap, PrincipalManifold, TwoWay
from twofold.datasets import make_noisy_spiral, make_s_curve
from twofold.numerics.density import KernelDensityClassifier
from twofold.plotting import (
    CandidatesDisplay,
    ClassBordersDisplay,
    DecodedGridDisplay,
    GeneralizationDisplay,
    LatentMapDisplay,
    LearningCurveDisplay,
    ManifoldDisplay,
    ReconstructionErrorDisplay,
    ResidualVarianceDisplay,
    save_figure,
)
from twofold.plotting._colors import COLORS, LINE_COLORS, MISSING, class_color, dark_enough
from twofold.plotting._labels import Classes, Values, read_labels
from twofold.plotting._latent_space import LatentSpace
from twofold.plotting._points import MOST_MARKS
from twofold.plotting._raster import density_image
from twofold.principal_manifold import CrossValidation, Domain, Points

N = 120
RNG = np.random.default_rng(3)
CURVE, _ = make_noisy_spiral(N, random_state=0)
ANGLE = np.sort(RNG.uniform(-np.pi, np.pi, N))
RING = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) + 0.05 * RNG.standard_normal((N, 2))
SHEET, _ = make_s_curve(N, random_state=0)
TUBE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE), RNG.uniform(-1, 1, N)])
WIDE = np.hstack([SHEET, SHEET**2, RNG.standard_normal((N, 2))])

MODELS = {
    "ukr-1": (UKR(1, init="isomap:6", max_iter=20, random_state=0), CURVE),
    "ukr-2": (UKR(2, init=["isomap:6", "isomap:8", "pca"], max_iter=20, random_state=0), SHEET),
    "ukr-3": (UKR(3, init="pca", homotopy=False, max_iter=20, random_state=0), WIDE),
    "ukr-quartic": (
        UKR(2, kernel="quartic", init=["isomap:6", "isomap:8"], max_iter=20, random_state=0),
        SHEET,
    ),
    "drur": (DRUR(n_centers=15, alpha=1e-3, random_state=0), SHEET),
    "drur-small": (
        DRUR(n_centers=15, alpha=1e-3, init="pca", store_embedding=False, random_state=0),
        SHEET,
    ),
    "circle": (PrincipalManifold(domain="circle", alpha=CrossValidation(3), random_state=0), RING),
    "box": (PrincipalManifold(2, alpha=1e-2, init="pca", random_state=0), SHEET),
    "cylinder": (
        PrincipalManifold(2, domain="cylinder", alpha=1e-2, init="pca", random_state=0),
        TUBE,
    ),
    "cube": (PrincipalManifold(3, alpha=1e-2, n_nodes=27, init="pca", random_state=0), WIDE),
    "points": (
        PrincipalManifold(domain=Points(5), kernel="delta", alpha=0.0, random_state=0),
        CURVE,
    ),
    "two_way": (TwoWay("isomap", random_state=0), SHEET),
    "sne": (SNE(perplexity=10, max_iter=50, tol=1e-2, up="nw", down="nw", random_state=0), SHEET),
    "isomap": (AgglomerativeIsomap("auto", random_state=0), SHEET),
    "pipeline": (
        make_pipeline(StandardScaler(), UKR(2, init="isomap:8", max_iter=20, random_state=0)),
        1e3 * SHEET,
    ),
    "constant": (UKR(2, random_state=0), np.ones((10, 3))),
}
"""Models of one to three latent dimensions, with domains of their own and without, and their data."""

RENDERED = ("ukr-1", "ukr-2", "ukr-3", "circle", "points", "constant")
"""Those of them that are drawn to the last pixel by every display; for the others artists are enough."""

_fitted = {}


def model_of(name):
    if name not in _fitted:
        model, X = MODELS[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that are kept short
            _fitted[name] = model.fit(X), X
    return _fitted[name]


def last_of(model):
    return model[-1] if hasattr(model, "steps") else model


def width_of(name):
    return last_of(model_of(name)[0]).embedding_.shape[1]


def page(n_dimensions=2):
    """Return axes without a layout, which is most of the time of a small picture."""
    projection = "3d" if n_dimensions == 3 else None
    return Figure(figsize=(4, 3)).add_subplot(projection=projection)


def offsets_of(artists):
    """Return where marks lie, in two dimensions or three."""
    found = []
    for marks in artists:
        three_d = getattr(marks, "_offsets3d", None)
        found.append(
            np.asarray(marks.get_offsets()) if three_d is None else np.column_stack(three_d)
        )
    return np.vstack(found)


def same_rows(A, B):
    """Compare rows in any order."""
    A, B = np.asarray(A), np.asarray(B)
    assert A.shape == B.shape
    return np.allclose(A[np.lexsort(A.T)], B[np.lexsort(B.T)])


def is_drawn(display, tmp_path):
    path = save_figure(display, tmp_path / "picture.png", dpi=40)
    assert path.read_bytes().startswith(b"\x89PNG")
    return True


# The latent map ------------------------------------------------------------------------------------------------------

KEPT = [name for name in MODELS if name != "drur-small"]


@pytest.mark.parametrize("name", KEPT)
def test_latent_map_draws_every_training_latent(name, tmp_path):
    model, X = model_of(name)
    Z = last_of(model).embedding_
    display = LatentMapDisplay.from_estimator(
        model, labels=np.arange(len(X)) % 3, n_grid=30, ax=page(Z.shape[1])
    )
    drawn = offsets_of(display.points_)
    if Z.shape[1] == 1:  # across the strip points lie by chance, around a ring along their angle
        if name == "circle":
            drawn = np.arctan2(drawn[:, 1], drawn[:, 0])[:, None] / np.pi
        drawn = drawn[:, :1]
    assert same_rows(drawn, Z)
    assert name not in RENDERED or is_drawn(display, tmp_path)


@pytest.mark.parametrize("name", ["ukr-1", "ukr-2", "drur-small", "box", "pipeline"])
def test_latent_map_of_other_rows(name):
    model, X = model_of(name)
    display = LatentMapDisplay.from_estimator(model, X[:40], n_grid=30, ax=page())
    q = width_of(name)
    assert same_rows(offsets_of(display.points_)[:, :q], model.transform(X[:40]))


def test_latent_map_needs_rows_where_the_model_has_none():
    model, _ = model_of("drur-small")
    with pytest.raises(ValueError, match="has not kept its training latents: give X"):
        LatentMapDisplay.from_estimator(model)


@pytest.mark.parametrize("name", ["ukr-2", "ukr-quartic", "two_way", "drur", "pipeline"])
def test_the_border_is_where_the_density_is_the_threshold(name):
    model, _ = model_of(name)
    last = last_of(model)
    display = LatentMapDisplay.from_estimator(model, n_grid=160, ax=page())
    (border,) = display.border_
    lines = [path.vertices for path in border.get_paths()]
    found = last.log_density(np.vstack(lines))
    lowest = getattr(last, "log_density_threshold_", last.log_density(last.embedding_).min())
    assert_allclose(np.median(found), lowest, atol=0.05)
    # It is closed: no latent lies outside, and no line ends at the edge of the picture.
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    edges = np.vstack(lines)
    assert edges[:, 0].min() > left
    assert edges[:, 0].max() < right
    assert edges[:, 1].min() > bottom
    assert edges[:, 1].max() < top


def test_the_bands_hold_the_shares_they_say():
    model, _ = model_of("ukr-2")
    display = LatentMapDisplay.from_estimator(model, n_grid=40, ax=page())
    reached = model.log_density(model.embedding_)[:, None] >= display.density.levels
    assert_allclose(reached.mean(axis=0), [0.95, 0.8, 0.6, 0.4, 0.2], atol=0.01)
    assert len(display.bands_.get_facecolor()) == 5


def test_the_border_of_a_strip():
    model, _ = model_of("ukr-1")
    display = LatentMapDisplay.from_estimator(model, n_grid=2_000, ax=page())
    ends = np.array([line.get_xdata()[0] for line in display.border_])
    assert len(ends) >= 2
    assert_allclose(model.log_density(ends[:, None]), model.log_density_threshold_, atol=0.01)


@pytest.mark.parametrize(
    ("name", "styles"), [("box", ["-"] * 4), ("cylinder", [":", ":", "-", "-"]), ("cube", None)]
)
def test_the_border_of_a_domain(name, styles):
    """Sides are drawn at -1 and 1: solid where the domain ends, dotted where it goes round."""
    model, _ = model_of(name)
    display = LatentMapDisplay.from_estimator(model, n_grid=20, ax=page(width_of(name)))
    if styles is None:
        assert len(display.border_) == 6  # two squares and four edges between them
        return
    assert [line.get_linestyle() for line in display.border_] == styles
    ends = [np.ptp(line.get_xdata()) + np.ptp(line.get_ydata()) for line in display.border_]
    assert_allclose(ends, 2.0)
    goes_round = display.ax_.get_xlabel() == "latent 1 (goes round)"
    assert goes_round == (name == "cylinder")


def test_a_circle_is_drawn_as_a_ring():
    model, _ = model_of("circle")
    display = LatentMapDisplay.from_estimator(model, ax=page())
    (circle,) = display.border_
    assert_allclose(np.hypot(*circle.get_data()), 1.0, atol=1e-6)
    assert (np.hypot(*offsets_of(display.points_).T) < 1.0).all()
    assert np.hypot(*display.bands_.get_xy().T).max() > 1.4


@pytest.mark.parametrize("name", ["ukr-3", "cube", "isomap"])
def test_some_of_the_latent_dimensions(name):
    model, _ = model_of(name)
    Z = last_of(model).embedding_
    columns = (Z.shape[1] - 1, 0)
    display = LatentMapDisplay.from_estimator(model, components=columns, n_grid=20, ax=page())
    assert same_rows(offsets_of(display.points_), Z[:, columns])
    assert display.ax_.get_xlabel() == f"latent {Z.shape[1]}"
    strip = LatentMapDisplay.from_estimator(model, components=[1], n_grid=20, ax=page())
    assert same_rows(offsets_of(strip.points_)[:, :1], Z[:, [1]])


def test_lanes_of_a_strip():
    model, X = model_of("ukr-1")
    labels = np.array(["b", "a", "c"])[np.arange(len(X)) % 3]
    display = LatentMapDisplay.from_estimator(model, labels=labels, n_grid=20, ax=page())
    ticks = dict(
        zip(
            (t.get_text() for t in display.ax_.get_yticklabels()),
            display.ax_.get_yticks(),
            strict=True,
        )
    )
    assert list(ticks) == ["a", "b", "c"]
    drawn = offsets_of(display.points_)
    colors = display.points_[0].get_facecolors()
    for number, height in enumerate(ticks.values()):
        own = (colors[:, :3] == to_rgb(class_color(number))).all(axis=1)
        assert own.sum() == N / 3
        assert np.abs(drawn[own, 1] - height).max() < 1 / 6
    assert display.legend_ is None


# Labels --------------------------------------------------------------------------------------------------------------

TEXT = np.array(["x", "y"])[np.arange(N) % 2]
LABELS = {
    "text": (list(TEXT), ("x", "y")),
    "whole numbers": (np.arange(N) % 4, ("0", "1", "2", "3")),
    "whole floats": (np.arange(N) % 4 / 1.0, ("0", "1", "2", "3")),
    "yes and no": (np.arange(N) % 2 == 0, ("False", "True")),
    "text and gaps": ([None if i % 5 == 0 else TEXT[i] for i in range(N)], ("x", "y")),
    "text and numbers": ([7 if i % 2 else "seven" for i in range(N)], ("7", "seven")),
    "floats and gaps": (np.where(np.arange(N) % 5 == 0, np.nan, np.arange(N) % 2), ("0", "1")),
    "values": (np.linspace(0.0, 1.0, N), None),
    "many numbers": (np.arange(N), None),
    "values and gaps": (np.where(np.arange(N) % 5 == 0, np.nan, np.linspace(0, 1, N)), None),
    "values as objects": (np.append(np.linspace(0, 1, N - 1).astype(object), None), None),
    "numbered text": ([f"no. {i % 12}" for i in range(N)], tuple(f"no. {i}" for i in range(12))),
    "a column": (np.arange(N)[:, None] % 4, ("0", "1", "2", "3")),
    "nothing but gaps": (np.full(N, np.nan), ()),
}


@pytest.mark.parametrize("kind", LABELS)
def test_kinds_of_labels(kind, tmp_path):
    labels, names = LABELS[kind]
    read = read_labels(labels, N)
    assert isinstance(read, Values if names is None else Classes)
    if names is not None:
        assert read.names == names
    model, _ = model_of("two_way")
    display = LatentMapDisplay.from_estimator(model, labels=labels, n_grid=15, ax=page())
    assert (display.colorbar_ is not None) == (names is None)
    colors = np.vstack([marks.get_facecolors() for marks in display.points_])
    n_grey = int((colors[:, :3] == to_rgb(MISSING)).all(axis=1).sum())
    expected = {"nothing but gaps": N, "values as objects": 1}
    assert n_grey == expected.get(kind, N // 5 if "gaps" in kind else 0)
    assert is_drawn(display, tmp_path)


def test_labels_of_pandas_and_polars():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    ordered = pd.Series(["low", "high", None] * 40, dtype="category").cat.reorder_categories(
        ["low", "high"]
    )
    read = read_labels(ordered, N)
    assert read.names == ("low", "high")  # the order of the categories, not of the alphabet
    assert (read.codes == np.tile([0, 1, -1], 40)).all()
    assert read_labels(pl.Series(["b", "a"] * 60), N).names == ("a", "b")
    nullable = pd.Series([1, 2, None] * 40, dtype="Int64")
    assert (read_labels(nullable, N).codes == np.tile([0, 1, -1], 40)).all()


def test_classes_or_values_by_choice():
    model, _ = model_of("two_way")
    many = LatentMapDisplay.from_estimator(
        model, labels=np.arange(N), label_kind="classes", n_grid=15, ax=page()
    )
    assert many.colorbar_ is None
    few = LatentMapDisplay.from_estimator(
        model,
        labels=np.arange(N) % 3,
        label_kind="values",
        n_grid=15,
        label_name="third",
        ax=page(),
    )
    assert few.colorbar_.ax.get_ylabel() == "third"


def test_colours_of_values_are_those_of_the_bar():
    model, _ = model_of("two_way")
    values = np.linspace(2.0, 5.0, N)
    display = LatentMapDisplay.from_estimator(model, labels=values, n_grid=15, ax=page())
    (marks,) = display.points_
    assert display.colorbar_.mappable.get_clim() == (2.0, 5.0)
    order = [np.flatnonzero((model.embedding_ == z).all(axis=1))[0] for z in marks.get_offsets()]
    expected = display.colorbar_.mappable.to_rgba(values[order])
    assert_allclose(marks.get_facecolors()[:, :3], expected[:, :3])
    axes = len(display.figure_.axes)
    without = display.plot(display.ax_, show_colorbar=False)
    assert without.colorbar_ is None
    assert len(without.figure_.axes) == axes


def test_names_stand_at_members_near_the_medians():
    model, _ = model_of("ukr-2")
    Z = model.embedding_
    labels = np.where(Z[:, 0] > np.median(Z[:, 0]), "right", "left")
    display = LatentMapDisplay.from_estimator(model, labels=labels, n_grid=15)
    assert display.legend_ is None
    for text in display.texts_:
        members = Z[labels == text.get_text()]
        distances = np.linalg.norm(members - np.median(members, axis=0), axis=1)
        assert_allclose(text.get_position(), members[distances.argmin()])


def test_a_legend_where_names_would_cover_each_other():
    model, _ = model_of("ukr-2")
    mixed = LatentMapDisplay.from_estimator(model, labels=np.arange(N) % 3, n_grid=15)
    named = [bool(display.texts_) for display in (mixed,)]
    assert named == [mixed.legend_ is None]
    long = [f"a class with a very long name indeed, number {i % 3}" for i in range(N)]
    display = LatentMapDisplay.from_estimator(model, labels=long, n_grid=15)
    assert not display.texts_
    shown = [text.get_text() for text in display.legend_.get_texts()]
    assert all(len(name) <= 40 and name.endswith("…") for name in shown)
    same_place = LatentMapDisplay(np.zeros((N, 2)), labels=np.arange(N) % 3).plot()
    assert len(same_place.legend_.get_texts()) == 3
    few = LatentMapDisplay(model.embedding_[:10], labels=list("aabbbccccc")).plot(page())
    assert not few.texts_  # names would cover the points
    assert len(few.legend_.get_texts()) == 3
    one = LatentMapDisplay.from_estimator(model, labels=["all"] * N, n_grid=15)
    assert not one.texts_
    assert one.legend_ is None
    asked = LatentMapDisplay.from_estimator(model, labels=["all"] * N, n_grid=15, names="both")
    assert asked.texts_[0].get_text() == asked.legend_.get_texts()[0].get_text() == "all"


def test_more_than_ten_classes_have_other_marks(tmp_path):
    model, _ = model_of("two_way")
    display = LatentMapDisplay.from_estimator(model, labels=np.arange(N) % 24, n_grid=15, ax=page())
    assert len(display.points_) == 3
    assert [len(marks.get_offsets()) for marks in display.points_] == [50, 50, 20]
    shapes = {marks.get_paths()[0].vertices.shape for marks in display.points_}
    assert len(shapes) == 3
    many = LatentMapDisplay.from_estimator(
        model, labels=[f"class {i}" for i in range(N)], n_grid=15, ax=page()
    )
    assert len(many.texts_) == 60  # of the others there is no room for the names
    assert is_drawn(many, tmp_path)


HOSTILE = [
    "$\\frac$",
    "_hidden",
    "a\nb\tc",
    "שלום עולם",
    "مرحبا بالعالم",
    "<script>&amp;",
    "",
    "%d {x} \\alpha",
    "é" * 500,
]


@pytest.mark.parametrize("names", ["map", "legend"])
def test_hostile_names_are_drawn_as_they_are(names, tmp_path):
    model, _ = model_of("two_way")
    labels = np.array(HOSTILE, dtype=object)[np.arange(N) % len(HOSTILE)]
    display = LatentMapDisplay.from_estimator(
        model, labels=labels, names=names, n_grid=15, ax=page()
    )
    texts = display.texts_ if names == "map" else display.legend_.get_texts()
    shown = {text.get_text() for text in texts}
    assert {"$\\frac$", "_hidden", "a b c", ""} <= shown
    assert is_drawn(display, tmp_path)
    strip = LatentMapDisplay.from_estimator(
        model_of("ukr-1")[0], labels=labels, n_grid=15, ax=page()
    )
    assert is_drawn(strip, tmp_path)
    save_figure(display, tmp_path / "names.pdf")


# Many points ---------------------------------------------------------------------------------------------------------


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


def test_pixels_have_the_colour_of_most_and_the_opacity_of_all():
    groups = [((0.25, 0.5), 0, 30), ((0.25, 0.5), 1, 10), ((0.75, 0.5), 1, 40), ((0.75, 0.9), 2, 1)]
    xy = np.vstack([np.tile(place, (n, 1)) for place, _, n in groups])
    codes = np.concatenate([np.full(n, code) for _, code, n in groups])
    codes[-1] = -1  # a lone point without a label
    image = density_image(xy, Classes(("a", "b"), codes), (0, 1, 0, 1), (100, 100))
    assert_allclose(image[50, 25, :3], to_rgb(COLORS[0]))
    assert_allclose(image[50, 75, :3], to_rgb(COLORS[1]))
    assert_allclose(image[90, 75, :3], to_rgb(MISSING))
    assert image[50, 25, 3] == image[50, 75, 3] > image[90, 75, 3] > 0.3
    assert image[10, 10, 3] == 0.0
    values = Values(np.where(codes == 1, 1.0, 0.0))
    colors = density_image(
        xy, values, (0, 1, 0, 1), (100, 100), to_rgba=lambda v: np.tile(v[:, None], (1, 4))
    )
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


# Decoded grids -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_cells_show_what_their_latents_decode_to(name, tmp_path):
    model, _ = model_of(name)
    q = width_of(name)
    settings = {"at": np.zeros(q)} if q > 2 else {}
    display = DecodedGridDisplay.from_estimator(model, n_side=6, snap=False, ax=page(), **settings)
    rows, columns = display.support.shape
    Z = np.zeros((rows, columns, q))
    Z[..., 0] = display.horizontal
    if q > 1:
        Z[..., 1] = display.vertical[:, None]
    shown = display.support > 0
    assert shown.any()
    assert_allclose(display.decoded[shown], model.inverse_transform(Z[shown]))
    assert np.isnan(display.decoded[~shown]).all()
    assert len(display.curves_.get_segments()) == shown.sum()
    assert name not in RENDERED or is_drawn(display, tmp_path)


@pytest.mark.parametrize("name", ["ukr-2", "two_way", "ukr-1"])
def test_support_is_the_density_against_that_of_the_data(name):
    model, _ = model_of(name)
    display = DecodedGridDisplay.from_estimator(model, n_side=8, snap=False, ax=page())
    q = width_of(name)
    Z = np.stack(np.meshgrid(display.horizontal, display.vertical), -1).reshape(-1, 2)[:, :q]
    reference = np.quantile(model.log_density(model.embedding_), 0.1)
    weights = np.exp(np.minimum(model.log_density(Z) - reference, 0.0))
    assert_allclose(display.support.ravel(), np.where(weights > 0.02, weights, 0.0))


def test_curves_are_scaled_to_their_cells():
    model, _ = model_of("ukr-2")
    display = DecodedGridDisplay.from_estimator(model, n_side=6, snap=False, ax=page())
    low, high = np.nanmin(display.decoded), np.nanmax(display.decoded)
    width = display.horizontal[1] - display.horizontal[0]
    height = display.vertical[1] - display.vertical[0]
    shown = np.argwhere(display.support > 0)
    for (row, column), segment in zip(shown, display.curves_.get_segments(), strict=True):
        decoded = (display.decoded[row, column] - low) / (high - low)
        x, y = segment.T
        assert_allclose(x, display.horizontal[column] + 0.84 * width * np.array([-0.5, 0, 0.5]))
        assert_allclose((y - display.vertical[row]) / (0.84 * height) + 0.5, decoded)
    opacities = display.curves_.get_colors()[:, 3]
    assert_allclose(opacities, display.support[display.support > 0])


def brightness_model(n_colors=1):
    """Latents are the brightness of two pixels, or the red of one and the blue of the other."""
    side = np.linspace(0, 1, 12)
    Z = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    if n_colors == 1:
        return TwoWay(Z, up="krr", down="nw", random_state=0).fit(Z[:, ::-1])
    X = np.zeros((len(Z), 1, 2, 3))
    X[:, 0, 0, 0], X[:, 0, 1, 2] = Z.T
    return TwoWay(Z, up="krr", down="nw", random_state=0).fit(X.reshape(len(Z), -1))


def test_orientation_of_images():
    """The first pixel grows with latent 2, the second with latent 1: ink is darkest at the top and to the right."""
    display = DecodedGridDisplay.from_estimator(brightness_model(), image_shape=(1, 2), n_side=6)
    mosaic = display.image_.get_array()
    assert display.support.shape == (6, 3)  # a cell is as wide as two are high
    assert mosaic.shape[:2] == (6 * 2, 3 * 3)  # a gap between images
    first, second = mosaic[::2, 0::3, 0], mosaic[::2, 1::3, 0]
    rows = first.mean(axis=1)
    assert (np.diff(rows) > 0).all()  # rows of an image run downwards
    assert (np.diff(second.mean(axis=0)) < 0).all()
    left, right, bottom, top = display.image_.get_extent()
    assert_allclose((right - left) / 3, 2 * (top - bottom) / 6)


def test_images_in_colour():
    display = DecodedGridDisplay.from_estimator(
        brightness_model(3), image_shape=(1, 2, 3), n_side=6, value_range=(0.0, 1.0)
    )
    mosaic = display.image_.get_array()
    red, blue = mosaic[::2, 0::3], mosaic[::2, 1::3]
    full = display.support[::-1] == 1.0
    assert (np.diff(red[full.all(axis=1)][0, :, 0]) > 0).all()
    assert blue[0, 2, 2] > blue[-1, 2, 2] + 0.5
    assert_allclose(red[full][:, 1:], 0.0, atol=0.02)
    assert (mosaic[1::2] == 1.0).all()  # white between images


def test_faded_where_nothing_supports_them():
    rng = np.random.default_rng(0)
    Z = np.vstack([rng.standard_normal((60, 2)), rng.standard_normal((60, 2)) + 30])
    model = TwoWay(Z, up="nw", down="nw", random_state=0).fit(np.hstack([Z, Z**2]) + 50.0)
    display = DecodedGridDisplay.from_estimator(model, image_shape=(2, 2), n_side=9, ax=page())
    assert display.support[0, 0] > 0.5
    assert display.support[-1, 0] == display.support[0, -1] == 0.0
    mosaic = display.image_.get_array()
    assert (mosaic[:3, :3] == 1.0).all()


def test_snapped_cells_show_training_latents():
    model, _ = model_of("ukr-2")
    display = DecodedGridDisplay.from_estimator(model, n_side=8, ax=page())  # "auto" snaps here
    cells = np.array([np.diff(display.horizontal)[0], np.diff(display.vertical)[0]])
    images = model.inverse_transform(model.embedding_)
    n_found = 0
    for row, column in np.argwhere(display.support > 0):
        center = np.array([display.horizontal[column], display.vertical[row]])
        within = (np.abs(model.embedding_ - center) <= cells / 2).all(axis=1)
        if within.any():
            n_found += 1
            assert np.isclose(images[within], display.decoded[row, column]).all(axis=1).any()
    assert n_found > 10
    with pytest.raises(ValueError, match="snap=True needs all latent dimensions"):
        DecodedGridDisplay.from_estimator(model_of("cube")[0], components=[0, 1], snap=True)


def test_large_images_are_made_smaller():
    """Means over pixels: a picture of a grid holds no more of them than can be seen."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 2))
    X = np.repeat(Z, 7_200, axis=1)  # an upper and a lower half
    model = TwoWay(Z, up="nw", down="nw", random_state=0).fit(X)
    display = DecodedGridDisplay.from_estimator(model, image_shape=(120, 120), n_side=40, ax=page())
    assert display.image_shape == (50, 50)
    assert max(display.image_.get_array().shape) <= 40 * 51
    shown = display.support > 0
    halves = display.decoded[shown].reshape(-1, 2, 1_250)
    assert np.ptp(halves, axis=2).max() < 1e-9
    assert np.ptp(halves[:, 0]) > 1.0
    curves = DecodedGridDisplay.from_estimator(model, n_side=4, ax=page())
    assert curves.decoded.shape[2] == 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_shape": (8, 8)}, r"image_shape=\(8, 8\) has 64 pixels; the data have 3 features"),
        ({"image_shape": (1, 1, 4)}, "must be \\(height, width\\)"),
        ({"n_side": 1}, "n_side=1 must be at least 2"),
        ({"value_range": (1.0, 1.0)}, "low < high"),
        ({"components": [0, 2]}, "different numbers from 0 to 1"),
        ({"at": [0.0]}, "one number for each of the 2"),
    ],
)
def test_what_a_grid_refuses(settings, message):
    with pytest.raises(ValueError, match=message):
        DecodedGridDisplay.from_estimator(model_of("ukr-2")[0], **settings)


# The manifold in data space ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_segments_lead_to_the_projections(name, tmp_path):
    model, X = model_of(name)
    features = (0, 2) if X.shape[1] > 3 else tuple(range(X.shape[1]))
    display = ManifoldDisplay.from_estimator(
        model, X, view=features, n_places=12, ax=page(len(features))
    )
    assert_allclose(display.data, X[:, features])
    last = last_of(model)
    rebuilt = (
        model.inverse_transform(model.transform(X)) if model is not last else model.reconstruct(X)
    )
    segments = getattr(display.segments_, "_segments3d", None)
    segments = np.array(display.segments_.get_segments() if segments is None else segments)
    assert_allclose(segments[:, 0], X[:, features])
    assert_allclose(segments[:, 1], rebuilt[:, features], atol=1e-9)
    assert same_rows(offsets_of(display.points_), X[:, features])
    assert name not in RENDERED or is_drawn(display, tmp_path)


@pytest.mark.parametrize("name", ["ukr-1", "circle"])
def test_a_curve_is_the_decoded_line_within_the_support(name):
    model, _ = model_of(name)
    display = ManifoldDisplay.from_estimator(model, n_places=300, ax=page())
    (line,) = display.manifold_
    curve = np.column_stack(line.get_data())
    places = display.lattice.axes[0][:, None]
    there = np.isfinite(curve).all(axis=1)
    assert_allclose(curve[there], model.inverse_transform(places[there]))
    if name == "circle":
        assert there.all()
        assert_allclose(curve[0], curve[-1])
        assert (places[0], places[-1]) == (-1.0, 1.0)
    else:
        supported = model.log_density(places) >= model.log_density_threshold_
        assert (there == supported).all()
        assert not there.all()


def test_a_surface_has_the_cells_that_are_supported():
    model, X = model_of("ukr-2")
    display = ManifoldDisplay.from_estimator(model, X, n_places=25, ax=page(3))
    quads, cells = display.lattice.quads()
    mesh = np.stack(np.meshgrid(*display.lattice.axes, indexing="ij"), -1)
    supported = (model.log_density(mesh.reshape(-1, 2)) >= model.log_density_threshold_).reshape(
        mesh.shape[:2]
    )
    whole = supported[:-1, :-1] & supported[1:, :-1] & supported[1:, 1:] & supported[:-1, 1:]
    assert len(quads) == whole.sum() < whole.size
    assert_allclose(quads[:, 0], model.inverse_transform(mesh[tuple(cells.T)]))
    colors = display.manifold_[0].get_facecolor()
    assert len(np.unique(colors, axis=0)) > 10  # those of the first latent
    tube, _ = model_of("cylinder")
    assert ManifoldDisplay.from_estimator(tube, n_places=8, ax=page(3)).lattice.wrapped == (
        True,
        False,
    )


def test_a_lattice_of_lines_in_the_plane():
    model, X = model_of("cube")
    display = ManifoldDisplay.from_estimator(model, X, view=(0, 1), n_places=9, ax=page())
    lines = display.manifold_[0].get_segments()
    assert len(lines) == 3 * 7 * 7
    assert {len(line) for line in lines} == {9}


def test_views():
    model, X = model_of("ukr-3")
    principal = ManifoldDisplay.from_estimator(model, X, n_places=6, ax=page(3))
    assert principal.ax_.name == "3d"
    assert principal.axis_names[0].startswith("principal axis 1 (")
    centred = X - X.mean(axis=0)
    _, values, _ = np.linalg.svd(centred)
    assert_allclose(np.linalg.norm(principal.data, axis=0), values[:3])
    flat = ManifoldDisplay.from_estimator(model, X, view=(4, 1), n_places=6, ax=page())
    assert flat.ax_.get_xlabel() == "feature 5"


def test_feature_names_are_shown_as_they_are():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(CURVE, columns=["$x_1$", "weight"])
    model = PrincipalManifold(alpha=1e-2, random_state=0).fit(table)
    display = ManifoldDisplay.from_estimator(model, table, view=["weight", "$x_1$"], n_places=20)
    assert display.ax_.get_xlabel() == "weight"
    assert_allclose(display.data, CURVE[:, ::-1])
    with pytest.raises(ValueError, match="there is no feature 'height'"):
        ManifoldDisplay.from_estimator(model, table, view=["height", "weight"])


def test_codebooks_are_drawn_as_points():
    model, X = model_of("points")
    display = ManifoldDisplay.from_estimator(model, X)
    assert same_rows(
        offsets_of(display.manifold_), model.inverse_transform(np.arange(5.0)[:, None])
    )


def test_data_of_many_rows_have_no_segments(monkeypatch):
    monkeypatch.setattr("twofold.plotting.manifold.MOST_SEGMENTS", 50)
    model, X = model_of("circle")
    display = ManifoldDisplay.from_estimator(model, X, labels=np.arange(N) % 2, n_places=20)
    assert display.segments_ is None
    assert len(display.legend_.get_texts()) == 2
    values = ManifoldDisplay.from_estimator(model, X, labels=X[:, 0], n_places=20)
    assert values.colorbar_ is not None
    assert values.plot(show_colorbar=False).colorbar_ is None
    assert len(values.figure_.axes) == 1


def test_a_surface_beside_values_has_one_colour():
    model, X = model_of("two_way")
    hues = []
    for labels in (None, X[:, 0]):
        display = ManifoldDisplay.from_estimator(model, X, labels, view=[0, 1, 2])
        display.figure_.draw_without_rendering()  # colours in space are sorted when they are drawn
        colors = display.manifold_[0].get_facecolor()[:, :3]
        hues.append(len(np.unique((colors / colors.max(axis=1, keepdims=True)).round(3), axis=0)))
    assert hues[0] > 5
    assert hues[1] == 1


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_any_scale_of_the_data(scale, tmp_path):
    model = DRUR(n_centers=15, alpha=1e-3, init="pca", random_state=0).fit(scale * SHEET)
    display = ManifoldDisplay.from_estimator(model, scale * SHEET, n_places=15, ax=page(3))
    assert np.isfinite(display.manifold_[0].get_facecolor()).all()
    assert is_drawn(display, tmp_path)


def test_what_a_manifold_refuses():
    model, X = model_of("ukr-2")
    with pytest.raises(ValueError, match="labels are those of rows: give X"):
        ManifoldDisplay.from_estimator(model, labels=np.zeros(N))
    with pytest.raises(ValueError, match="two or three different features"):
        ManifoldDisplay.from_estimator(model, X, view=[1])
    with pytest.raises(ValueError, match="make it with projection='3d'"):
        ManifoldDisplay.from_estimator(model, X, ax=Figure().add_subplot())
    with pytest.raises(ValueError, match="make it without projection='3d'"):
        LatentMapDisplay.from_estimator(model, ax=Figure().add_subplot(projection="3d"), n_grid=9)
    line = TwoWay("pca", n_components=1, up="nw", down="nw").fit(CURVE[:, :1])
    with pytest.raises(ValueError, match="one feature"):
        ManifoldDisplay.from_estimator(line)


# Candidates ----------------------------------------------------------------------------------------------------------

TABLES = {
    "ukr-2": ("cv_error", "leave-one-out error"),
    "ukr-quartic": ("cv_error", "leave-one-out error"),
    "drur": ("energy", "energy after one turn"),
    "two_way": ("error", "share of held-out variance lost"),
    "box": ("value", "functional after a few turns"),
}


@pytest.mark.parametrize("name", TABLES)
def test_candidates_are_those_of_the_model(name, tmp_path):
    model, _ = model_of(name)
    key, measure = TABLES[name]
    display = CandidatesDisplay.from_estimator(model)
    assert_allclose(display.errors, [row[key] for row in model.candidates_])
    curves = name.startswith("ukr")
    axis = display.ax_.get_ylabel() if curves else display.ax_.get_xlabel()
    assert axis == measure
    drawn = np.concatenate(
        [line.get_ydata() if curves else line.get_xdata() for line in display.lines_]
    )
    assert np.isclose(drawn[:, None], display.errors).any(axis=0).all()
    if not curves:
        (taken,) = display.lines_[1].get_xdata()
        assert taken == display.errors.min()
        names = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert len(names) == len(model.candidates_)
    assert is_drawn(display, tmp_path)


def test_candidates_along_their_neighbours():
    display = CandidatesDisplay.from_estimators(
        {k: model_of(k)[0] for k in ("ukr-2", "ukr-quartic")}
    )
    assert display.ax_.get_xlabel() == "neighbours"
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names[:3] == ["ukr-2, isomap", "ukr-2, pca", "ukr-quartic, isomap"]
    assert names[3].startswith("ukr-2, after the fit (")
    for line, name in zip(display.lines_, names, strict=False):
        if name.endswith("pca"):
            continue
        model, _ = model_of(name.split(",")[0])
        errors = {row["name"]: row["cv_error"] for row in model.candidates_}
        assert list(line.get_xdata()) == [6.0, 8.0]
        assert_allclose(line.get_ydata(), [errors["isomap:6"], errors["isomap:8"]])
    levels = display.ax_.lines[-2].get_ydata()
    assert_allclose(levels, model_of("ukr-2")[0].cv_error_)


def test_weights_of_a_penalty():
    model, _ = model_of("circle")
    display = CandidatesDisplay.from_estimator(model)
    (line,) = display.lines_
    assert_allclose(np.sort(line.get_xdata()), np.sort(model.alphas_))
    order = np.argsort(model.alphas_)
    assert_allclose(line.get_ydata(), model.cv_errors_.mean(axis=1)[order])
    ring = display.ax_.lines[-1]
    assert_allclose(ring.get_xdata(), [model.alpha_])
    assert display.ax_.get_xscale() == "log"


def test_what_candidates_refuse():
    with pytest.raises(ValueError, match="has compared no candidates"):
        CandidatesDisplay.from_estimator(model_of("isomap")[0])
    with pytest.raises(ValueError, match="measure different errors"):
        CandidatesDisplay.from_estimators({"a": model_of("drur")[0], "b": model_of("ukr-2")[0]})
    with pytest.raises(ValueError, match="models is empty"):
        CandidatesDisplay.from_estimators({})
    with pytest.raises(ValueError, match="give one for each"):
        CandidatesDisplay(names=["a"], errors=[1.0, 2.0])


# Learning curves -----------------------------------------------------------------------------------------------------

OBJECTIVES = {
    "ukr-2": "leave-one-out error",
    "drur": "energy of a row",
    "box": "regularized quantization error",
    "sne": "Kullback-Leibler divergence of a row",
    "pipeline": "leave-one-out error",
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_learning_curves_are_the_histories(name, tmp_path):
    model, _ = model_of(name)
    last = last_of(model)
    display = LearningCurveDisplay.from_estimator(model)
    (line,) = display.lines_
    assert_allclose(line.get_ydata(), last.history_)
    assert display.ax_.get_ylabel() == OBJECTIVES[name]
    assert line.get_xdata()[-1] == (last.n_iter_ if name != "drur" else len(last.history_))
    if name == "drur":
        (held_out,) = display.held_out_lines_
        assert_allclose(held_out.get_ydata(), last.validation_history_)
    assert is_drawn(display, tmp_path)


def test_held_out_errors_in_other_units_have_an_axis_of_their_own(tmp_path):
    model = UKR(1, init="isomap:6", max_iter=25, tol=0.0, validation_fraction=0.2, random_state=0)
    model.fit(CURVE)
    display = LearningCurveDisplay.from_estimator(model)
    assert display.ax_held_out_.get_ylabel() == "share of held-out variance lost"
    (held_out,) = display.held_out_lines_
    assert list(held_out.get_xdata()) == [10.0, 20.0]
    assert_allclose(held_out.get_ydata(), model.validation_history_)
    assert [t.get_text() for t in display.legend_.get_texts()] == [
        "rows of the fit",
        "held-out rows",
    ]
    assert is_drawn(display, tmp_path)


def test_several_learning_curves_and_their_scale():
    models = {name: model_of(name)[0] for name in ("ukr-2", "ukr-quartic")}
    display = LearningCurveDisplay.from_estimators(models)
    assert [text.get_text() for text in display.legend_.get_texts()] == list(models)
    assert display.ax_.get_yscale() == "linear"
    assert LearningCurveDisplay.from_estimators(models, scale="log").ax_.get_yscale() == "log"
    with pytest.raises(ValueError, match="minimise different objectives"):
        LearningCurveDisplay.from_estimators({"a": models["ukr-2"], "b": model_of("drur")[0]})
    with pytest.raises(ValueError, match="TwoWay is not fitted by iterations"):
        LearningCurveDisplay.from_estimator(model_of("two_way")[0])
    with pytest.raises(ValueError, match="curves is empty"):
        LearningCurveDisplay.from_estimators({})


def test_generalization():
    model, X = model_of("circle")
    display = GeneralizationDisplay.from_estimator(model, X, n_repeats=1)
    curve = display.report.curve
    assert_allclose(display.measured_.get_xdata(), curve.sizes)
    gaps = np.where(curve.gaps > 0, curve.gaps, np.nan)
    assert_allclose(display.measured_.get_ydata(), gaps)
    assert_allclose(display.predicted_.get_ydata(), display.report.predicted())
    assert "certificate" in display.ax_.get_title()
    with pytest.raises(TypeError, match="PrincipalManifold has"):
        GeneralizationDisplay.from_estimator(model_of("two_way")[0], X)


# Class borders -------------------------------------------------------------------------------------------------------

CLASSIFIERS = {
    "density": KernelDensityClassifier(),
    "neighbours": KNeighborsClassifier(3),
    "scores": SVC(),
}


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("name", ["two_way", "box"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_borders_are_where_the_answer_changes(name, kind, n_classes, tmp_path):
    model, _ = model_of(name)
    Z = model.embedding_
    order = np.argsort(np.argsort(Z[:, 0]))
    labels = np.array(["low", "middle", "high"])[order * n_classes // N]
    classifier = CLASSIFIERS[kind].fit(Z, labels)
    display = ClassBordersDisplay.from_estimator(
        model, classifier, Z[::2], labels[::2], n_grid=60, ax=page()
    )
    assert len(display.borders_) == n_classes
    step = 1.5 * display.density.grid.spacing
    ways = step * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    for border in display.borders_:
        places = np.vstack([path.vertices for path in border.get_paths()])[::5]
        around = classifier.predict((places[:, None] + ways).reshape(-1, 2)).reshape(len(places), 4)
        changes = (around != around[:, :1]).any(axis=1)
        assert changes.mean() > 0.95
    assert same_rows(offsets_of(display.points_), Z[::2])
    assert sum(len(marks.get_offsets()) for marks in display.points_) == N // 2
    names = sorted(text.get_text() for text in display.legend_.get_texts())
    assert names == sorted(set(labels))
    assert is_drawn(display, tmp_path)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_borders_lie_between_the_places_of_the_grid(n_classes):
    """Scores that are linear have straight borders, which contours find exactly if both sides are weighed alike."""

    class Linear:
        classes_ = np.array(["left", "right", "never"])[:n_classes]

        def decision_function(self, Z):
            ahead = Z[:, 0] + 0.3 * Z[:, 1] - 0.0123
            return ahead if n_classes == 2 else np.column_stack([-ahead, ahead, -9.0 + 0 * ahead])

        def predict(self, Z):
            return self.classes_[(Z[:, 0] + 0.3 * Z[:, 1] > 0.0123).astype(int)]

    model, _ = model_of("two_way")
    labels = Linear().predict(model.embedding_)
    display = ClassBordersDisplay.from_estimator(
        model, Linear(), model.embedding_, labels, n_grid=20, ax=page()
    )
    places = np.vstack([p.vertices for line in display.borders_ for p in line.get_paths()])
    assert len(display.borders_) == 2
    assert_allclose(places[:, 0] + 0.3 * places[:, 1], 0.0123, atol=1e-9)


def test_classifiers_without_scores_and_points_of_the_wrong_kind():
    class Halves:
        def predict(self, Z):
            return np.where(Z[:, 1] > 0.0, "up", "down")

    model, X = model_of("two_way")
    Z = model.embedding_
    labels = Halves().predict(Z)
    display = ClassBordersDisplay.from_estimator(model, Halves(), Z, labels, n_grid=40, ax=page())
    places = np.vstack([path.vertices for path in display.borders_[0].get_paths()])
    assert np.abs(places[:, 1]).max() <= display.density.grid.spacing
    with pytest.raises(ValueError, match=r"Z has shape .*use model.transform"):
        ClassBordersDisplay.from_estimator(model, Halves(), X, labels)
    with pytest.raises(ValueError, match="labels has 3 entries"):
        ClassBordersDisplay.from_estimator(model, Halves(), Z, labels[:3])
    with pytest.raises(ValueError, match="borders on paper need n_components=2"):
        ClassBordersDisplay.from_estimator(model_of("ukr-1")[0], Halves(), Z, labels)


# Reconstruction errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*MODELS, "ukr-l1"])
def test_colours_are_the_errors(name, tmp_path):
    if name == "ukr-l1":
        model, X = UKR(metric="l1", init="isomap:8", max_iter=100, tol=1e-2).fit(SHEET), SHEET
    else:
        model, X = model_of(name)
    ax = page(last_of(model).embedding_.shape[1])
    display = ReconstructionErrorDisplay.from_estimator(model, X, n_grid=20, ax=ax)
    last = last_of(model)
    if model is last:
        assert_allclose(display.errors, model.reconstruction_error(X), atol=1e-9)
    else:
        rebuilt = model.inverse_transform(model.transform(X))
        assert_allclose(display.errors, np.linalg.norm(X - rebuilt, axis=1))
    assert_allclose(display.latents, model.transform(X))
    drawn = offsets_of(display.points_)
    q = display.latents.shape[1]
    order = np.argsort(display.errors, kind="stable")  # the largest are drawn last
    assert_allclose(drawn[:, :q], display.latents[order])
    if q == 1:
        assert_allclose(drawn[:, 1], display.errors[order])
    counts = np.array([bar.get_width() for bar in display.bars_])
    assert counts.sum() == len(X)
    assert name not in RENDERED or is_drawn(display, tmp_path)


def test_one_outlier_does_not_take_all_the_colours():
    errors = np.append(np.linspace(0.5, 1.0, 300), 100.0)
    display = ReconstructionErrorDisplay(RNG.standard_normal((301, 2)), errors).plot()
    colors = display.points_[0].get_facecolors()
    assert len(np.unique(colors, axis=0)) > 30
    assert display.ax_histogram_.get_ylim()[1] == 100.0
    with pytest.raises(ValueError, match="give one for each"):
        ReconstructionErrorDisplay(np.zeros((3, 2)), np.zeros(2))


def test_errors_within_axes_of_yours():
    model, X = model_of("ukr-2")
    figure = Figure()
    ax = figure.add_subplot(1, 2, 1)
    display = ReconstructionErrorDisplay.from_estimator(model, X, ax=ax, n_grid=20)
    assert display.ax_ is ax
    assert display.ax_histogram_ in ax.child_axes


# Residual variances --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_residual_variances_are_those_of_held_out_rows(in_pipeline, tmp_path):
    from sklearn.base import clone
    from sklearn.model_selection import ShuffleSplit

    model = TwoWay("pca", up="nw", down="nw", random_state=0)
    estimator = make_pipeline(StandardScaler(), model) if in_pipeline else model
    display = ResidualVarianceDisplay.from_data(
        estimator, SHEET, [2, 1], n_splits=2, random_state=4
    )
    name = "twoway__n_components" if in_pipeline else "n_components"
    for split, (train, test) in enumerate(
        ShuffleSplit(2, test_size=0.2, random_state=4).split(SHEET)
    ):
        for place, number in enumerate((2, 1)):
            fitted = clone(estimator).set_params(**{name: number}).fit(SHEET[train])
            assert_allclose(display.residuals[place, split], 1.0 - fitted.score(SHEET[test]))
    assert list(display.line_.get_xdata()) == [1, 2]
    assert_allclose(display.line_.get_ydata(), np.median(display.residuals, axis=1)[::-1])
    assert model.n_components is None
    assert is_drawn(display, tmp_path)


def test_residual_variances_of_models_and_of_distances():
    model, X = model_of("isomap")
    display = ResidualVarianceDisplay.from_estimator(model)
    assert_allclose(display.line_.get_ydata(), model.residual_variance_)
    assert display.chosen == model.embedding_.shape[1]
    assert_allclose(display.ax_.lines[-1].get_xdata(), [display.chosen])
    pair = [
        TwoWay("pca", n_components=k, up="nw", down="nw", random_state=0).fit(X) for k in (2, 1)
    ]
    of_models = ResidualVarianceDisplay.from_estimators(pair, X)
    assert_allclose(of_models.line_.get_ydata(), [1 - pair[1].score(X), 1 - pair[0].score(X)])
    first = ResidualVarianceDisplay([1, 2], [0.5, 0.2]).plot(label="first")
    second = ResidualVarianceDisplay([1, 3], [0.4, 0.1]).plot(first.ax_, label="second")
    assert [text.get_text() for text in second.legend_.get_texts()] == ["first", "second"]
    assert first.line_.get_color() != second.line_.get_color()
    assert list(first.ax_.get_xticks()) == [1, 2, 3]
    higher = ResidualVarianceDisplay([1, 2], [0.9, 0.3]).plot(first.ax_, label="higher")
    bottom, top = higher.ax_.get_ylim()
    assert bottom == 0.0
    assert top > 0.9
    splits = [[0.3, 0.3, 0.3], [-0.2, 0.1, 0.1]]
    below = ResidualVarianceDisplay([1, 2], splits).plot(first.ax_, label="below")
    assert below.ax_.get_ylim()[0] < -0.1
    ResidualVarianceDisplay([1, 2], [0.5, 0.2]).plot(first.ax_)
    assert first.ax_.get_ylim()[0] < -0.1
    with pytest.raises(ValueError, match="use from_data"):
        ResidualVarianceDisplay.from_estimator(model_of("ukr-2")[0])
    with pytest.raises(ValueError, match="dimensions is empty"):
        ResidualVarianceDisplay.from_data(model, X, [])
    with pytest.raises(ValueError, match="models is empty"):
        ResidualVarianceDisplay.from_estimators([], X)
    with pytest.raises(ValueError, match="give one for each"):
        ResidualVarianceDisplay([1, 2], [0.1])


# All of them ---------------------------------------------------------------------------------------------------------

DRAWN = {
    "latent map": lambda model, X, ax: LatentMapDisplay.from_estimator(model, ax=ax, n_grid=9),
    "decoded grid": lambda model, X, ax: DecodedGridDisplay.from_estimator(model, n_side=3, ax=ax),
    "manifold": lambda model, X, ax: ManifoldDisplay.from_estimator(
        model, view=(0, 1), n_places=15, ax=ax
    ),
    "candidates": lambda model, X, ax: CandidatesDisplay.from_estimator(model, ax=ax),
    "learning curve": lambda model, X, ax: LearningCurveDisplay.from_estimator(model, ax=ax),
    "errors": lambda model, X, ax: ReconstructionErrorDisplay.from_estimator(
        model, X, n_grid=9, ax=ax
    ),
    "borders": lambda model, X, ax: ClassBordersDisplay.from_estimator(
        model,
        KNeighborsClassifier().fit(model.embedding_, X[:, 0] > 0),
        model.embedding_,
        X[:, 0] > 0,
        n_grid=9,
        ax=ax,
    ),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_axes_of_yours_and_figures_of_ours(kind):
    model, X = model_of("ukr-2")
    before = dict(vars(model))
    figure = Figure()
    for ax in (figure.add_subplot(1, 2, 1), figure.subfigures(1, 2)[1].add_subplot()):
        display = DRAWN[kind](model, X, ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
    own = DRAWN[kind](model, X, None)
    assert own.figure_ is not figure
    assert own.plot(ax) is own  # again, elsewhere
    assert own.figure_ is figure
    assert vars(model) == before


def test_notebooks_show_displays_and_figures():
    display = CandidatesDisplay(names=["a", "b"], errors=[1.0, 2.0])
    assert display._repr_png_() is None
    display.plot()
    assert display._repr_png_().startswith(b"\x89PNG")
    assert display.figure_._repr_png_() == display._repr_png_()
    for again in (pickle.loads(pickle.dumps(display.figure_)), copy.deepcopy(display.figure_)):
        assert again._repr_png_() == display._repr_png_()


@pytest.mark.parametrize("kind", ["latent map", "decoded grid", "manifold", "errors", "borders"])
def test_labels_are_within_the_figure(kind):
    """Axes of fixed proportions do not push their own labels off the page."""
    model, X = model_of("ukr-2")
    display = DRAWN[kind](model, X, None)
    display.figure_.savefig("/dev/null", format="png")
    renderer = display.figure_._get_renderer()
    width, height = display.figure_.bbox.size
    for axis in (display.ax_.xaxis, display.ax_.yaxis):
        box = axis.label.get_window_extent(renderer)
        assert box.x0 >= 0.0
        assert box.y0 >= 0.0
        assert box.x1 <= width
        assert box.y1 <= height
    assert display.ax_.get_aspect() == 1.0


SCRIPT = """
import sys
import numpy as np
from twofold import TwoWay
from twofold.plotting import LatentMapDisplay
assert "matplotlib" not in sys.modules
X = np.random.default_rng(0).random((30, 3))
display = LatentMapDisplay.from_estimator(TwoWay("pca", up="nw", down="nw").fit(X), n_grid=9)
display.figure_.savefig(sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
sys.modules["matplotlib.figure"] = None
try:
    display.plot()
except ImportError as error:
    assert 'pip install "twofold[plot]"' in str(error)
else:
    raise AssertionError
"""


def test_no_pyplot_and_a_remedy_without_matplotlib(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "map.png"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_only_fitted_two_way_models_are_drawn():
    with pytest.raises(TypeError, match="KNeighborsClassifier is no two-way estimator"):
        LatentMapDisplay.from_estimator(KNeighborsClassifier())
    with pytest.raises(NotFittedError):
        LatentMapDisplay.from_estimator(UKR())
    four = TwoWay(RNG.random((30, 4)), up="nw", down="nw", random_state=0).fit(RNG.random((30, 5)))
    with pytest.raises(ValueError, match="4 latent dimensions, too many for a picture"):
        LatentMapDisplay.from_estimator(four)
    assert LatentMapDisplay.from_estimator(four, components=(3, 0), n_grid=9).latents.shape == (
        30,
        2,
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [([1, 2, 3], "labels has 3 entries for 120 rows"), (np.zeros((N, 2)), "a column")],
)
def test_labels_of_the_wrong_shape(labels, message):
    with pytest.raises(ValueError, match=message):
        LatentMapDisplay.from_estimator(model_of("ukr-2")[0], labels=labels, n_grid=9)
    with pytest.raises(ValueError, match="needs numbers"):
        read_labels(["a"] * N, N, "values")
    with pytest.raises(ValueError, match="names='somewhere' must be one of"):
        LatentMapDisplay(np.zeros((3, 2))).plot(names="somewhere")
    with pytest.raises(ValueError, match="latents hold NaN"):
        LatentMapDisplay([[0.0, np.nan]])
    with pytest.raises(ValueError, match="one to three columns"):
        LatentMapDisplay(np.zeros((3, 4)))


def test_files_are_complete_or_absent(tmp_path):
    display = LatentMapDisplay(RNG.random((9, 2))).plot()
    assert save_figure(display, tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    assert save_figure(display.ax_, str(tmp_path / "bare")).read_bytes().startswith(b"\x89PNG")
    assert save_figure(display.figure_, tmp_path / "map.svg").read_bytes().startswith(b"<?xml")
    (tmp_path / "old.png").mkdir()
    with pytest.raises(OSError, match="old"):
        save_figure(display, tmp_path / "old.png")
    with pytest.raises(ValueError, match="not supported"):
        save_figure(display, tmp_path / "map.nonsense")
    with pytest.raises(TypeError, match="give a display, a Figure or Axes"):
        save_figure(np.zeros(3), tmp_path / "array.png")
    with pytest.raises(ValueError, match="is not drawn yet"):
        save_figure(LatentMapDisplay(np.zeros((3, 2))), tmp_path / "undrawn.png")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["bare", "map.pdf", "map.svg", "old.png"]


# Colours -------------------------------------------------------------------------------------------------------------

# Machado, Oliveira & Fernandes (2009): linear RGB as seen by those without one kind of cones.
SEEN = {
    "all cones": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colors, seen):
    """Return colours in CIELAB, in which distances are about as large as they look."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ seen.T, 0, 1) @ TO_XYZ.T / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f.T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize(
    ("palette", "least"), [(COLORS, 15.0), (LINE_COLORS, 15.0), ((*COLORS, MISSING), 10.0)]
)
def test_colours_stay_apart_for_colour_blind_readers(palette, least, eyes):
    seen = lab(palette, SEEN[eyes])
    distances = np.linalg.norm(seen[:, None] - seen, axis=2)
    assert distances[~np.eye(len(palette), dtype=bool)].min() > least


def test_names_can_be_read_on_white():
    for color in (*COLORS, MISSING):
        assert lab([dark_enough(color)], np.eye(3))[0, 0] < 45.0
    assert class_color(-1) == MISSING
    assert to_rgba(class_color(10)) == to_rgba(class_color(0))
    assert Domain((True,)).wrapped == (True,)
