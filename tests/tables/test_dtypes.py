"""Columns of all data types: encoded to finite numbers, and back with the same type."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.tables.cells import from_days, plain_level, to_days, to_integers
from twofold.tables.frames import as_frame
from twofold.tables.measuring import measure

N = 60
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, N)
NUMBERS = RNG.normal(size=N)
TEXTS = [["x", "y", "w"][code] for code in CODES]
DAYS = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 400, N), unit="D"))
TIMES = DAYS + pd.to_timedelta(RNG.integers(0, 86_400, N), unit="s")
DECIMALS = [decimal.Decimal(int(code)) / 4 for code in CODES]
UTC = [stamp.tz_localize("UTC").to_pydatetime() for stamp in TIMES]

PANDAS = {
    "int8": ("number", pd.Series(CODES.astype("int8"))),
    "uint64": ("number", pd.Series(CODES.astype("uint64"))),
    "large integers": ("number", pd.Series((CODES.astype("int64") + 1) * 2**60)),
    "float16": ("number", pd.Series(NUMBERS.astype("float16"))),
    "float32": ("number", pd.Series(NUMBERS.astype("float32"))),
    "Int64": ("number", pd.Series(CODES, dtype="Int64")),
    "Float64": ("number", pd.Series(NUMBERS, dtype="Float64")),
    "sparse": ("number", pd.Series(pd.arrays.SparseArray(CODES * 1.0))),
    "arrow int": ("number", pd.Series(CODES, dtype="int32[pyarrow]")),
    "arrow float": ("number", pd.Series(NUMBERS, dtype="double[pyarrow]")),
    "arrow decimal": ("number", pd.Series(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(9, 2)))),
    "decimals": ("number", pd.Series(DECIMALS)),
    "integer objects": ("number", pd.Series([int(code) for code in CODES], dtype=object)),
    "float objects": ("number", pd.Series([1.5 * code for code in CODES], dtype=object)),
    "bool": ("boolean", pd.Series(CODES > 1)),
    "boolean": ("boolean", pd.Series(CODES > 1, dtype="boolean")),
    "arrow bool": ("boolean", pd.Series(CODES > 1, dtype="bool[pyarrow]")),
    "boolean objects": ("boolean", pd.Series([bool(code) for code in CODES], dtype=object)),
    "category": ("category", pd.Series(pd.Categorical.from_codes(CODES, ["z", "a", "m", "no"]))),
    "category of numbers": ("category", pd.Series(CODES).astype("category")),
    "category of booleans": ("category", pd.Series(CODES > 0).astype("category")),
    "category of dates": ("category", DAYS.dt.to_period("Y").dt.to_timestamp().astype("category")),
    "ordered": (
        "ordered",
        pd.Series(pd.Categorical.from_codes(CODES, ["lo", "mid", "hi", "no"], ordered=True)),
    ),
    "intervals": ("ordered", pd.cut(pd.Series(NUMBERS), 4)),
    "objects": ("category", pd.Series(TEXTS, dtype=object)),
    "string": ("category", pd.Series(TEXTS, dtype="string[python]")),
    "string of Arrow": ("category", pd.Series(TEXTS, dtype="string[pyarrow]")),
    "arrow string": ("category", pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string()))),
    "mixed objects": ("category", pd.Series([["a", 1, 2.5][code] for code in CODES])),
    "datetime": ("date", TIMES),
    "datetime in seconds": ("date", TIMES.astype("datetime64[s]")),
    "time zone": ("date", TIMES.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
    "arrow timestamp": ("date", pd.Series(UTC, dtype=pd.ArrowDtype(pa.timestamp("us", "UTC")))),
    "arrow date": (
        "date",
        pd.Series([day.date() for day in DAYS], dtype=pd.ArrowDtype(pa.date32())),
    ),
    "date objects": ("date", pd.Series([day.date() for day in DAYS])),
    "datetime objects": ("date", pd.Series(list(TIMES), dtype=object)),
    "zoned objects": ("date", pd.Series(UTC, dtype=object)),
    "period": ("date", DAYS.dt.to_period("M")),
    "timedelta": ("number", TIMES - TIMES[0]),
    "arrow duration": (
        "number",
        pd.Series(list(TIMES - TIMES[0]), dtype=pd.ArrowDtype(pa.duration("s"))),
    ),
    "timedelta objects": ("number", pd.Series(list(TIMES - TIMES[0]), dtype=object)),
}

PYTHON_TIMES = [stamp.to_pydatetime() for stamp in TIMES]
SPANS = [one - PYTHON_TIMES[0] for one in PYTHON_TIMES]
POLARS = {
    "Int64": ("number", pl.Series(CODES)),
    "UInt8": ("number", pl.Series(CODES, dtype=pl.UInt8)),
    "Int128": ("number", pl.Series(CODES, dtype=pl.Int128)),
    "Float32": ("number", pl.Series(NUMBERS, dtype=pl.Float32)),
    "Decimal": ("number", pl.Series(DECIMALS, dtype=pl.Decimal(10, 2))),
    "Boolean": ("boolean", pl.Series(CODES > 0)),
    "String": ("category", pl.Series(TEXTS)),
    "Categorical": ("category", pl.Series(TEXTS, dtype=pl.Categorical)),
    "Enum": ("category", pl.Series(TEXTS, dtype=pl.Enum(["w", "y", "no", "x"]))),
    "Date": ("date", pl.Series([one.date() for one in PYTHON_TIMES])),
    "Datetime": ("date", pl.Series(PYTHON_TIMES)),
    "zoned": ("date", pl.Series(PYTHON_TIMES, dtype=pl.Datetime("ms", "Europe/Berlin"))),
    "nanoseconds": ("date", pl.Series(PYTHON_TIMES, dtype=pl.Datetime("ns"))),
    "Duration": ("number", pl.Series(SPANS)),
    "milliseconds": ("number", pl.Series(SPANS, dtype=pl.Duration("ms"))),
}

GAPS = np.arange(N) % 3 == 0


def block_of(layout, encoded, name):
    return next(block for column, block in layout.blocks(encoded) if column.name == name)


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_come_back(name):
    kind, column = PANDAS[name]
    frame = pd.DataFrame({"n": np.arange(N) * 1.0, "it": column})
    layout = measure(as_frame(frame))
    assert layout.kinds["it"] == kind
    encoded = layout.into(frame)
    assert np.isfinite(encoded).all()
    pd.testing.assert_frame_equal(layout.back(encoded), frame, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", PANDAS)
def test_gaps_of_pandas_are_gaps_in_the_whole_block(name):
    frame = pd.DataFrame({"n": np.arange(N) * 1.0, "it": PANDAS[name][1]})
    frame["it"] = frame["it"].mask(GAPS)
    layout = measure(as_frame(frame))
    encoded = layout.into(frame)
    missing = np.isnan(block_of(layout, encoded, "it"))
    assert (missing == GAPS[:, None]).all()
    back = layout.back(np.nan_to_num(encoded))
    assert back["it"].notna().all()
    assert back["it"].dtype == frame["it"].dtype
    pd.testing.assert_series_equal(back["it"][~GAPS], frame["it"][~GAPS], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_come_back(name):
    kind, column = POLARS[name]
    frame = pl.DataFrame({"n": np.arange(N) * 1.0, "it": column})
    layout = measure(as_frame(frame))
    assert layout.kinds["it"] == kind
    encoded = layout.into(frame)
    assert np.isfinite(encoded).all()
    pl.testing.assert_frame_equal(layout.back(encoded), frame, rel_tol=1e-5, abs_tol=1e-6)


@pytest.mark.parametrize("name", POLARS)
def test_gaps_of_polars_are_gaps_in_the_whole_block(name):
    frame = pl.DataFrame({"n": np.arange(N) * 1.0, "it": POLARS[name][1]})
    frame = frame.with_columns(pl.when(pl.Series(~GAPS)).then(pl.col("it")).alias("it"))
    layout = measure(as_frame(frame))
    encoded = layout.into(frame)
    assert (np.isnan(block_of(layout, encoded, "it")) == GAPS[:, None]).all()
    back = layout.back(np.nan_to_num(encoded))
    assert back["it"].dtype == POLARS[name][1].dtype
    kept = pl.Series(~GAPS)
    pl.testing.assert_frame_equal(back.filter(kept), frame.filter(kept), rel_tol=1e-5, abs_tol=1e-6)


def test_all_kinds_of_gaps_are_one():
    frame = pd.DataFrame(
        {
            "n": [1.0, 2.0, 4.0, 5.0, 9.0, 3.0],
            "text": ["a", "b", None, np.nan, pd.NA, ""],
            "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 9), None, pd.NaT, None, pd.NaT],
        }
    )
    layout = measure(as_frame(frame))
    encoded = layout.into(frame)
    for name in ("text", "day"):
        missing = np.isnan(block_of(layout, encoded, name)).all(axis=1)
        assert missing.tolist() == [False, False, True, True, True, True]


def test_times_far_from_today_are_read_whatever_the_unit_of_pandas():
    zone = dt.timezone(dt.timedelta(hours=2))
    far = [dt.datetime(1, 1, 3, 12), None, dt.datetime(9999, 12, 31), dt.datetime(2020, 5, 1)]
    zoned = [None if one is None else one.replace(tzinfo=zone) for one in far]
    for times, hours in ((far, 0.0), (zoned, 2.0)):
        cells = as_frame(pd.DataFrame({"a": pd.Series(times, dtype=object)})).cells("a")
        expected = to_days(np.array(far, dtype="datetime64[us]")) - hours / 24.0
        np.testing.assert_allclose(cells.plain, expected, rtol=1e-12)


def test_other_frames_come_back_as_pandas():
    table = pa.table(
        {
            "n": pa.array([1, 2, None, 4] * 10),
            "text": pa.array(["x", "y", None, "z"] * 10, pa.string_view()),
            "levels": pa.array(["x", "y", None, "z"] * 10).dictionary_encode(),
        }
    )
    layout = measure(as_frame(table))
    assert layout.kinds == {"n": "number", "text": "category", "levels": "category"}
    back = layout.back(np.nan_to_num(layout.into(table)))
    assert back["n"].dtype == pd.ArrowDtype(pa.int64())
    assert back["levels"].dtype == "category"


class Interchanged:
    """A frame that knows nothing but the interchange protocol."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, **options):
        return self.frame.__dataframe__(**options)


