"""Stretch, tears, seams and folds: on maps that are right, cut, folded or bent on purpose."""

import numpy as np
import pytest
from drawn_models import MODELS, RENDERED, is_drawn, last_of, model_of, page
from matplotlib.figure import Figure

from twofold import PrincipalManifold, TableMap, TwoWay
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.manifold_geometry import Stretch
from twofold.plotting import LatentMapDisplay, StretchDisplay

ROLL, TRUTH = make_swiss_roll(700, random_state=0)
TRUTH = (TRUTH - TRUTH.min(axis=0))[:, np.argsort(-np.ptp(TRUTH, axis=0))]
LENGTH = TRUTH[:, 0].max()
U, V = TRUTH.T
LATENTS = {
    "right": TRUTH,
    # The halves of the roll change places: its middle is cut, and its ends are glued together.
    "cut": np.column_stack([np.mod(U + 0.5 * LENGTH, LENGTH), V]),
    "folded": np.column_stack([np.abs(U - 0.5 * LENGTH), V]),
    "bent": np.column_stack([LENGTH * (U / LENGTH + (U / LENGTH) ** 2), V]),
}
_found = {}


def found(name):
    if name not in _found:
        model = TwoWay(LATENTS[name], up="krr", down="nw", random_state=0).fit(ROLL)
        _found[name] = model, model.stretch(LATENTS[name], ROLL)
    return _found[name]


@pytest.mark.parametrize("name", ["right", "bent"])
def test_a_right_map_has_no_faults(name):
    stretch = found(name)[1]
    assert not stretch.is_fold.any()
    assert stretch.is_tear.mean() < 0.01
    assert stretch.is_seam.mean() < 0.02
    if name == "right":  # the parameters are lengths
        np.testing.assert_allclose(np.median(stretch.singular_values, axis=0), 1.0, atol=0.03)
        assert 1.0 <= np.median(stretch.anisotropy) < 1.03
        assert abs(stretch.usual - 1.0) < 0.05


def test_a_cut_map_is_torn_where_ends_are_glued_and_has_a_seam_where_it_was_cut():
    stretch = found("cut")[1]
    u = LATENTS["cut"][:, 0]
    glued = np.abs(u - 0.5 * LENGTH) < 0.015 * LENGTH
    cut = np.minimum(u, LENGTH - u) < 0.015 * LENGTH
    near_glue = np.abs(u - 0.5 * LENGTH) < 0.08 * LENGTH
    near_cut = np.minimum(u, LENGTH - u) < 0.08 * LENGTH
    assert stretch.is_tear[glued].mean() > 0.6
    assert stretch.is_seam[cut].mean() > 0.5
    assert stretch.is_tear[~near_glue].mean() < 0.01
    assert stretch.is_seam[~(near_cut | near_glue)].mean() < 0.03
    # The sheet is torn along the roll, not across.
    assert (np.abs(stretch.directions[glued][:, 0, 0]) > 0.8).all()


def test_a_folded_map_shows_in_rows():
    model, stretch = found("folded")
    assert stretch.is_fold.mean() > 0.2
    assert not model.stretch(LATENTS["folded"]).is_fold.any()  # not without rows
    assert np.array_equal(model.stretch(LATENTS["folded"]).gap, stretch.gap)


def test_fields_follow_from_the_metric():
    model, stretch = found("cut")
    Z = stretch.latents[:20]
    some = model.stretch(Z)
    G = model.metric_tensor(Z)
    np.testing.assert_allclose(some.area, np.sqrt(np.linalg.det(G)), rtol=1e-8)
    np.testing.assert_allclose(some.mean, np.sqrt(some.area), rtol=1e-10)
    quadratic = np.einsum("nki,nij,nkj->nk", some.directions, G, some.directions)
    np.testing.assert_allclose(np.sqrt(quadratic), some.singular_values, rtol=1e-8)
    assert np.array_equal(model.stretch(Z[3:5]).gap, some.gap[3:5])
    assert (some.pull <= some.singular_values[:, 0]).all()


def test_the_unit_of_the_data_changes_stretch_and_no_judgment():
    stretch = found("cut")[1]
    model = TwoWay(1e-3 * LATENTS["cut"], up="krr", down="nw", random_state=0).fit(1e6 * ROLL)
    other = model.stretch(1e-3 * LATENTS["cut"], 1e6 * ROLL)
    np.testing.assert_allclose(other.singular_values, 1e9 * stretch.singular_values, rtol=1e-3)
    np.testing.assert_allclose(other.usual, 1e9 * stretch.usual, rtol=1e-3)
    for name in ("is_tear", "is_seam", "is_fold"):
        assert (getattr(other, name) != getattr(stretch, name)).mean() < 0.01


