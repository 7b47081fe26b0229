"""AutoTwoWay on a cluster: the race runs on a sample, the winner is fitted to all rows."""

import dask.array as da
import numpy as np
import pytest

import twofold
import twofold.dask
from twofold.datasets import make_s_curve

X = make_s_curve(600, random_state=0)[0]


def test_winner_is_fitted_to_all_rows():
    model = twofold.AutoTwoWay(random_state=0)
    rows = da.from_array(X, chunks=(200, 3))
    fitted, latents = twofold.dask.fit(model, rows, return_embedding=True)
    assert fitted is model
    assert model.method_ in ("drur", "ukr", "principal_manifold")
    assert {row["method"] for row in model.report_} == {"drur", "ukr", "principal_manifold"}
    assert latents.compute().shape == (600, 2)
    alone = twofold.dask.fit(
        type(model.best_estimator_)(**model.best_estimator_.get_params(deep=False)), rows
    )
    np.testing.assert_array_equal(model.transform(X[:9]), alone.transform(X[:9]))
    np.testing.assert_allclose(model.transform(rows).compute(), model.transform(X), atol=1e-9)
    assert model.score(X) > 0.99


@pytest.mark.parametrize(
    ("settings", "options", "error", "message"),
    [
        ({"effort": 3.0}, {}, TypeError, "seconds bound a fit in memory"),
        ({"methods": ["pca"]}, {}, ValueError, "on a cluster the methods are"),
        ({}, {"levels": 5}, TypeError, "levels=5"),
        ({}, {"checkpoint": "run.twofold"}, ValueError, "Set random_state to an integer"),
    ],
)
def test_refusals(settings, options, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = da.from_array(X, chunks=(200, 3))
    with pytest.raises(error, match=message):
        twofold.dask.fit(twofold.AutoTwoWay(**settings), rows, **options)
