"""Fits in the frame of another model, and models that are moved into one frame."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import twofold
from twofold import (
    DRUR,
    SNE,
    UKR,
    AgglomerativeIsomap,
    AutoTwoWay,
    PrincipalManifold,
    TableMap,
    TwoWay,
    align,
)
from twofold.base.aligning import Move, OldMap, extent_of, moved_model, placed
from twofold.datasets import make_s_curve
from twofold.explaining.derivatives import encoder_derivatives
from twofold.explaining.reference import FeatureColumns
from twofold.export.explorer import write
from twofold.export.programs.translation import closed_form
from twofold.numerics.units import CenteredUnits
from twofold.optimize.row_pull import Pulled, RowPull

ROWS = np.stack([np.arange(150), np.arange(150)], axis=1)

ESTIMATORS = {
    "ukr": UKR(init="isomap", random_state=0),
    "drur": DRUR(n_centers=20, alpha=1e-3, init="isomap", random_state=0),
    "two-way": TwoWay("isomap", up="nw", down="projection", random_state=0),
    "manifold": PrincipalManifold(2, alpha=1e-2, init="isomap", random_state=0),
    "auto": AutoTwoWay(methods={"sheet": UKR(init="isomap", random_state=0)}, random_state=0),
}


APART = {"ukr": 0.06, "drur": 0.06, "two-way": 0.06, "manifold": 0.15, "auto": 0.06}
LOST = {"ukr": 0.05, "drur": 0.07, "two-way": 0.05, "manifold": 0.17, "auto": 0.05}
"""Median distances of new rows as shares of the map, and errors of rows of one table that are
decoded as rows of the other, with a margin."""


@pytest.fixture(scope="module")
def tables():
    """Two measurements of a curved sheet: in space, and mixed linearly into five columns."""
    X, _ = make_s_curve(300, noise=0.02, random_state=0)
    rng = np.random.default_rng(0)
    return X, X @ rng.standard_normal((3, 5)) + 0.02 * rng.standard_normal((300, 5))


@pytest.fixture(scope="module")
def old(tables):
    return UKR(init="isomap", random_state=0).fit(tables[0][:220])


@pytest.fixture(scope="module")
def aligned(tables, old):
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in ESTIMATORS.items():
            found[name] = clone(model).fit(tables[1][:220], align_to=old, shared=ROWS)
    return found


def shares(old, places, others):
    """Return distances as shares of the old map."""
    return np.linalg.norm(places - others, axis=1) / extent_of(old.embedding_)


class TestSharedRows:
    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_new_rows_get_the_same_place(self, tables, old, aligned, name):
        first, second = (table[220:] for table in tables)
        gaps = shares(old, aligned[name].transform(second), old.transform(first))
        assert np.median(gaps) < APART[name]

    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_a_row_of_one_decodes_as_the_other(self, tables, old, aligned, name):
        first, second = (table[220:] for table in tables)
        decoded = aligned[name].inverse_transform(old.transform(first))
        lost = np.square(decoded - second).sum() / np.square(second - second.mean(axis=0)).sum()
        assert lost < LOST[name]

    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_report_is_the_distance_of_shared_rows(self, old, aligned, name):
        model = aligned[name]
        gaps = shares(old, model.embedding_[:150], old.embedding_[:150])
        assert model.alignment_.n_shared == 150
        assert model.alignment_.median == pytest.approx(np.median(gaps))
        assert model.alignment_.percentile_90 == pytest.approx(np.quantile(gaps, 0.9))

    def test_shared_rows_of_kernel_regression_are_near(self, aligned):
        assert aligned["ukr"].alignment_.percentile_90 < 0.05

    def test_pairs_may_be_two_arrays_in_any_order(self, tables, old, aligned):
        turned = ROWS[::-1]
        again = clone(ESTIMATORS["two-way"]).fit(
            tables[1][:220], align_to=old, shared=(turned[:, 0], turned[:, 1])
        )
        assert again.alignment_.n_shared == 150
        np.testing.assert_allclose(
            again.embedding_[:150], aligned["two-way"].embedding_[:150], atol=1e-9
        )

    def test_rows_in_another_order(self, tables, old):
        order = np.random.default_rng(1).permutation(220)
        pairs = np.stack([np.arange(220), order], axis=1)
        model = clone(ESTIMATORS["ukr"]).fit(tables[1][order], align_to=old, shared=pairs)
        assert np.median(shares(old, model.embedding_, old.embedding_[order])) < 0.05

    def test_few_pairs_determine_a_similarity(self, tables, old):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(ESTIMATORS["two-way"]).fit(tables[1][:220], align_to=old, shared=ROWS[:3])
        assert np.isfinite(model.transform(tables[1])).all()


class TestSharedFeatures:
    def test_other_rows_without_pairs(self, tables, old):
        X = tables[0]
        model = clone(ESTIMATORS["ukr"]).fit(X[60:], align_to=old)
        gaps = shares(old, model.transform(X), old.transform(X))
        assert np.median(gaps) < 0.08  # 0.054
        assert model.alignment_.median < 0.05

    def test_old_map_places_rows_if_it_knows_the_features(self, tables, old):
        frame = OldMap.of(tables[0], old, ROWS)
        np.testing.assert_array_equal(frame.places, old.transform(tables[0]))

    def test_equally_many_other_features_are_not_taken_for_the_same(self, tables, old):
        other = tables[0] @ np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
        assert OldMap.of(5.0 * other, old, ROWS).places is None

    def test_rows_unknown_to_the_old_map_do_not_count_as_shared(self, tables, old):
        X = tables[0].copy()
        X[:20] += 50.0
        assert not np.isin(np.arange(20), OldMap.of(X, old, None).rows).any()

    def test_gaps(self, tables, old):
        X = tables[0].copy()
        X[::7, 1] = np.nan
        model = clone(ESTIMATORS["ukr"]).fit(X, align_to=old)
        assert np.isfinite(model.embedding_).all()
        assert model.alignment_.median < 0.05


class TestGuarantees:
    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_files_and_copies(self, tables, aligned, name, tmp_path):
        model = aligned[name]
        model.save(tmp_path / "model.twofold")
        for other in (twofold.load(tmp_path / "model.twofold"), pickle.loads(pickle.dumps(model))):
            assert other.alignment_ == model.alignment_
            for method, rows in (("transform", tables[1]), ("log_density", model.embedding_)):
                np.testing.assert_array_equal(
                    getattr(other, method)(rows), getattr(model, method)(rows)
                )

    @pytest.mark.parametrize("name", ["ukr", "drur", "manifold"])
    def test_closed_form_of_the_decoder(self, aligned, name):
        model = aligned[name]
        decode = closed_form(model, "up")
        np.testing.assert_allclose(
            decode(model.embedding_), model.inverse_transform(model.embedding_), atol=1e-8
        )

    @pytest.mark.parametrize("name", ["ukr", "drur", "manifold"])
    def test_metric_is_that_of_the_moved_decoder(self, aligned, name):
        model, step = aligned[name], 1e-4
        Z = model.embedding_[:5]
        columns = [
            (model.inverse_transform(Z + move) - model.inverse_transform(Z - move)) / (2.0 * step)
            for move in step * np.eye(2)
        ]
        J = np.stack(columns, axis=2)
        np.testing.assert_allclose(
            model.metric_tensor(Z), J.transpose(0, 2, 1) @ J, rtol=1e-3, atol=1e-3
        )

    def test_explanations_are_derivatives_of_the_moved_encoder(self, tables, old):
        other = TwoWay("pca", up="nw", down="nw", random_state=0).fit(tables[1][:220])
        model, step = align([old, other], ROWS)[1], 1e-5
        X = tables[1][220:225]
        columns = FeatureColumns.of(model._data_units, None)
        numeric = [
            (model.transform(X + move) - model.transform(X - move)) / (2.0 * step)
            for move in step * np.eye(5)
        ]
        found = encoder_derivatives(model, columns, X) / columns.factors
        np.testing.assert_allclose(found, np.stack(numeric, axis=2), rtol=1e-4, atol=1e-6)

    def test_updated_map_stays_in_its_frame(self, tables, old, aligned):
        model = pickle.loads(pickle.dumps(aligned["ukr"]))
        model.update(tables[1][220:260])
        gaps = shares(old, model.embedding_[:150], old.embedding_[:150])
        assert np.median(gaps) < 0.06
        new = shares(old, model.transform(tables[1][260:]), old.transform(tables[0][260:]))
        assert np.median(new) < 0.08

    @pytest.mark.parametrize("name", ["manifold", "drur"])
    def test_updated_latents_are_those_of_the_frame(self, tables, aligned, name):
        model = pickle.loads(pickle.dumps(aligned[name]))
        model.update(tables[1][220:260])
        old, new = aligned[name].embedding_, model.embedding_[:220]
        assert np.median(np.linalg.norm(new - old, axis=1)) < 0.05 * extent_of(old)
        assert model.update_report_.median_shift < 0.05

    def test_page_of_a_moved_domain(self, tables, aligned, tmp_path):
        path = write(aligned["manifold"], tables[1], path=tmp_path / "page.html")
        assert path.stat().st_size > 0

    @pytest.mark.parametrize("name", ["ukr", "two-way"])
    def test_deterministic_and_pure(self, tables, old, aligned, name):
        before = pickle.dumps(old)
        pairs, X = ROWS.copy(), tables[1][:220].copy()
        again = clone(ESTIMATORS[name]).fit(X, align_to=old, shared=pairs)
        np.testing.assert_array_equal(again.embedding_, aligned[name].embedding_)
        assert pickle.dumps(old) == before
        np.testing.assert_array_equal(pairs, ROWS)
        np.testing.assert_array_equal(X, tables[1][:220])
        assert again.get_params()["random_state"] == 0

    def test_batch_invariant(self, tables, aligned):
        one = aligned["ukr"].transform(tables[1][160:161])
        np.testing.assert_array_equal(one, aligned["ukr"].transform(tables[1])[160:161])

    def test_density_is_per_unit_of_the_old_map(self, old, aligned):
        model = aligned["ukr"]
        half = 3.0 * extent_of(old.embedding_)
        ticks = np.linspace(-half, half, 161)
        grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
        densities = np.exp(model.log_density(grid + old.embedding_.mean(axis=0)))
        assert densities.sum() * (ticks[1] - ticks[0]) ** 2 == pytest.approx(1.0, abs=1e-6)
        lowest = model.log_density(model.embedding_).min()
        assert model.log_density_threshold_ <= lowest + 1e-9

    def test_old_latents_in_other_units(self, tables, old):
        unit = 2.0**60
        far = align([old, old], ROWS)[1]
        far.embedding_ = unit * far.embedding_
        move = Move(unit * np.eye(2), np.zeros(2))
        far._latent_units = move.units(far._latent_units)
        near = clone(ESTIMATORS["ukr"]).fit(tables[1][:220], align_to=old, shared=ROWS)
        model = clone(ESTIMATORS["ukr"]).fit(tables[1][:220], align_to=far, shared=ROWS)
        np.testing.assert_allclose(model.embedding_ / unit, near.embedding_, atol=1e-6)

    def test_another_fit_forgets_the_alignment(self, tables, aligned):
        model = clone(ESTIMATORS["two-way"]).fit(tables[1], align_to=aligned["ukr"])
        assert hasattr(model, "alignment_")
        assert not hasattr(model.fit(tables[1]), "alignment_")

    def test_failed_fit_leaves_the_model(self, tables, old):
        model = clone(ESTIMATORS["two-way"]).fit(tables[1])
        before = model.embedding_
        with pytest.raises(ValueError, match="shared"):
            model.fit(tables[1], align_to=old, shared=[[0, 999]])
        assert model.embedding_ is before

    def test_latent_dimensions_follow_the_old_map(self, tables, old):
        model = AutoTwoWay("auto", methods=["isomap"], random_state=0)
        model.fit(tables[1][:220], align_to=old, shared=ROWS)
        assert model.embedding_.shape == (220, 2)

    def test_constant_table(self, old):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(ESTIMATORS["ukr"]).fit(np.ones((220, 4)), align_to=old, shared=ROWS)
        assert np.isfinite(model.transform(np.ones((2, 4)))).all()


class TestBadInput:
    @pytest.mark.parametrize(
        ("shared", "message"),
        [
            ([[0, 999], [1, 1], [2, 2]], "999 is not a row of the old model"),
            ([[220, 0], [1, 1], [2, 2]], "220 is not a row of X"),
            ([[-1, 0], [1, 1], [2, 2]], "-1 is not a row of X"),
            ([[0, 0], [0, 1], [2, 2]], "row 0 of X is in more than one pair"),
            ([[0, 2], [1, 1], [2, 2]], "row 2 of the old model's embedding_ is in more than one"),
            ([[0, 0], [1, 1]], "has 2 pairs of rows; .* needs at least 3"),
            ([0, 1, 2], r"shape \(m, 2\)"),
            ([[0.5, 1.0]] * 3, r"shape \(m, 2\)"),
            ((np.arange(3), np.arange(4)), "tuple of two arrays"),
            (np.empty((0, 2)), "has 0 pairs"),
        ],
    )
    def test_shared(self, tables, old, shared, message):
        with pytest.raises(ValueError, match=message):
            UKR(random_state=0).fit(tables[1][:220], align_to=old, shared=shared)

    def test_no_table(self, old):
        with pytest.raises(TypeError, match="Expected sequence or array-like"):
            clone(ESTIMATORS["ukr"]).fit(3, align_to=old, shared=ROWS)

    def test_shared_without_old_model(self, tables):
        with pytest.raises(ValueError, match="shared is given without align_to"):
            UKR().fit(tables[1], shared=ROWS)

    def test_unfitted_old_model(self, tables):
        with pytest.raises(NotFittedError):
            UKR().fit(tables[1], align_to=UKR(), shared=ROWS)

    @pytest.mark.parametrize("value", ["old.twofold", np.zeros((220, 2))])
    def test_old_model_of_another_type(self, tables, value):
        with pytest.raises(TypeError, match=r"(?s)align_to=.* must be a fitted model"):
            UKR().fit(tables[1], align_to=value, shared=ROWS)

    def test_outlier_scores_do_not_depend_on_the_frame(self, tables, old, aligned):
        """Maps forget rows by their latents, which the way into a frame and back has rounded."""
        model = aligned["ukr"]
        moved = align([old, model], ROWS)[1]
        new = tables[1][220:]
        np.testing.assert_allclose(moved.outlier_scores(new), model.outlier_scores(new), atol=1e-4)

    def test_pairs_with_a_compressed_model(self, tables, old, aligned):
        small = old.compress(60)
        for call in (
            lambda: UKR(2).fit(tables[1], align_to=small, shared=ROWS[:20]),
            lambda: align([small, aligned["ukr"]], ROWS[:20]),
        ):
            with pytest.raises(ValueError, match="is compressed: its embedding_ has prototypes"):
                call()

    def test_other_dimension(self, tables, old):
        with pytest.raises(ValueError, match="n_components=1, but align_to has 2 latent dim"):
            UKR(1).fit(tables[1], align_to=old, shared=ROWS)

    def test_other_features_without_pairs(self, tables, old):
        with pytest.raises(ValueError, match="shared=None needs the features of align_to"):
            UKR().fit(tables[1], align_to=old)

    def test_weights(self, tables, old):
        with pytest.raises(ValueError, match="sample_weight is not supported together with"):
            UKR().fit(tables[0], sample_weight=np.arange(300), align_to=old)

    def test_dask(self, tables, old):
        array = pytest.importorskip("dask.array")
        with pytest.raises(TypeError, match="align_to is not supported for Dask"):
            UKR().fit(array.from_array(tables[0]), align_to=old)

    def test_circle(self, tables, old):
        from twofold.principal_manifold import Domain

        model = PrincipalManifold(domain=Domain((True, True)), random_state=0)
        with pytest.raises(ValueError, match="align_to is not supported for domain"):
            model.set_params(n_components=2).fit(tables[0], align_to=old)

    def test_pca_alone(self, tables, old):
        with pytest.raises(ValueError, match=r"methods=\['pca'\] cannot be aligned"):
            AutoTwoWay(methods=["pca"]).fit(tables[0], align_to=old)

    @pytest.mark.parametrize("model", [AgglomerativeIsomap(), SNE(random_state=0)])
    def test_maps_that_cannot_follow_warn(self, tables, old, model):
        with pytest.warns(UserWarning, match="cannot follow the old map"):
            model.fit(tables[1][:220], align_to=old, shared=ROWS)

    def test_old_map_in_one_place(self, tables):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat = UKR().fit(np.ones((10, 2)))
        with pytest.raises(ValueError, match="all its rows in one place"):
            UKR().fit(tables[0], align_to=flat, shared=ROWS[:5])


class TestTables:
    @pytest.fixture(scope="class")
    @staticmethod
    def frame(tables):
        frame = pd.DataFrame(tables[0], columns=["a", "b", "c"])
        return frame.assign(d=np.where(frame.a > 0.0, "high", "low"))

    @pytest.fixture(scope="class")
    @staticmethod
    def table(frame):
        return TableMap(UKR(init="pca", homotopy=False, random_state=0)).fit(frame[:220])

    def test_shared_columns_in_another_order(self, frame, table):
        later = frame[["d", "c", "b", "a"]][60:]
        found = TableMap(UKR(init="pca", homotopy=False, random_state=0)).fit(later, align_to=table)
        assert found.alignment_.median < 0.05
        decoded = found.inverse_transform(table.transform(frame[220:]))
        assert (decoded.d == frame.d[220:].reset_index(drop=True)).mean() > 0.9

    def test_columns_of_numbers_in_another_order(self, frame):
        numbers = frame[["a", "b", "c"]]
        model = UKR(init="pca", homotopy=False, random_state=0)
        old = clone(model).fit(numbers[:220])
        found = model.fit(numbers[["c", "a", "b"]][60:], align_to=old)
        assert found.alignment_.median < 0.05

    def test_partly_shared_columns(self, frame, table):
        later = frame[["a", "b", "d"]][60:].assign(e=lambda one: one.a**2)
        found = TableMap(UKR(init="pca", homotopy=False, random_state=0)).fit(later, align_to=table)
        gaps = shares(table, found.transform(later), table.transform(frame[60:]))
        assert np.median(gaps) < 0.3  # 0.18: the old map misses a column

    def test_shared_rows(self, tables, table):
        other = pd.DataFrame(tables[1][:220])
        found = TableMap(UKR(init="pca", homotopy=False, random_state=0))
        found.fit(other, align_to=table, shared=ROWS)
        assert found.alignment_.median < 0.05

    def test_moved_as_a_whole(self, frame, table):
        other = TableMap(UKR(init="pca", homotopy=False, random_state=1)).fit(frame[50:])
        pairs = np.stack([np.arange(100), np.arange(50, 150)], axis=1)
        moved = align([table, other], pairs)[1]
        assert not hasattr(other.model_, "alignment_")
        np.testing.assert_allclose(
            moved.reconstruction_error(frame), other.reconstruction_error(frame), atol=1e-9
        )


ALONE = {"drur": 0.25, "auto": 0.25, "two-way": 0.25}
"""The same of maps that were fitted alone: they differ by more than an affine map."""


class TestAlign:
    @pytest.fixture(scope="class")
    @staticmethod
    def other(tables):
        return DRUR(n_centers=20, alpha=1e-3, init="isomap", random_state=1).fit(tables[1][:220])

    @pytest.mark.parametrize("name", ["drur", "auto", "two-way"])
    def test_errors_stay_and_shared_rows_come_together(self, tables, old, name):
        other = clone(ESTIMATORS[name]).fit(tables[1][:220])
        first, moved = align([old, other], ROWS)
        assert first is old
        np.testing.assert_allclose(
            moved.reconstruct(tables[1]), other.reconstruct(tables[1]), atol=1e-9
        )
        gaps = shares(old, moved.embedding_[:150], old.embedding_[:150])
        assert moved.alignment_.median == pytest.approx(np.median(gaps))
        assert moved.alignment_.median < ALONE[name]
        np.testing.assert_allclose(  # the same place in its map
            moved.inverse_transform(moved.embedding_), other.inverse_transform(other.embedding_)
        )

    def test_trust_stays(self, tables, old):
        """Whatever forgets rows finds their latents again, which were moved and moved back."""
        X = tables[1][:220]
        other = clone(ESTIMATORS["ukr"]).fit(X)
        move = Move(np.array([[2.0, 0.7], [-0.3, 0.5]]), np.array([5.0, -3.0]))
        moved = moved_model(other, move, other.embedding_, move(other.embedding_), 1.0)
        new = tables[1][220:]
        np.testing.assert_allclose(
            moved.outlier_scores(new), other.outlier_scores(new), rtol=1e-6, atol=1e-6
        )
        deviations = [
            model.inverse_transform(model.embedding_[:40], return_std=True)[1]
            for model in (moved, other)
        ]
        np.testing.assert_allclose(*deviations, rtol=1e-6)

    def test_arguments_stay(self, tables, old, other):
        before = pickle.dumps(other)
        align([old, other], ROWS)
        assert pickle.dumps(other) == before

    def test_file(self, tables, old, other, tmp_path):
        moved = align([old, other], ROWS)[1]
        moved.save(tmp_path / "model.twofold")
        loaded = twofold.load(tmp_path / "model.twofold")
        np.testing.assert_array_equal(loaded.transform(tables[1]), moved.transform(tables[1]))
        assert loaded.alignment_ == moved.alignment_

    def test_several_models(self, tables, old, other):
        third = clone(ESTIMATORS["two-way"]).fit(tables[0])
        found = align([old, other, third], [ROWS, ROWS])
        assert [model.alignment_.n_shared for model in found[1:]] == [150, 150]

    def test_shared_features(self, tables, old):
        later = clone(ESTIMATORS["ukr"]).fit(tables[0][50:])
        moved = align([old, later])[1]
        gaps = shares(old, moved.transform(tables[0]), old.transform(tables[0]))
        assert np.median(gaps) < 0.1

    def test_fitted_again(self, tables, old, aligned):
        found = align([old, clone(ESTIMATORS["ukr"]).fit(tables[1])], ROWS, tables=tables[1][:220])
        np.testing.assert_array_equal(found[1].embedding_, aligned["ukr"].embedding_)

    def test_moving_twice_returns(self, tables, other):
        pairs = np.stack([np.arange(220)] * 2, axis=1)
        away = align([other, other], pairs)[1]
        np.testing.assert_allclose(away.embedding_, other.embedding_, atol=1e-9)

    @pytest.mark.parametrize("in_table", [False, True])
    def test_circles_stay_where_they_are(self, in_table):
        angle = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 60)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        circle = PrincipalManifold(1, domain="circle", alpha=1e-2, random_state=0)
        model = (TableMap(circle) if in_table else circle).fit(pd.DataFrame(X, columns=["x", "y"]))
        pairs = np.stack([np.arange(60)] * 2, axis=1)
        with pytest.raises(ValueError, match="cannot be moved onto another map"):
            align([model, model], pairs)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ((["old"], ROWS), ValueError, "at least two"),
            ((["old", "flat"], ROWS), ValueError, "has 1 latent dimensions"),
            ((["old", "other"], [ROWS, ROWS]), ValueError, "shared has 2 entries; 1 are needed"),
            ((["old", "other"], [[0, 0], [1, 1]]), ValueError, "has 2 pairs"),
            ((["old", "other"],), ValueError, "shared=None needs models of the same features"),
            ((["old", 3], ROWS), TypeError, r"models\[1\]=3 must be a fitted model"),
        ],
    )
    def test_bad_input(self, tables, old, other, arguments, error, message):
        flat = TwoWay("pca", n_components=1, up="nw", down="nw").fit(tables[0])
        known = {"old": old, "other": other, "flat": flat}
        models = [known.get(one, one) for one in arguments[0]]
        with pytest.raises(error, match=message):
            align(models, *arguments[1:])


class Bowl:
    def value_and_grad(self, Z):
        return float(np.square(Z).sum()), 2.0 * Z


class TestPull:
    @pytest.fixture
    def pull(self):
        rng = np.random.default_rng(0)
        return RowPull(np.array([1, 3, 4]), rng.standard_normal((3, 2)), 1.7, 0.8)

    def test_gradient(self, pull):
        Z, step = np.random.default_rng(1).standard_normal((6, 2)), 1e-6
        gradient = Pulled(Bowl(), pull).value_and_grad(Z)[1]
        for place in np.ndindex(*Z.shape):
            moved = np.zeros_like(Z)
            moved[place] = step
            ends = [Pulled(Bowl(), pull).value_and_grad(Z + s * moved)[0] for s in (1.0, -1.0)]
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-6)

    def test_rows_are_free_within_the_radius(self, pull):
        Z = np.zeros((6, 2))
        Z[pull.rows] = pull.places + 0.5 * pull.radius / np.sqrt(2.0)
        value, gradient = Pulled(Bowl(), pull).value_and_grad(Z)
        plain = Bowl().value_and_grad(Z)
        assert value == plain[0]
        np.testing.assert_array_equal(gradient, plain[1])

    def test_sorted_rows(self, pull):
        Z = np.random.default_rng(1).standard_normal((6, 2))
        order = np.array([4, 2, 0, 1, 5, 3])
        value, gradient = Pulled(Bowl(), pull).value_and_grad(Z)
        sorted_value, sorted_gradient = Pulled(Bowl(), pull.in_order(order)).value_and_grad(
            Z[order]
        )
        assert sorted_value == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(sorted_gradient, gradient[order])

    def test_scale_changes_nothing(self, pull):
        Z = np.random.default_rng(1).standard_normal((6, 2))
        after = 3.0 * Z + 5.0
        nothing = type("Zero", (), {"value_and_grad": lambda self, Z: (0.0, 0.0 * Z)})()
        value = Pulled(nothing, pull).value_and_grad(Z)[0]
        assert Pulled(nothing, pull.scaled(Z, after)).value_and_grad(after)[0] == pytest.approx(
            value
        )


class TestMove:
    def test_affine_map_is_found(self):
        rng = np.random.default_rng(0)
        Z, A, b = rng.standard_normal((50, 2)), rng.standard_normal((2, 2)), np.array([3.0, -1.0])
        move = Move.between(Z, Z @ A + b)
        np.testing.assert_allclose(move(Z), Z @ A + b)

    def test_few_rows_keep_angles(self):
        Z = np.random.default_rng(0).standard_normal((5, 2))
        move = Move.between(Z, Z * np.array([1.0, 2.0]))
        square = move.matrix.T @ move.matrix
        np.testing.assert_allclose(square, square[0, 0] * np.eye(2), atol=1e-12)

    def test_units(self):
        rng = np.random.default_rng(0)
        Z = rng.standard_normal((50, 2))
        units = CenteredUnits.of(Z)
        move = Move(rng.standard_normal((2, 2)), np.array([3.0, -1.0]))
        moved = move.units(units)
        np.testing.assert_allclose(moved.back(units.into(Z)), move(Z))
        np.testing.assert_allclose(moved.into(move(Z)), units.into(Z), atol=1e-12)
        volume = np.log(abs(np.linalg.det(move.matrix)))
        assert moved.log_volume == pytest.approx(units.log_volume + volume)

    def test_one_place(self):
        with pytest.raises(ValueError, match="all in one place"):
            Move.between(np.zeros((5, 2)), np.eye(5)[:, :2])


def test_other_rows_begin_near_their_neighbors():
    data = np.linspace(0.0, 1.0, 101)[:, None]
    rows = np.arange(0, 101, 2)
    places = placed(data, rows, data[rows], np.random.default_rng(0))
    assert np.abs(places - data).max() < 0.1