def test_a_closed_curve_is_whole_on_a_circle_and_cut_on_a_line():
    angles = np.sort(np.random.default_rng(0).uniform(-np.pi, np.pi, 300))
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    closed = PrincipalManifold(domain="circle", alpha=1e-3, random_state=0).fit(ring)
    found = closed.stretch(closed.embedding_, ring)
    assert not (found.is_seam | found.is_fold | found.is_tear).any()
    opened = TwoWay(angles[:, None], n_components=1, up="krr", down="nw", random_state=0)
    seam = opened.fit(ring).stretch(angles[:, None]).is_seam
    assert seam[[0, -1]].all()
    assert not seam[30:-30].any()


def test_prints_frames_and_wrong_input():
    model, stretch = found("cut")
    assert "torn" in str(stretch)
    assert "at seams" in repr(stretch)
    assert stretch._repr_html_().startswith("<table>")
    frame = stretch.to_frame()
    assert len(frame) == len(ROLL)
    assert frame.is_tear.sum() == stretch.is_tear.sum()
    assert isinstance(model.stretch(stretch.latents[:1]), Stretch)
    with pytest.raises(ValueError, match="at least 11 rows"):
        model.stretch(stretch.latents[:5], ROLL[:5])
    with pytest.raises(ValueError, match="X has 40 rows, but Z has 50"):
        model.stretch(stretch.latents[:50], ROLL[:40])
    table = TableMap(TwoWay("pca", up="nw", down="nw")).fit(ROLL[:90])
    assert table.stretch(table.embedding_, ROLL[:90]).overlap.shape == (90,)


@pytest.mark.filterwarnings("error")
def test_places_far_away_are_finite():
    X = make_s_curve(60, random_state=0)[0]
    model = TwoWay("pca", up="nw", down="nw").fit(X)
    found = model.stretch(np.array([[1e300, 1e300], [-1e150, 0.0], [1e20, -1.0]]))
    for values in (found.singular_values, found.pull, found.gap, found.area, found.anisotropy):
        assert np.isfinite(values).all()
    assert "nan" not in str(found)


def test_gaps_and_equal_rows():
    X = make_s_curve(60, random_state=0)[0]
    X[::5, 1] = np.nan
    model = TwoWay("pca", up="nw", down="nw").fit(X)
    assert np.isfinite(model.stretch(model.embedding_, X).overlap).all()
    twice = np.repeat(make_s_curve(20, random_state=0)[0], 12, axis=0)
    model = TwoWay("pca", up="nw", down="nw").fit(twice)
    found = model.stretch(model.embedding_, twice)
    assert np.isfinite(found.gap).all()
    assert np.isfinite(found.overlap).all()


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("points", "constant")])
def test_pictures(name, tmp_path):
    model, X = model_of(name)
    q = last_of(model).embedding_.shape[1]
    if q == 3:
        with pytest.raises(ValueError, match="3 latent dimensions"):
            StretchDisplay.from_estimator(model, X)
        return
    display = StretchDisplay.from_estimator(model, X, n_grid=12, ax=page())
    assert display.supported.sum() == len(display.places.latents)
    assert set(display.faults_) == {"tear", "seam", "fold"}
    for fault in ("seam", "fold"):
        assert bool(display.faults_[fault]) == getattr(display.rows, f"is_{fault}").any()
    assert name not in RENDERED or is_drawn(display, tmp_path)


def test_a_picture_of_a_cut_map():
    model, _ = found("cut")
    display = StretchDisplay.from_estimator(model, ROLL)
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names[:2] == ["torn", "at a seam"]
    torn = display.places.latents[display.places.is_tear]
    assert (np.abs(torn[:, 0] - 0.5 * LENGTH) < 0.05 * LENGTH).mean() > 0.9
    ax = Figure().add_subplot()
    assert display.plot(ax, value="anisotropy", show_rows=False).ax_ is ax
    assert not display.faults_["seam"]
    with pytest.raises(ValueError, match="value='size' must be one of"):
        display.plot(value="size")


def test_area_true_density_behind_a_map(tmp_path):
    model, _ = found("bent")
    plain, true = (
        LatentMapDisplay.from_estimator(model, density_per=per, n_grid=30, ax=page()).density
        for per in ("latent", "manifold")
    )
    held = plain.log_density >= plain.log_border
    places = plain.grid.points[held.ravel()]
    expected = plain.log_density[held] - np.log(model.stretch(places).area)
    np.testing.assert_allclose(true.log_density[held], expected, atol=1e-6)
    assert (true.log_density[~held] < true.levels[0]).all()
    # The map stretches the right end, where its points look sparse.
    assert np.corrcoef(places[:, 0], (true.log_density - plain.log_density)[held])[0, 1] > 0.9
    assert np.array_equal(true.log_bounding, plain.log_density)
    cube, _ = model_of("ukr-3")
    with pytest.raises(ValueError, match="density_per='manifold' needs all latent dimensions"):
        LatentMapDisplay.from_estimator(cube, components=(0, 1), density_per="manifold")
    for name in ("ukr-1", "circle", "cylinder", "constant"):
        one, _ = model_of(name)
        is_drawn(LatentMapDisplay.from_estimator(one, density_per="manifold", n_grid=9), tmp_path)
