"""Tables that are no numbers: each error names the column, the row and the remedy."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import twofold
from twofold import UKR, KernelDensityClassifier, PrincipalManifold, TableMap, TwoWay
from twofold.counts import LogCounts
from twofold.datasets import make_s_curve
from twofold.tables.numbers import log_offset

X = make_s_curve(40, random_state=0)[0]


def frame(library, **columns):
    given = {name: X[:, k] for k, name in enumerate("abc")} | columns
    return pd.DataFrame(given) if library == "pandas" else pl.DataFrame(given)


def model():
    return TwoWay("pca", up="nw", down="nw")


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1.5"] * 7 + ["x"] * 33, "Column 'd' of X has 'x' in row 7, which could not convert"),
        ([dt.datetime(2020, 1, 1)] * 40, "Column 'd' of X has dates or times"),
    ],
    ids=["text", "dates"],
)
def test_columns_of_other_kinds_are_named(library, cells, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        model().fit(frame(library, d=cells))
    assert "TableMap" in str(caught.value)


def test_categories_are_named():
    with pytest.raises(ValueError, match="Column 'd' of X has 'red' in row 0"):
        model().fit(frame("pandas", d=pd.Categorical(["red", "blue"] * 20)))


def test_objects_are_named():
    data = X.astype(object)
    data[3, 1] = "three"
    with pytest.raises(ValueError, match="Column '1' of X has 'three' in row 3"):
        model().fit(data)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "b", "c"]], "Column '0' of X has 'a' in row 0"),
        ([[1, "b", 2]], "Column '1' of X has 'b' in row 0"),
        (["a", "b"], "could not convert string to float"),
        ([[1, 2], [3]], "inhomogeneous"),
    ],
    ids=["text", "numbers and text", "no table", "ragged"],
)
def test_lists_of_text(rows, message):
    fitted = model().fit(X)
    with pytest.raises(ValueError, match=message):
        fitted.transform(rows)


@pytest.mark.parametrize("kind", [list, tuple])
def test_rows_of_lists_are_named(kind):
    with pytest.raises(ValueError, match="Column '1' of X has 'three' in row 0"):
        model().fit(X).transform(kind([[1.0, "three", 2.0], [1.0, 2.0, 3.0]]))


def test_numbers_among_objects_are_numbers():
    found = model().fit(X.astype(object)).embedding_
    np.testing.assert_array_equal(found, model().fit(X).embedding_)


def test_columns_of_one_name():
    table = pd.DataFrame(X, columns=list("aab"))
    with pytest.raises(ValueError, match=r"X has 2 columns called 'a': .*Rename them"):
        model().fit(table)


def test_infinity_is_not_called_missing():
    data = X.copy()
    data[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"row 3, column 1\. Infinite values are not .*replace"):
        model().fit(data)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b"] * 19 + [None, "a"], dtype=object),
        pd.array(["a", "b"] * 19 + [None, "a"], dtype="string"),
        np.r_[np.arange(38) % 2, np.nan, 1.0],
    ],
    ids=["None", "NA", "NaN"],
)
def test_missing_labels_of_a_classifier(labels):
    with pytest.raises(ValueError, match=r"missing label, first in row 38 \(1 in all\)"):
        KernelDensityClassifier().fit(X, labels)


class TestCounts:
    def counts(self):
        return np.random.default_rng(0).poisson(3.0, (40, 6)).astype(float)

    @pytest.mark.parametrize("target", [1e-308, 1e-300, 1e300])
    @pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
    def test_extreme_units_decode_to_finite_numbers(self, target, unit):
        X = self.counts() * unit
        fitted = LogCounts(target_sum=target).fit(X)
        for size in (None, 1e-150, 1e150):
            found = fitted.inverse_transform(fitted.transform(X), library_size=size)
            assert np.isfinite(found).all()
            assert (found[X == 0.0] == 0.0).all()

    def test_numbers_far_beyond_those_of_the_fit(self):
        table = TableMap(model()).fit(frame("pandas"))
        with pytest.warns(UserWarning, match="lie far"):
            found = table.transform(frame("pandas") * 1e300)
        assert np.isfinite(found).all()

    def test_text_is_refused(self):
        with pytest.raises(ValueError, match="could not convert to numbers without guessing"):
            LogCounts().fit(self.counts().astype(str))
        with pytest.raises(ValueError, match="Column 'a' of X"):
            LogCounts().fit(pd.DataFrame({"a": ["1", "two"], "b": [1, 2]}))


class TestTableMap:
    def test_dates_stay_within_the_years_of_a_calendar(self):
        days = [dt.date(1, 1, 3)] * 3 + [dt.date(9999, 12, 31)] * 3
        days += [dt.date(2020, 1, 1 + k % 28) for k in range(34)]
        for table in (
            pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "day": days}),
            pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "day": days}),
        ):
            fitted = TableMap(model()).fit(table)
            for Z in (fitted.transform(table), fitted.sample(300, random_state=0)):
                decoded = fitted.inverse_transform(Z) if isinstance(Z, np.ndarray) else Z
                assert all(1 <= day.year <= 9999 for day in list(decoded["day"]))

    def test_levels_are_named_once(self):
        table = pd.DataFrame({"a": X[:, 0], "c": ["x", "y"] * 20})
        with pytest.raises(ValueError, match="the level 'x' twice"):
            TableMap(model(), kinds={"c": ["x", "y", "x"]}).fit(table)

    def test_very_skewed_columns(self):
        values = np.exp(np.linspace(-690.0, 690.0, 50))
        assert log_offset(values) == 0.0


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(UKR(smoothing=1e-300), "smoothing"), (PrincipalManifold(latent_noise=1e200), "latent_noise")],
)
def test_parameters_beyond_any_use(estimator, name):
    with pytest.raises(ValueError, match=name):
        estimator.fit(X)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_kernels_of_a_high_degree():
    data = 3.0 * np.random.default_rng(0).normal(size=(40, 3))
    fitted = UKR(metric="polynomial", metric_params={"degree": 30}, random_state=0).fit(data)
    assert np.isfinite(fitted.inverse_transform(fitted.transform(data))).all()


def test_files_that_cannot_be(tmp_path):
    fitted = model().fit(X)
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "no" / "m.twofold"))):
        fitted.save(tmp_path / "no" / "m.twofold")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        fitted.save(tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match=r"os\.PathLike"):
        twofold.load(None)