def test_the_interchange_protocol_is_enough(mixed):
    frame = mixed[["length", "count", "species", "tame"]]
    layout = measure(as_frame(Interchanged(frame)))
    assert layout.kinds == measure(as_frame(frame)).kinds
    np.testing.assert_array_equal(layout.into(Interchanged(frame)), layout.into(frame))


def test_pandas_and_polars_are_encoded_alike(mixed):
    frame = mixed.drop(columns="size")
    np.testing.assert_array_equal(
        measure(as_frame(frame)).into(frame),
        measure(as_frame(pl.from_pandas(frame))).into(pl.from_pandas(frame)),
    )


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from("bBhHiIlL"))
@settings(max_examples=50, deadline=None)
def test_integers_stay_within_their_type(values, code):
    dtype = np.dtype(code)
    limits = np.iinfo(dtype)
    made = to_integers(np.array(values, dtype=np.float64), dtype)
    assert made.dtype == dtype
    for one, given_one in zip(made.tolist(), values, strict=True):
        assert one == np.clip(int(float(given_one)), int(limits.min), int(limits.max))


@given(st.lists(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)), min_size=1))
@settings(max_examples=50, deadline=None)
def test_days_are_exact_to_microseconds(times):
    stamps = np.array(times, dtype="datetime64[us]")
    for dtype in ("datetime64[us]", "datetime64[ns]"):
        off = from_days(to_days(stamps.astype(dtype)), dtype) - stamps.astype(dtype)
        assert (np.abs(off) <= np.timedelta64(2, "us")).all()


