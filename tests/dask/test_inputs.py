"""What can be fitted, and what is refused with a remedy."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_tables import QUICK, QUIET, SHEET, X, assert_same_model, chunked

import twofold
from twofold.dask import Levels, fit
from twofold.dask._blocks import as_collection

pytestmark = QUIET


@pytest.fixture(scope="module")
def expected():
    return twofold.DRUR(**QUICK).fit(X[:2_500])


@pytest.mark.parametrize("kind", ["frame", "zarr", "zarr path", "npy", "memmap", "parquet"])
def test_kinds(client, expected, tmp_path, kind):
    rows = np.ascontiguousarray(X[:2_500])
    names = ["a", "b", "c"]
    frame = dd.from_pandas(pd.DataFrame(rows, columns=names), npartitions=3)
    if kind == "frame":
        given = frame
    elif kind.startswith("zarr"):
        import zarr

        stored = zarr.create_array(
            tmp_path / "x.zarr", shape=rows.shape, chunks=(600, 3), dtype="f8"
        )
        stored[:] = rows
        given = stored if kind == "zarr" else str(tmp_path / "x.zarr")
    elif kind == "parquet":
        frame.to_parquet(tmp_path / "x.parquet")
        given = tmp_path / "x.parquet"
    else:
        np.save(tmp_path / "x.npy", np.vstack([np.zeros((10, 3)), rows]))
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        np.save(tmp_path / "y.npy", rows)
        given = mapped[10:] if kind == "memmap" else tmp_path / "y.npy"
    model, embedding = fit(twofold.DRUR(**QUICK), given, return_embedding=True)
    assert_same_model(model, expected)
    np.testing.assert_allclose(embedding.compute(), expected.embedding_, atol=1e-9)
    Z = model.transform(as_collection(given), method="map")
    assert hasattr(Z, "__dask_graph__")
    np.testing.assert_allclose(
        np.asarray(Z.compute()), expected.transform(X[:2_500], method="map"), atol=1e-9
    )
    if kind in ("frame", "parquet"):
        assert list(model.feature_names_in_) == names


def test_single_precision(client):
    _, Z = fit(twofold.DRUR(**QUICK), chunked(data=X.astype(np.float32)), return_embedding=True)
    assert Z.dtype == np.float32
    assert Z.compute().dtype == np.float32


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (X[:50], TypeError, "ndarray is not distributed"),
        (da.from_array(X)[da.from_array(X)[:, 0] > 0], ValueError, "compute_chunk_sizes"),
        (da.from_array(X, chunks=(500, 2)), ValueError, r"rechunk\(\{1: -1\}\)"),
        (da.from_array(X[:, 0]), ValueError, "2D array"),
        (da.from_array(X.astype(complex)), ValueError, "could not convert"),
        (da.from_array(X[:1]), ValueError, "1 sample"),
        ("data.csv", ValueError, "must end in .zarr"),
        ("data.zarr", FileNotFoundError, "does not exist"),
        ("s3://bucket/data.zarr", ValueError, "is an address"),
        (
            dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1),
            ValueError,
            "column 'b' of X",
        ),
        (dd.from_pandas(pd.Series([1.0, 2.0]), npartitions=1), ValueError, "X is a series"),
    ],
)
def test_refused_data(no_client, given, error, message):
    with pytest.raises(error, match=message):
        fit(twofold.DRUR(n_components=1), given)


@pytest.mark.parametrize(
    ("estimator", "options", "error", "message"),
    [
        (twofold.DRUR(n_centers="all"), {}, ValueError, "n_centers='all'"),
        (twofold.DRUR(init=SHEET), {}, ValueError, "init is an array"),
        (twofold.DRUR(n_components=7), {}, ValueError, "at most n_features=3"),
        (twofold.DRUR(), {"timeout": 0.0}, ValueError, "timeout=0.0"),
        (twofold.DRUR(), {"client": "no client"}, TypeError, "must be a distributed.Client"),
        (twofold.DRUR(), {"levels": Levels(n_sample=9)}, ValueError, "is for UKR"),
        (twofold.PrincipalManifold(2, init=SHEET), {}, ValueError, "init is an array"),
        (twofold.TwoWay("pca"), {}, TypeError, "pass an AutoTwoWay, DRUR.*sample"),
    ],
)
def test_refused_estimators_and_options(no_client, estimator, options, error, message):
    with pytest.raises(error, match=message):
        fit(estimator, chunked(), **options)
