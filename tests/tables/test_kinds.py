"""The kind, unit and group of each column, and what users may say about it."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.tables.frames import as_frame
from twofold.tables.measuring import measure
from twofold.tables.numbers import center_and_unit, log_offset

RNG = np.random.default_rng(0)


def layout_of(kinds=None, **columns):
    return measure(as_frame(pd.DataFrame(columns)), kinds)


def column_of(layout, name):
    return next(column for column in layout.columns if column.name == name)


def test_kinds_by_data_type(mixed):
    assert measure(as_frame(mixed)).kinds == {
        "length": "number",
        "count": "number",
        "price": "log",
        "species": "category",
        "size": "ordered",
        "tame": "boolean",
        "day": "date",
    }


@pytest.mark.parametrize("n_levels", [2, 3, 20])
def test_a_category_has_variance_one(n_levels):
    codes = RNG.integers(0, n_levels, 1000)
    frame = pd.DataFrame({"it": [f"level {code}" for code in codes]})
    encoded = measure(as_frame(frame)).into(frame)
    assert encoded.shape == (1000, n_levels)
    assert encoded.var(axis=0).sum() == pytest.approx(1.0)


def test_two_indicators_have_the_distances_of_one_column():
    flags = RNG.random(500) < 0.3
    frame = pd.DataFrame({"it": flags})
    encoded = measure(as_frame(frame)).into(frame)
    apart = np.square(encoded[flags][0] - encoded[~flags][0]).sum()
    assert apart == pytest.approx(1.0 / (flags.mean() * (1.0 - flags.mean())))


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=500),
        RNG.uniform(size=500),
        RNG.poisson(5.0, 500),
        np.where(RNG.random(500) < 0.9, 0.0, RNG.normal(size=500)),
        RNG.random(500) < 0.01,
        np.exp(2.0 * RNG.normal(size=500)) * (RNG.random(500) < 0.8),
    ],
    ids=["normal", "uniform", "counts", "mostly zero", "rare", "skewed with zeros"],
)
def test_numbers_have_a_variance_of_about_one(values):
    encoded = layout_of(it=values * 1.0).into(pd.DataFrame({"it": values * 1.0}))
    assert 0.4 < encoded.var() < 3.0


def test_an_outlier_does_not_shrink_the_others():
    values = RNG.normal(size=200)
    values[0] = 1e9
    encoded = layout_of(it=values).into(pd.DataFrame({"it": values}))
    assert 0.5 < encoded[1:].var() < 2.0


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=50))
@settings(max_examples=200, deadline=None)
def test_units_are_positive_unless_all_are_equal(values):
    center, unit = center_and_unit(np.array(values))
    assert np.isfinite([center, unit]).all()
    assert (unit > 0.0) == (min(values) != max(values)) or unit == 0.0


def test_the_logarithm_is_taken_where_it_fits():
    normal = RNG.normal(size=300)
    assert log_offset(np.exp(normal)) == 0.0
    assert log_offset(np.exp(3.0 * normal) * 1e250) == 0.0
    assert log_offset(100.0 + normal) is None
    assert log_offset(normal) is None
    assert log_offset(RNG.uniform(size=300)) is None
    assert log_offset(np.exp(normal[:10])) is None
    zeros = np.exp(2.0 * normal) * (RNG.random(300) < 0.8)
    assert log_offset(zeros) > 0.0
    assert log_offset(1000.0 * zeros) == pytest.approx(1000.0 * log_offset(zeros))


def test_small_new_numbers_have_finite_logarithms():
    frame = pd.DataFrame({"it": np.exp(RNG.normal(size=100))})
    layout = measure(as_frame(frame))
    assert layout.kinds == {"it": "log"}
    assert np.isfinite(layout.into(pd.DataFrame({"it": [0.0, -5.0, 1e300]}))).all()
    assert np.isfinite(layout.numbers(np.array([[1e6], [-1e6]]))).all()


def test_ordered_levels_keep_their_order():
    levels = ["no", "some", "never seen", "much"]
    column = pd.Categorical(["no", "some", "much", "some"] * 10, levels, ordered=True)
    frame = pd.DataFrame({"it": column})
    layout = measure(as_frame(frame))
    new = pd.DataFrame({"it": pd.Categorical(levels, levels, ordered=True)})
    encoded = layout.into(new)
    assert (np.diff(encoded[:, 0]) > 0.0).all()
    decoded = layout.back(np.linspace(-9.0, 9.0, 100)[:, None])["it"]
    assert decoded.cat.codes.is_monotonic_increasing
    assert set(decoded) == {"no", "some", "much"}
    ((names, chances),) = layout.probabilities(encoded).values()
    assert names == tuple(levels)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(chances[:, [0, 1, 3]].argmax(axis=1)[[0, 1, 3]], [0, 1, 2])


def test_kinds_that_users_give():
    frame = pd.DataFrame(
        {
            "grade": [1, 2, 3, 4] * 10,
            "flag": [0, 1] * 20,
            "size": ["small", "large", "middle", "small"] * 10,
            "day": ["2024-05-31", "2024-06-01", None, "2023-01-01"] * 10,
            "value": np.exp(RNG.normal(size=40) * 2.0),
            "note": [f"note {number}" for number in range(40)],
            "stars": [1, 2, 3, 4] * 10,
        }
    )
    kinds = {
        "grade": "category",
        "flag": "boolean",
        "size": ["small", "middle", "large"],
        "day": "date",
        "value": "number",
        "note": "drop",
        "stars": "ordered",
    }
    layout = measure(as_frame(frame), kinds)
    assert layout.kinds == kinds | {"size": "ordered"}
    back = layout.back(layout.into(frame))
    known = frame.day.notna()
    pd.testing.assert_frame_equal(back[known], frame.drop(columns="note")[known], atol=1e-6)
    assert back.day[~known].isna().all()


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"lenght": "number"}, r"no column 'lenght'; the nearest name is 'length'"),
        ({"length": "numbr"}, r"kinds\['length'\]='numbr' must be one of.*nearest is 'number'"),
        ({"species": "number"}, r"needs a column of numbers, but its cells are text"),
        ({"species": "ordered"}, r"Pass the levels in order"),
        ({"species": ["ant", "bee"]}, r"lacks the level 'cat'"),
        ({"species": ["ant"]}, r"needs at least two"),
        ({"species": "boolean"}, r"at most two values, but it has 3"),
        ({"species": "date"}, r"'ant' is not a date"),
        ({"length": "date"}, r"Convert it first"),
        ({"depth": "log"}, r"row 0 has -1"),
    ],
)
def test_wrong_kinds_are_named(mixed, kinds, message):
    with pytest.raises(ValueError, match=message):
        measure(as_frame(mixed.assign(depth=-1.0 * np.arange(1, 121))), kinds)


def test_kinds_have_to_be_a_mapping(mixed):
    with pytest.raises(TypeError, match="must be None or a mapping"):
        measure(as_frame(mixed), ["number"])


def test_constant_and_empty_columns_have_no_weight():
    frame = pd.DataFrame(
        {
            "n": RNG.normal(size=30),
            "same": ["one"] * 30,
            "seven": 7,
            "mostly": [3.0, np.nan] * 15,
            "none": [None] * 30,
            "nan": np.nan,
        }
    )
    layout = measure(as_frame(frame))
    assert layout.width == 1
    assert list(layout.kinds.values()) == [
        "number",
        "constant",
        "constant",
        "constant",
        "empty",
        "empty",
    ]
    back = layout.back(layout.into(frame))
    pd.testing.assert_frame_equal(back, frame.assign(mostly=3.0), atol=1e-6)
    other = layout.into(frame.assign(same="two", seven=8))
    np.testing.assert_array_equal(other, layout.into(frame))


def test_identifiers_are_left_out_with_a_warning(mixed):
    frame = mixed.assign(name=[f"row {number}" for number in range(120)])
    with pytest.warns(UserWarning, match=r"'name' is left out: it has 120 different texts.*drop"):
        layout = measure(as_frame(frame))
    assert layout.kinds["name"] == "drop"
    assert "name" not in layout.back(layout.into(frame))
    np.testing.assert_array_equal(layout.into(frame), layout.into(mixed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measure(as_frame(frame), {"name": "drop"}).kinds["name"] == "drop"
        assert measure(as_frame(frame), {"name": "category"}).kinds["name"] == "category"


def test_many_texts_are_left_out():
    n = 100_000
    frame = pl.DataFrame({"n": np.arange(n), "it": np.arange(n)}).with_columns(
        pl.col("it").cast(pl.String)
    )
    with pytest.warns(UserWarning, match="100,000 different texts"):
        layout = measure(as_frame(frame))
    assert layout.width == 1


def test_too_many_levels_are_left_out():
    column = pd.Series(np.arange(4000) % 1500).astype("category")
    with pytest.warns(UserWarning, match="1,500 levels, more than 1,000"):
        layout = layout_of(it=column, n=np.arange(4000.0))
    assert layout.kinds["it"] == "drop"


def test_one_hot_columns_are_one_category(mixed):
    frame = pd.get_dummies(mixed, columns=["species"])
    layout = measure(as_frame(frame))
    assert [layout.kinds[f"species_{name}"] for name in ("ant", "bee", "cat")] == ["one-hot"] * 3
    np.testing.assert_array_equal(layout.into(frame), measure(as_frame(mixed)).into(mixed))
    noise = RNG.normal(size=(50, layout.width))
    back = layout.back(noise)
    assert back.dtypes.equals(frame.dtypes)
    assert (back.filter(like="species_").sum(axis=1) == 1).all()
    assert list(layout.probabilities(noise)) == ["size", "species", "tame"]


def test_one_hot_groups_need_a_name_and_one_in_each_row():
    codes = RNG.integers(0, 3, 60)
    hot = {f"a_b_{code}": (codes == code) * 1 for code in range(3)}
    more = {f"a_{name}": RNG.random(60) < 0.5 for name in "xy"}
    assert set(layout_of(**hot, **more).kinds.values()) == {"one-hot", "number", "boolean"} - {
        "number"
    }
    assert "one-hot" not in layout_of(**more).kinds.values()
    unnamed = {f"{code}": (codes == code) * 1 for code in range(3)}
    assert "one-hot" not in layout_of(**unnamed).kinds.values()
    two = layout_of({"a_b_0": "boolean"}, **hot)
    assert "one-hot" not in two.kinds.values()


def test_one_hot_columns_may_have_gaps_together():
    codes = RNG.integers(0, 3, 60)
    frame = pd.DataFrame({f"it={code}": (codes == code) * 1.0 for code in range(3)})
    frame["n"] = RNG.normal(size=60)
    frame.iloc[:5, :3] = np.nan
    layout = measure(as_frame(frame))
    assert layout.kinds["it=0"] == "one-hot"
    encoded = layout.into(frame)
    assert np.isnan(encoded[:5, :3]).all()
    assert np.isfinite(encoded[5:]).all()
    with pytest.warns(UserWarning, match=r"'it' has levels.*no single 1"):
        layout.into(frame.assign(**{"it=0": 0.0, "it=1": 0.0, "it=2": 0.0}))


def test_the_order_of_columns_has_no_effect(mixed):
    layout = measure(as_frame(mixed))
    turned = mixed[mixed.columns[::-1]]
    np.testing.assert_array_equal(layout.into(turned), layout.into(mixed))
    np.testing.assert_array_equal(measure(as_frame(turned)).into(turned), layout.into(mixed))
    assert list(layout.back(layout.into(mixed))) == list(mixed)


def test_numbers_in_closed_form(mixed):
    """What the fields of the layout promise, computed from them."""
    layout = measure(as_frame(mixed))
    encoded = layout.into(mixed) + 0.3 * RNG.normal(size=(120, layout.width))
    values = encoded * layout.scale + layout.center
    values[:, layout.log] = np.maximum(np.exp(values[:, layout.log]) - layout.offset[layout.log], 0)
    for number in range(layout.group.max() + 1):
        own = layout.group == number
        values[:, own] = np.clip(values[:, own], 0.0, None)
        values[:, own] /= values[:, own].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(layout.numbers(encoded), values, rtol=1e-12)
    assert layout.flat_names[:3] == ["count", "day", "length"]
    assert "species=bee" in layout.flat_names
    assert len(layout.flat_names) == encoded.shape[1] == layout.width
    flat = dict(zip(layout.flat_names, layout.numbers(layout.into(mixed)).T, strict=True))
    np.testing.assert_allclose(flat["price"], mixed.price, rtol=1e-6)
    np.testing.assert_array_equal(flat["tame=True"], mixed.tame)
