"""Stability over resamples: rolls are stable, noise is not, and rows between two sheets less so."""

import numpy as np
import pytest
from drawn_models import is_drawn, offsets_of, page
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import UKR, PrincipalManifold, TableMap, TwoWay
from twofold.datasets import make_s_curve, make_swiss_roll
from twofold.model_selection import Stability, stability
from twofold.model_selection.resampling import _agreement, _aligned, _neighbors
from twofold.plotting import StabilityDisplay

ISOMAP = TwoWay("isomap", up="nw", down="nw")
S_CURVE = make_s_curve(200, random_state=0)[0]
RNG = np.random.default_rng(0)


def naive_shares(maps, k):
    """Return the share of common neighbors less chance for each pair of maps and row, by loops."""
    n = len(maps[0])
    near = []
    for Z in maps:
        distances = np.square(Z[:, None] - Z).sum(axis=2)
        np.fill_diagonal(distances, np.inf)
        near.append([set(row[:k]) for row in np.argsort(distances, axis=1)])
    chance = k / (n - 1)
    return {
        (a, b): np.array(
            [(len(near[a][i] & near[b][i]) / k - chance) / (1 - chance) for i in range(n)]
        )
        for a in range(len(maps))
        for b in range(a)
    }


def test_scores_and_intervals_are_those_of_loops():
    start = RNG.normal(size=(40, 2))
    maps = [start + 0.3 * RNG.normal(size=start.shape) for _ in range(4)]
    shares = naive_shares(maps, 5)
    scores, low, high, (mean, *ends) = _agreement([_neighbors(Z, 5) for Z in maps])
    expected = np.mean(list(shares.values()), axis=0)
    np.testing.assert_allclose(scores, np.clip(expected, 0.0, 1.0), atol=1e-12)
    assert abs(mean - expected.mean()) < 1e-12
    without = np.array(
        [np.mean([one for pair, one in shares.items() if m not in pair], axis=0) for m in range(4)]
    )
    error = np.sqrt(0.75 * np.square(without - without.mean(axis=0)).sum(axis=0))
    half = 2.353363 * error  # the 95 % quantile of Student's t with 3 degrees of freedom
    np.testing.assert_allclose(low, np.clip(expected - half, 0, 1), atol=1e-6)
    np.testing.assert_allclose(high, np.clip(expected + half, 0, 1), atol=1e-6)
    assert ends[0] < mean < ends[1]


def test_turned_and_bent_maps_agree():
    start = RNG.uniform(-1.0, 1.0, (80, 2))
    turn = np.linalg.qr(RNG.normal(size=(2, 2)))[0]
    turned = [start, 7.0 * start @ turn + 3.0, -0.1 * start, 1e200 * start[:, ::-1]]
    mean, shifts = _aligned(turned)
    assert shifts.max() < 1e-12
    assert abs(np.square(mean).sum(axis=1).mean() - 1.0) < 1e-12
    assert (_agreement([_neighbors(Z, 10) for Z in turned])[0] == 1.0).all()
    # A smooth bend moves rows, and hardly their neighbors.
    bent = [start, np.column_stack([np.sinh(1.2 * start[:, 0]), start[:, 1]])]
    assert _aligned(bent)[1].mean() > 0.05
    assert _agreement([_neighbors(Z, 10) for Z in [*bent, bent[0]]])[0].mean() > 0.8


def test_a_roll_is_stable_and_noise_is_not():
    roll = make_swiss_roll(1000, random_state=0)[0]
    found = stability(ISOMAP, roll, n_resamples=4)
    assert found.score > 0.9  # 0.949 to 0.955 over three seeds
    assert found.shifts.mean() < 0.06
    noise = stability(ISOMAP, RNG.normal(size=(300, 10)), n_resamples=4)
    assert noise.score < 0.35
    assert noise.interval[0] <= noise.score <= noise.interval[1]
    assert np.mean(noise.shifts) > 0.3


def test_rows_between_two_sheets_are_less_stable():
    """Two sheets in planes of their own, and rows halfway that belong to neither."""
    sheets = np.zeros((300, 6))
    sheets[:150, :2] = RNG.uniform(-1, 1, (150, 2))
    sheets[150:, 2:4] = RNG.uniform(-1, 1, (150, 2))
    sheets[150:, 4] = 4.0
    between = 0.3 * RNG.normal(size=(10, 6)) + [0, 0, 0, 0, 2.0, 0]
    X = np.vstack([sheets, between])
    found = stability(TwoWay("tsne", up="nw", down="nw"), X, n_resamples=5)
    # 0.59 to 0.74, and 0.90 to 0.92, over four data sets
    assert found.scores[300:].mean() < found.scores[:300].mean() - 0.1


