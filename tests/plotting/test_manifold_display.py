"""The manifold in data space: curves, surfaces, lattices and views."""

import numpy as np
import pytest
from drawn_models import (
    CURVE,
    MODELS,
    RENDERED,
    SHEET,
    N,
    is_drawn,
    last_of,
    model_of,
    offsets_of,
    page,
    same_rows,
)
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from twofold import DRUR, PrincipalManifold, TwoWay
from twofold.plotting import LatentMapDisplay, ManifoldDisplay


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
    centered = X - X.mean(axis=0)
    _, values, _ = np.linalg.svd(centered)
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


def test_a_surface_beside_values_has_one_color():
    model, X = model_of("two_way")
    hues = []
    for labels in (None, X[:, 0]):
        display = ManifoldDisplay.from_estimator(model, X, labels, view=[0, 1, 2])
        display.figure_.draw_without_rendering()  # colors in space are sorted when they are drawn
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