@given(
    st.lists(
        st.one_of(st.none(), st.text(max_size=5), st.integers(-5, 5), st.booleans()),
        min_size=2,
        max_size=30,
    )
)
@settings(max_examples=100, deadline=None)
def test_text_of_any_kind_comes_back(values):
    frame = pd.DataFrame({"n": np.arange(len(values)) * 1.0, "it": pd.Series(values, dtype=object)})
    layout = measure(as_frame(frame), {"it": "category"})
    back = layout.back(np.nan_to_num(layout.into(frame), nan=0.0))
    for old, new in zip(values, back["it"], strict=True):
        if old is not None and old != "":
            assert new == old


def test_strange_objects_are_refused_by_name():
    frame = pd.DataFrame({"n": [1.0, 2.0], "lists": [[1], [2]]})
    with pytest.raises(ValueError, match=r"Column 'lists' cannot be read.*'drop'"):
        measure(as_frame(frame))
    with pytest.raises(ValueError, match=r"Column 'z' cannot be read: its type complex128"):
        measure(as_frame(pd.DataFrame({"z": [1j, 2j]})))
    with pytest.raises(ValueError, match=r"Column 'l' cannot be read: its type List"):
        measure(as_frame(pl.DataFrame({"l": [[1], [2]]})))
    with pytest.raises(TypeError, match="the level"):
        plain_level(object())