def test_circles_pipelines_tables_and_seeds():
    angles = RNG.uniform(-np.pi, np.pi, 120)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    circle = PrincipalManifold(domain="circle", alpha=1e-3)
    found = stability(circle, ring, n_resamples=3)
    assert found.score > 0.9
    assert found.latents.shape == (120, 2)
    pipeline = make_pipeline(StandardScaler(), TwoWay("pca", up="nw", down="nw"))
    one = stability(pipeline, S_CURVE, n_resamples=3)
    again = stability(pipeline, S_CURVE, n_resamples=3)
    assert np.array_equal(one.scores, again.scores)
    assert not hasattr(pipeline[-1], "embedding_")  # clones are fitted
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(S_CURVE[:60], columns=list("abc")).assign(kind=["x", "y"] * 30)
    table = TableMap(TwoWay("pca", up="nw", down="nw"))
    assert stability(table, frame, n_resamples=3).scores.shape == (60,)


def test_prints_as_a_table():
    found = stability(ISOMAP, S_CURVE, n_resamples=3, n_neighbors=15)
    lines = str(found).splitlines()
    assert lines[0].split() == ["rows", "score", "90", "%", "interval", "shift"]
    assert lines[1].startswith("all")
    assert f"row {int(np.argmin(found.scores))}" in repr(found)
    assert "15 neighbors" in lines[-1]
    assert found._repr_html_().startswith("<table>")
    assert len(found.to_frame()) == 200
    assert (found.low <= found.scores).all()
    assert (found.high >= found.scores).all()


class NoMap(TransformerMixin, BaseEstimator):
    """Changes its number of columns with the rows."""

    def fit(self, X, y=None):
        self.width_ = 1 + int(X[0, 0] > 0)
        return self

    def transform(self, X):
        return X[:, : self.width_]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_resamples": 2}, ValueError, "n_resamples=2"),
        ({"max_samples": 1.5}, ValueError, "at most 1"),
        ({"max_samples": 0.02}, ValueError, "at least 10"),
        ({"n_neighbors": 150}, ValueError, "half of the 200 rows"),
        ({"X": S_CURVE[:12]}, ValueError, "at least 20 rows"),
        ({"estimator": object()}, TypeError, "must have get_params"),
        ({"estimator": NoMap(), "n_resamples": 8}, ValueError, "fix n_components"),
    ],
)
def test_wrong_input(options, error, message):
    given = {"estimator": ISOMAP, "X": S_CURVE, **options}
    with pytest.raises(error, match=message):
        stability(given.pop("estimator"), given.pop("X"), **given)


def test_pictures(tmp_path):
    model = TwoWay("isomap", up="nw", down="nw", random_state=0).fit(S_CURVE)
    display = StabilityDisplay.from_estimator(model, S_CURVE, n_resamples=3, ax=page())
    order = np.argsort(-display.result.scores, kind="stable")
    np.testing.assert_allclose(offsets_of(display.points_), model.transform(S_CURVE)[order])
    assert f"{display.result.score:.2f}" in display.ax_.get_title()
    assert is_drawn(display, tmp_path)
    line = StabilityDisplay(display.latents[:, :1], display.result).plot()
    assert line.ax_.get_ylabel() == "stability"
    assert line.colorbar_ is None
    with pytest.raises(ValueError, match="a row for each of 200 scores"):
        StabilityDisplay(np.zeros((3, 2)), display.result)
    cube = UKR(3, init="pca", homotopy=False, max_iter=3, random_state=0)
    ones = np.ones(3)
    few = Stability(np.zeros((3, 3)), ones, ones, ones, ones, 1.0, (1.0, 1.0), 3, 1)
    with pytest.raises(ValueError, match="one or two columns"):
        StabilityDisplay(np.zeros((3, 3)), few)
    with (
        pytest.warns(UserWarning, match="still falling"),
        pytest.raises(ValueError, match="3 latent dimensions"),
    ):
        StabilityDisplay.from_estimator(cube.fit(S_CURVE), S_CURVE)
