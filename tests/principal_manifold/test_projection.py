"""The projection step: fewer columns, compiled descents, and features on grids."""

from dataclasses import replace

import numpy as np
import pytest

from twofold.losses import L1, Huber, Norm, Squared
from twofold.numerics.sums import _compiled
from twofold.principal_manifold import PrincipalManifold
from twofold.principal_manifold.domains import Domain
from twofold.principal_manifold.node_kernels import GaussianKernel, PeriodicKernel
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import LOOPS, DomainProjection

SIDES = {1: (1.0,), 2: (1.0, 0.5), 3: (1.0, 0.5, 1.0)}


def problem(q=2, n_columns=3, *, loss=None, n=200, n_nodes=4, only=None):
    """Return the projection to a random map, and rows near its manifold."""
    rng = np.random.default_rng(0)
    domain = Domain((False,) * q, sides=SIDES[q])
    nodes, widths = domain.grid((n_nodes,) * q), domain.spacing((n_nodes,) * q)
    up = NodeExpansion(nodes[only or slice(None)], (GaussianKernel(),) * q, widths)
    up.weights_ = rng.standard_normal((len(up.nodes), n_columns))
    up.intercept_ = rng.standard_normal(n_columns)
    projection = DomainProjection(up, domain, domain.grid((9,) * q), loss or Squared())
    latents = rng.uniform(-1.2, 1.2, (n, q)) * domain.ends
    rows = up.predict(domain.into(latents)) + 0.3 * rng.standard_normal((n, n_columns))
    return projection, rows


class TestFewColumns:
    @pytest.mark.parametrize("loss", [Squared(), Norm(), Huber(0.5)])
    def test_distances_stay(self, loss):
        projection, rows = problem(n_columns=40, loss=loss)
        near, few = projection.in_few_columns(rows)
        assert few.shape == (200, 17)
        places = projection.grid[np.arange(200) % 81]
        np.testing.assert_allclose(near.losses(few, places), projection.losses(rows, places))

    def test_latents_stay(self):
        projection, rows = problem(n_columns=40)
        np.testing.assert_allclose(
            projection.predict(rows), projection._nearest(rows), rtol=0.0, atol=1e-6
        )

    @pytest.mark.parametrize(("loss", "n_columns"), [(L1(), 40), (Squared(), 17)])
    def test_columns_that_stay(self, loss, n_columns):
        projection, rows = problem(n_columns=n_columns, loss=loss)
        near, few = projection.in_few_columns(rows)
        assert near is projection
        assert few is rows


@pytest.mark.skipif(_compiled.compiled(1 << 62, LOOPS) is None, reason="numba is missing")
class TestCompiled:
    @pytest.mark.parametrize("q", [1, 2, 3])
    @pytest.mark.parametrize("only", [None, [0, 1, 3]])
    @pytest.mark.parametrize("n_steps", [1, 20])
    def test_equal_to_its_twin(self, q, only, n_steps):
        projection, rows = problem(q, 5, only=only)
        slow, slow_losses = projection.lower(rows, None, n_steps)
        fast, fast_losses = replace(projection, many=True).lower(rows, None, n_steps)
        np.testing.assert_allclose(fast, slow, atol=1e-6)
        np.testing.assert_allclose(fast_losses, slow_losses, rtol=1e-7, atol=1e-12)

    def test_losses_are_those_of_the_latents(self):
        projection, rows = problem(n_columns=40)
        near, few = replace(projection, many=True).in_few_columns(rows)
        latents, losses = near.lower(few, None)
        np.testing.assert_allclose(losses, projection.losses(rows, latents))
        assert (np.abs(latents) <= projection.domain.ends).all()

    def test_fits_without_numba_agree(self, monkeypatch):
        _, rows = problem(n_columns=20)
        fitted = PrincipalManifold(2, alpha=1e-3, init="pca", random_state=0).fit(rows)
        assert fitted.encoder_.projection.many
        monkeypatch.setenv("TWOFOLD_NUMBA", "0")
        _compiled._loops.cache_clear()
        plain = PrincipalManifold(2, alpha=1e-3, init="pca", random_state=0).fit(rows)
        latents = fitted.transform(rows)
        monkeypatch.undo()
        _compiled._loops.cache_clear()
        assert plain.score(rows) == pytest.approx(fitted.score(rows), abs=1e-4)
        np.testing.assert_allclose(latents, fitted.transform(rows), atol=1e-6)


@pytest.mark.parametrize("kernel", [GaussianKernel(), PeriodicKernel()])
def test_features_of_grids_and_of_other_nodes_are_products(kernel):
    nodes = Domain((False, False)).grid((3, 4))
    order = np.random.default_rng(0).permutation(12)
    inputs = np.random.default_rng(1).uniform(-1.0, 1.0, (20, 2))
    widths = np.array([0.5, 0.7])
    grid, mixed = (NodeExpansion(one, (kernel,) * 2, widths) for one in (nodes, nodes[order]))
    values = [kernel.values(inputs[:, d], nodes[:, d], widths[d]) for d in range(2)]
    slopes = [kernel.slopes(inputs[:, d], nodes[:, d], widths[d]) for d in range(2)]
    expected = [values[0] * values[1], slopes[0] * values[1], values[0] * slopes[1]]
    for up, columns in ((grid, slice(None)), (mixed, order)):
        features, gradients = up.feature_gradients(inputs)
        for found, one in zip((features, *gradients), expected, strict=True):
            np.testing.assert_allclose(found, one[:, columns])
        np.testing.assert_array_equal(up.features(inputs), features)
