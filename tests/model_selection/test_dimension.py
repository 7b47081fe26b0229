"""The chosen dimension of manifolds whose dimension is known, and of data without structure."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.dimension import SETS
from twofold.datasets import make_noisy_spiral, make_swiss_roll
from twofold.model_selection import choose_dimension
from twofold.model_selection._batched_kmeans import batched_cells, batched_codewords, batched_means
from twofold.model_selection._charts import N_FOLDS, Charts

BY_NAME = {one.name: one for one in SETS}
QUICK = [
    "spiral, 1,000 x 2, noise 0.05",
    "Swiss roll, 1,000 x 3, noise 0.5",
    "torus, radii 2 and 1, 1,500 x 3, noise 0.05",
    "3-D, quadratic, 1,500 x 20",
    "5-D, quadratic, 3,000 x 50, noise 10 %",
    "Gaussian noise, 1,000 x 10",
    "Gaussian noise, 1,000 x 50",
]
HARD = {
    "spiral, 1,000 x 2, noise 0.08",
    "Swiss roll, 2,000 x 3, noise 1",
    "3-D, faster sines, 2,000 x 20",
}
"""Sets on which too many dimensions are often found; see docs/guide/dimension.md."""


def found_on(one, seed):
    choice = choose_dimension(one.draw(seed), random_state=seed)
    return 0 if choice.is_noise else choice.n_components


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("seed", [2000, 2001])
def test_the_dimension_is_found(name, seed):
    assert found_on(BY_NAME[name], seed) == BY_NAME[name].dimension


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in HARD])
def test_the_dimension_is_found_in_nine_of_ten(name):
    right = sum(found_on(BY_NAME[name], seed) == BY_NAME[name].dimension for seed in range(10))
    assert right >= 9


def test_a_shift_a_rotation_and_a_unit_change_nothing():
    X = BY_NAME["Swiss roll, 1,000 x 3, noise 0.5"].draw(0)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    own = choose_dimension(X)
    for other in (X + 1e4, 2.0**40 * X, X @ rotation):
        choice = choose_dimension(other)
        assert choice.n_components == own.n_components
        assert_allclose(choice.scores, own.scores, atol=0.1)


def test_the_result_depends_on_the_seed_only():
    X = make_noisy_spiral(300, random_state=0)[0]
    first, again = choose_dimension(X, random_state=3), choose_dimension(X, random_state=3)
    assert_array_equal(first.scores, again.scores)
    assert first.structure == again.structure


def test_figures_of_a_choice_belong_together():
    choice = choose_dimension(make_swiss_roll(600, 0.5, random_state=0)[0])
    assert choice.dimensions.tolist() == [1, 2]
    assert choice.n_codes.tolist() == [4, 16]
    assert choice.gains[0] > choice.tolerances[0]
    assert choice.gains[1] <= choice.tolerances[1]
    assert repr(choice) == "DimensionChoice(n_components=2, compared 1 to 2)"


def test_the_largest_dimension_is_a_bound():
    X = BY_NAME["3-D, quadratic, 1,500 x 20"].draw(0)
    assert choose_dimension(X, max_components=2).n_components == 2
    assert choose_dimension(X, max_components=1).n_components == 1
    with pytest.raises(ValueError, match="max_components=0"):
        choose_dimension(X, max_components=0)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 3)),
        np.arange(50.0)[:, None],
        np.random.default_rng(0).standard_normal((5, 3)),
        np.outer(np.arange(12.0), [1.0, 2.0]),
    ],
    ids=["constant", "one column", "five rows", "few rows of a line"],
)
def test_too_little_to_compare_is_one_dimension(X):
    choice = choose_dimension(X)
    assert choice.n_components == 1
    assert len(choice.dimensions) == 0
    assert "n_components=1" in repr(choice)


def test_copies_of_rows_count_once():
    X = make_swiss_roll(600, 0.5, random_state=0)[0]
    assert choose_dimension(np.repeat(X, 3, axis=0)).n_components == 2


def test_a_line_has_one_dimension():
    assert choose_dimension(np.outer(np.arange(200.0), [1.0, 2.0, 3.0])).n_components == 1


def test_many_rows_cost_no_more_than_few():
    X = make_swiss_roll(50_000, 0.5, n_features=20, random_state=0)[0]
    choose_dimension(X[:1000])
    began = time.process_time()
    assert choose_dimension(X).n_components == 2
    assert time.process_time() - began < 20.0


class TestCharts:
    def test_codewords_are_a_fixed_point_of_lloyd(self):
        rng = np.random.default_rng(0)
        centers = 100.0 * rng.standard_normal((3, 4, 2))
        points = np.repeat(centers, 5, axis=1) + rng.standard_normal((3, 20, 2))
        codes = batched_codewords(points, 4, rng)
        for number in range(3):
            distances = np.linalg.norm(points[number][:, None] - codes[number], axis=2)
            cells = batched_cells(points, codes)[number]
            assert_array_equal(cells, distances.argmin(axis=1))
            means, sizes = batched_means(points, batched_cells(points, codes), 4)
            assert sizes[number].sum() == 20
            for code in np.unique(cells):
                assert_allclose(means[number, code], points[number][cells == code].mean(axis=0))
                assert_allclose(codes[number, code], means[number, code])

    def test_copies_of_one_point_are_no_error(self):
        codes = batched_codewords(np.ones((2, 6, 1)), 3, np.random.default_rng(0))
        assert_array_equal(codes, np.ones((2, 3, 1)))

    def test_scores_are_those_of_a_loop(self):
        rng = np.random.default_rng(0)
        charts = Charts.of(make_swiss_roll(200, 0.5, random_state=0)[0], 3, rng)
        found = charts.scores(2, 8, np.random.default_rng(1))
        again = np.random.default_rng(1)
        errors = np.zeros(len(found))
        for fold in range(N_FOLDS):
            test = np.arange(charts.rows.shape[1]) % N_FOLDS == fold
            codes = batched_codewords(charts.latents[:, ~test, :2], 8, again)
            for chart in range(len(found)):
                latents, rows = charts.latents[chart, :, :2], charts.rows[chart]
                cell = np.array([np.square(codes[chart] - z).sum(axis=1).argmin() for z in latents])
                for row in np.flatnonzero(test):
                    seen = rows[~test & (cell == cell[row])]
                    mean = seen.mean(axis=0) if len(seen) else np.zeros(3)
                    errors[chart] += np.square(rows[row] - mean).sum() / len(rows)
        assert_allclose(found, -np.log(errors / charts.variances), rtol=1e-9)

    def test_latents_of_a_flat_sheet_are_its_coordinates(self):
        sheet = np.random.default_rng(0).uniform(size=(1000, 2))
        charts = Charts.of(sheet - sheet.mean(axis=0), 2, np.random.default_rng(0))
        ratios = []
        for rows, latents in zip(charts.rows, charts.latents, strict=True):
            pairs = rows[:50, None] - rows[50:], latents[:50, None] - latents[50:]
            ratios.append(np.corrcoef(*(np.linalg.norm(pair, axis=2).ravel() for pair in pairs)))
        assert min(ratio[0, 1] for ratio in ratios) > 0.97
