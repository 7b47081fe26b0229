"""Labels of all kinds, the names of classes, and colors."""

import numpy as np
import pytest
from drawn_models import N, is_drawn, model_of, page
from matplotlib.colors import to_rgb, to_rgba
from numpy.testing import assert_allclose

from twofold.plotting import LatentMapDisplay, save_figure
from twofold.plotting._labels import (
    COLORS,
    LINE_COLORS,
    MISSING,
    Classes,
    Values,
    class_color,
    dark_enough,
    read_labels,
)
from twofold.principal_manifold.domains import Domain

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
    n_gray = int((colors[:, :3] == to_rgb(MISSING)).all(axis=1).sum())
    expected = {"nothing but gaps": N, "values as objects": 1}
    assert n_gray == expected.get(kind, N // 5 if "gaps" in kind else 0)
    assert is_drawn(display, tmp_path)


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        ([1, 2, 3], "auto", "labels has 3 entries for 120 rows"),
        (np.zeros((N, 2)), "auto", "a column"),
        (["a"] * N, "values", "needs numbers"),
    ],
)
def test_labels_that_do_not_fit(labels, kind, message):
    with pytest.raises(ValueError, match=message):
        LatentMapDisplay.from_estimator(
            model_of("ukr-2")[0], labels=labels, label_kind=kind, n_grid=9
        )


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


def test_colors_of_values_are_those_of_the_bar():
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
    assert bool(mixed.texts_) == (mixed.legend_ is None)
    long = [f"a class with a very long name indeed, number {i % 3}" for i in range(N)]
    display = LatentMapDisplay.from_estimator(model, labels=long, n_grid=15, ax=page())
    assert not display.texts_
    shown = [text.get_text() for text in display.legend_.get_texts()]
    assert all(len(name) <= 40 and name.endswith("…") for name in shown)
    same_place = LatentMapDisplay(np.zeros((N, 2)), labels=np.arange(N) % 3).plot(page())
    assert len(same_place.legend_.get_texts()) == 3
    few = LatentMapDisplay(model.embedding_[:10], labels=list("aabbbccccc")).plot(page())
    assert not few.texts_  # names would cover the points
    assert len(few.legend_.get_texts()) == 3
    one = LatentMapDisplay(model.embedding_, labels=["all"] * N).plot(page())
    assert not one.texts_
    assert one.legend_ is None
    asked = one.plot(page(), names="both")
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
    """Return colors in CIELAB, in which distances are about as large as they look."""
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
def test_colors_stay_apart_for_color_blind_readers(palette, least, eyes):
    seen = lab(palette, SEEN[eyes])
    distances = np.linalg.norm(seen[:, None] - seen, axis=2)
    assert distances[~np.eye(len(palette), dtype=bool)].min() > least


def test_names_can_be_read_on_white():
    for color in (*COLORS, MISSING):
        assert lab([dark_enough(color)], np.eye(3))[0, 0] < 45.0
    assert class_color(-1) == MISSING
    assert to_rgba(class_color(10)) == to_rgba(class_color(0))
    assert Domain((True,)).wrapped == (True,)
