"""The maps of fitted models over Dask collections are lazy, and equal to those in memory."""

import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_tables import QUICK, QUIET, X, chunked

import twofold

pytestmark = QUIET


@pytest.fixture(scope="module", params=["drur", "ukr", "principal_manifold", "two_way"])
def fitted(request):
    made = {
        "drur": twofold.DRUR(**QUICK),
        "ukr": twofold.UKR(init="pca", max_iter=3, homotopy=False, random_state=0),
        "principal_manifold": twofold.PrincipalManifold(2, alpha=1e-3, init="pca", max_iter=3),
        "two_way": twofold.TwoWay("pca", up="nw", down="nw", random_state=0),
    }[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs are cut short
        return made.fit(X[:120])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays(client, fitted, dtype):
    rows = X[:120].astype(dtype)
    lazy = chunked(50, rows)
    Z = fitted.transform(rows)
    for method, argument, plain in [
        ("transform", lazy, rows),
        ("reconstruct", lazy, rows),
        ("reconstruction_error", lazy, rows),
        ("inverse_transform", chunked(50, Z), Z),
        ("log_density", chunked(50, Z), Z),
    ]:
        found, expected = getattr(fitted, method)(argument), getattr(fitted, method)(plain)
        assert isinstance(found, da.Array)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.chunks[0] == argument.chunks[0]
        computed = found.compute()
        assert (computed.shape, computed.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(computed, expected, atol=1e-3 if dtype == np.float32 else 1e-5)
    assert fitted.score(lazy) == pytest.approx(fitted.score(rows), abs=1e-4)


def test_frames(client):
    frame = pd.DataFrame(X[:300], columns=["a", "b", "c"], index=np.arange(300) + 1_000)
    model = twofold.DRUR(**QUICK).fit(frame)
    lazy = dd.from_pandas(frame, npartitions=3)
    Z = model.transform(lazy)
    assert list(Z.columns) == ["drur0", "drur1"]
    assert list(Z.compute().index) == list(frame.index)
    np.testing.assert_allclose(Z.compute(), model.transform(frame), atol=1e-7)
    errors = model.reconstruction_error(lazy)
    assert errors.compute().name == "reconstruction_error"
    again = model.inverse_transform(Z)
    assert list(again.columns) == ["a", "b", "c"]
    np.testing.assert_allclose(again.compute(), model.reconstruct(frame), atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(lazy[["b", "a", "c"]]).compute()
    assert model.score(lazy) == pytest.approx(model.score(frame), abs=1e-6)


def test_frames_keep_their_index(client, tmp_path):
    index = pd.date_range("2020-01-01", periods=300, freq="h", name="when")
    frame = pd.DataFrame(X[:300], columns=["a", "b", "c"], index=index)
    model = twofold.DRUR(**QUICK).fit(frame)
    lazy = dd.from_pandas(frame, npartitions=3)
    for found in (model.transform(lazy), model.reconstruction_error(lazy)):
        assert found.index.dtype == index.dtype
        assert found.index.name == "when"
    model.transform(lazy).to_parquet(tmp_path / "latents.parquet")
    again = pd.read_parquet(tmp_path / "latents.parquet")
    np.testing.assert_allclose(again, model.transform(frame), atol=1e-7)
    with pytest.raises(ValueError, match="feature names"):
        model.score(lazy[["b", "c", "a"]])


def test_containers_in_memory_are_refused():
    model = twofold.DRUR(**QUICK).fit(X[:300]).set_output(transform="pandas")
    with pytest.raises(TypeError, match="set_output would bring all rows"):
        model.transform(chunked(100, X[:300]))


def test_maps_are_lazy(fitted):
    def refuse(block):
        raise AssertionError("computed")

    lazy = chunked(100, X[:300]).map_blocks(refuse, meta=np.empty((0, 0)))
    assert fitted.transform(lazy).shape == (300, 2)


def test_a_model_is_in_the_graph_once(client, fitted):
    lazy = fitted.transform(chunked(10, X[:1_000]))
    (optimized,) = dask.optimize(lazy)
    import cloudpickle

    graph = dict(optimized.__dask_graph__())
    blocks = [
        task for key, task in graph.items() if isinstance(key, tuple) and "transform" in key[0]
    ]
    assert len(blocks) == 100
    assert max(len(cloudpickle.dumps(task)) for task in blocks) < 5_000


def test_unknown_and_empty_chunks(client, fitted):
    lazy = chunked(100, X[:300])
    some = lazy[(lazy[:, 0] > 0) & (da.arange(300, chunks=100) >= 100)]
    expected = X[100:300][X[100:300, 0] > 0]
    np.testing.assert_allclose(
        fitted.transform(some).compute(), fitted.transform(expected), atol=1e-6
    )


def test_wrong_widths(fitted):
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        fitted.transform(da.zeros((10, 2)))
    with pytest.raises(ValueError, match="rechunk"):
        fitted.transform(da.zeros((10, 3), chunks=(5, 1)))
    with pytest.raises(ValueError, match="2D"):
        fitted.transform(da.zeros(10))


def test_the_method_is_passed_on(client):
    model = twofold.DRUR(**QUICK).fit(X[:300])
    for method in ("map", "project"):
        np.testing.assert_allclose(
            model.transform(chunked(100, X[:300]), method=method).compute(),
            model.transform(X[:300], method=method),
            atol=1e-7,
        )
