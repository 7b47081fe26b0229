"""The estimator: scikit-learn's conventions, both maps, torture, files."""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import twofold
from twofold import UKR, AutoTwoWay, SupervisedIsomap, TableMap, TwoWay

FLAT = TwoWay("pca", up="nw", down="nw", random_state=0)


def equal(left, right):
    test = polars.testing if isinstance(left, pl.DataFrame) else pd.testing
    test.assert_frame_equal(left, right, check_exact=True)


@pytest.fixture(params=["pandas", "polars"])
def frame(request, mixed):
    return mixed if request.param == "pandas" else pl.from_pandas(mixed)


@parametrize_with_checks([TableMap(FLAT)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_both_maps(frame):
    table = TableMap(FLAT).fit(frame)
    latents = table.transform(frame)
    assert latents.shape == (120, 2)
    back = table.inverse_transform(latents)
    assert type(back) is type(frame)
    assert list(back.columns) == list(frame.columns)
    assert list(back.dtypes) == list(frame.dtypes)
    assert np.mean(np.asarray(back["species"]) == np.asarray(frame["species"])) > 0.95
    equal(table.reconstruct(frame), back)
    assert table.score(frame) > 0.9
    assert table.reconstruction_error(frame).shape == (120,)
    assert table.log_density(latents).shape == (120,)
    assert table.n_features_in_ == 7
    assert list(table.feature_names_in_) == list(frame.columns)
    assert table.embedding_ is table.model_.embedding_


def test_probabilities(frame):
    table = TableMap(FLAT).fit(frame)
    chances = table.inverse_transform_proba(table.embedding_)
    assert set(chances) == {"species", "size", "tame"}
    assert list(chances["species"].columns) == ["ant", "bee", "cat"]
    for one in chances.values():
        assert type(one) is type(frame)
        assert (one.to_numpy() >= 0.0).all()
        np.testing.assert_allclose(one.to_numpy().sum(axis=1), 1.0)
    best = np.array(["ant", "bee", "cat"])[chances["species"].to_numpy().argmax(axis=1)]
    decoded = table.inverse_transform(table.embedding_)["species"]
    np.testing.assert_array_equal(best, decoded)


def test_levels_are_valid_wherever_one_decodes(frame):
    table = TableMap(FLAT).fit(frame)
    far = np.random.default_rng(0).normal(size=(200, 2)) * 1e6
    back = table.inverse_transform(far)
    assert set(back["species"]) <= {"ant", "bee", "cat"}
    assert set(back["size"]) <= {"S", "M", "L"}
    assert np.isfinite(np.asarray(back["price"])).all()
    drawn = table.sample(50, random_state=0)
    assert list(drawn.dtypes) == list(frame.dtypes)
    equal(drawn, table.sample(50, random_state=0))


@pytest.mark.parametrize("model", [UKR(random_state=0, max_iter=30), FLAT], ids=["ukr", "flat"])
def test_the_same_map_in_other_units_and_as_one_hot_columns(mixed, model):
    expected = TableMap(model).fit(mixed).embedding_
    others = mixed.assign(
        length=mixed.length * 1000.0,
        price=mixed.price / 25.4,
        count=mixed["count"].astype(float) * 0.001,
    )
    scaled = TableMap(model).fit(others).embedding_
    np.testing.assert_allclose(scaled, expected, rtol=0.0, atol=1e-6)
    hot = pd.get_dummies(mixed, columns=["species"])
    np.testing.assert_allclose(TableMap(model).fit(hot).embedding_, expected, rtol=0, atol=1e-6)
    turned = TableMap(model).fit(mixed[mixed.columns[::-1]])
    np.testing.assert_allclose(turned.embedding_, expected, rtol=0, atol=1e-6)


def test_the_default_model(mixed):
    table = TableMap(random_state=0, n_jobs=1).fit(mixed)
    assert isinstance(table.model_, AutoTwoWay)
    assert table.model_.n_jobs == 1
    assert table.score(mixed) > 0.9
    assert "fitted: " in repr(table)
    assert "120 rows of 7 columns to 2 latents, score" in repr(table)
    assert "fitted: " not in repr(TableMap())


def test_arrays_come_back_as_arrays():
    X = np.random.default_rng(0).normal(size=(50, 3))
    table = TableMap(FLAT).fit(X)
    assert table.kinds_ == dict.fromkeys(["x0", "x1", "x2"], "number")
    assert table.inverse_transform(table.embedding_).shape == (50, 3)
    assert not hasattr(table, "feature_names_in_")
    np.testing.assert_array_equal(table.transform(pd.DataFrame(X)), table.transform(X))
    named = TableMap(FLAT).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    np.testing.assert_array_equal(named.transform(X), table.transform(X))
    with pytest.raises(ValueError, match="X has 2 features, but TableMap is expecting 3"):
        table.transform(X[:, :2])
    with pytest.raises(ValueError, match="data frame"):
        TableMap(FLAT).fit([["a", 1.0], ["b", 2.0]])


def test_columns_are_matched_by_name(frame):
    table = TableMap(FLAT).fit(frame)
    names = list(frame.columns)
    np.testing.assert_array_equal(table.transform(frame[names[::-1]]), table.transform(frame))
    with pytest.raises(ValueError, match=r"yet now missing:\n- price"):
        table.transform(frame[[name for name in names if name != "price"]])


def test_other_columns_are_an_error_unless_they_were_left_out(mixed):
    table = TableMap(FLAT, kinds={"price": "drop"}).fit(mixed)
    expected = table.transform(mixed)
    np.testing.assert_array_equal(table.transform(mixed.drop(columns="price")), expected)
    np.testing.assert_array_equal(table.transform(mixed.assign(price="?")), expected)
    assert "price" not in table.inverse_transform(table.embedding_)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- extra"):
        table.transform(mixed.assign(extra=1))


def test_a_pandas_model_takes_polars_frames(mixed):
    table = TableMap(FLAT).fit(mixed.drop(columns="size"))
    other = pl.from_pandas(mixed.drop(columns="size"))
    np.testing.assert_array_equal(
        table.transform(other), table.transform(mixed.drop(columns="size"))
    )


def test_a_column_of_another_kind_is_named(mixed):
    table = TableMap(FLAT).fit(mixed)
    with pytest.raises(ValueError, match=r"Column 'length' has cells of kind text .*Convert it"):
        table.transform(mixed.assign(length="long"))


def test_new_levels_are_named(mixed):
    layout = TableMap(FLAT).fit(mixed).layout_
    with pytest.warns(UserWarning, match=r"Column 'species' has levels.*: 'dog', 'eel'\. They are"):
        encoded = layout.into(mixed.assign(species=["dog", "eel", "ant"] * 40))
    block = next(part for column, part in layout.blocks(encoded) if column.name == "species")
    assert np.isnan(block).all(axis=1).tolist() == [True, True, False] * 40


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_strange_names(library):
    rng = np.random.default_rng(0)
    names = ["", " ", "a b", "ünï", "$object", "__class__", "x0", "=", "level_", "'", "\n", "😀"]
    columns = {name: rng.normal(size=30) for name in names} | {"{}": ["a", "b"] * 15}
    frame = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)
    table = TableMap(FLAT).fit(frame)
    assert list(table.inverse_transform(table.embedding_).columns) == [*names, "{}"]
    assert list(table.kinds_) == [*names, "{}"]


def test_names_that_are_no_text(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=[3, 1, 2])
    table = TableMap(FLAT, kinds={3: "number"}).fit(frame)
    assert list(table.inverse_transform(table.embedding_).columns) == [3, 1, 2]
    frame.columns = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    table = TableMap(FLAT).fit(frame)
    table.save(tmp_path / "it.twofold")
    again = twofold.load(tmp_path / "it.twofold")
    assert again.inverse_transform(table.embedding_).columns.equals(frame.columns)


def test_bad_tables():
    good = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "y"]})
    twice = pd.concat([good, good], axis=1)
    with pytest.raises(ValueError, match=r"2 columns called 'a'.*unique"):
        TableMap(FLAT).fit(twice)
    with pytest.raises(ValueError, match="infinity in column 'a', first in row 1"):
        TableMap(FLAT).fit(good.assign(a=[1.0, np.inf, -np.inf]))
    with pytest.raises(ValueError, match="1 sample"):
        TableMap(FLAT).fit(good[:1])
    with pytest.raises(ValueError, match="0 sample"):
        TableMap(FLAT).fit(good[:0])
    with pytest.raises(ValueError, match="0 feature"):
        TableMap(FLAT).fit(good[[]])
    with pytest.raises(ValueError, match="no column that varies: 'a', 'b' never change"):
        TableMap(FLAT).fit(good.assign(a=1.0, b="x"))
    with pytest.raises(ValueError, match=r"Row 1 has no observed value"):
        TableMap(FLAT).fit(good.assign(a=[1.0, np.nan, 3.0], b=["x", None, "y"]))
    with pytest.raises(TypeError, match="collect"):
        TableMap(FLAT).fit(pl.DataFrame(good.to_dict("list")).lazy())
    with pytest.raises(TypeError, match="model='ukr' must be an estimator"):
        TableMap("ukr").fit(good)
    fitted = TableMap(FLAT.set_params(n_components=1)).fit(good)
    FLAT.set_params(n_components=2)
    with pytest.raises(ValueError, match="0 sample"):
        fitted.transform(good[:0])
    with pytest.raises(ValueError, match="Z has 2 columns"):
        fitted.inverse_transform([[0.0, 0.0]])


def test_dask_frames_are_refused(mixed):
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(TypeError, match=r"compute\(\)"):
        TableMap(FLAT).fit(dask.from_pandas(mixed[["length"]], npartitions=2))


def test_not_fitted(mixed):
    for call in (
        lambda table: table.transform(mixed),
        lambda table: table.inverse_transform([[0.0, 0.0]]),
        lambda table: table.inverse_transform_proba([[0.0, 0.0]]),
        lambda table: table.reconstruct(mixed),
        lambda table: table.reconstruction_error(mixed),
        lambda table: table.score(mixed),
        lambda table: table.log_density([[0.0, 0.0]]),
        lambda table: table.sample(),
        lambda table: table.impute(mixed),
        lambda table: table.save("nowhere"),
    ):
        with pytest.raises(NotFittedError):
            call(TableMap())


def test_a_failed_fit_leaves_the_old_model(mixed, monkeypatch):
    table = TableMap(FLAT).fit(mixed)
    before = dict(table.__dict__)

    def interrupted(self, X, y=None, sample_weight=None, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(TwoWay, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        table.fit(mixed[["length", "count", "tame"]])
    assert table.__dict__ == before
    assert "model_" not in clone(table).__dict__


def test_nothing_is_changed(mixed):
    copy = mixed.copy(deep=True)
    table = TableMap(FLAT).fit(mixed)
    state = pickle.dumps(table)
    table.transform(mixed)
    table.reconstruct(mixed)
    assert pickle.dumps(table) == state
    pd.testing.assert_frame_equal(mixed, copy)


def test_the_index_is_kept(mixed):
    frame = mixed.set_axis([f"r{number}" for number in range(120)])
    table = TableMap(FLAT).fit(frame).set_output(transform="pandas")
    latents = table.transform(frame)
    assert list(latents.columns) == ["tablemap0", "tablemap1"]
    assert latents.index.equals(frame.index)
    assert table.reconstruct(frame).index.equals(frame.index)


def test_searches_and_pipelines(mixed):
    search = GridSearchCV(TableMap(FLAT), {"model__n_components": [1, 2]}, cv=2).fit(mixed)
    assert search.best_params_ == {"model__n_components": 2}
    pipeline = make_pipeline(TableMap(FLAT)).fit(mixed)
    assert list(pipeline.inverse_transform(pipeline.transform(mixed)).columns) == list(mixed)


def test_labels_reach_a_supervised_model(mixed):
    labels = mixed.pop("species")
    assert (
        TableMap(SupervisedIsomap(n_neighbors=30, random_state=0))
        .fit(mixed, labels)
        .transform(mixed)
        .any()
    )


def test_files(frame, tmp_path):
    with_more = (
        {"kinds": {"size": ["S", "M", "L", "XL"]}} if isinstance(frame, pl.DataFrame) else {}
    )
    table = TableMap(FLAT, **with_more).fit(frame)
    table.save(tmp_path / "it.twofold")
    again = twofold.load(tmp_path / "it.twofold")
    assert again.kinds_ == table.kinds_
    assert again.get_params(deep=False).keys() == table.get_params(deep=False).keys()
    assert repr(again) == repr(table)
    np.testing.assert_array_equal(again.transform(frame), table.transform(frame))
    equal(again.inverse_transform(table.embedding_), table.inverse_transform(table.embedding_))
    facts = twofold.export.model_files.describe(tmp_path / "it.twofold")
    assert facts["feature_names"] == list(frame.columns)
    assert facts["n_features"] == 7


def test_the_signature_is_the_contract():
    names = list(inspect.signature(TableMap).parameters)
    assert names == ["model", "kinds", "random_state", "verbose", "n_jobs"]
