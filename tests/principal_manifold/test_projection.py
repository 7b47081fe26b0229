"""The projection step: fewer columns, compiled descents, and features on grids."""

from dataclasses import replace

import numpy as np
import pytest
from differences import central_gradient

from twofold.losses import L1, Huber, Norm, Squared
from twofold.numerics.sums import _compiled
from twofold.principal_manifold import PrincipalManifold
from twofold.principal_manifold.domains import Domain, Points
from twofold.principal_manifold.node_kernels import GaussianKernel, PeriodicKernel
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import LOOPS, DomainProjection, are_many

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


class TestNearest:
    @pytest.mark.parametrize(("q", "n_nodes", "n_fine"), [(1, 8, 4001), (2, 5, 101)])
    def test_rows_find_the_nearest_place_of_all(self, q, n_nodes, n_fine):
        """Far rows of a tangled manifold: one start finds the nearest place of 84 % of them."""
        projection, rows = problem(q, 3, n_nodes=n_nodes)
        rows += np.random.default_rng(1).standard_normal(rows.shape)
        fine = projection.domain.grid((n_fine,) * q)
        images = projection.up.predict(fine)
        least = np.array([np.square(row - images).sum(axis=1).min() for row in rows])
        losses = projection.losses(rows, projection.predict(rows))
        assert (losses <= 1.01 * least).mean() > {1: 0.99, 2: 0.95}[q]

    def test_places_across_the_seam_of_a_circle_are_close(self):
        domain = Domain((True, False), sides=(1.0, 0.5))
        up = NodeExpansion(domain.grid((3, 3)), (PeriodicKernel(), GaussianKernel()), np.ones(2))
        projection = DomainProjection(up, domain, domain.grid((9, 5)), Squared())
        apart = np.abs(projection.grid[:, None] - projection.grid)
        apart[:, :, 0] = np.minimum(apart[:, :, 0], 2.0 - apart[:, :, 0])
        near = (apart < domain.ends / 3.0).all(axis=2)
        np.testing.assert_array_equal(projection._close(), near)

    def test_points_alone_are_the_nearest_images(self):
        domain, rng = Points(5), np.random.default_rng(0)
        up = NodeExpansion(domain.grid((5,)), (GaussianKernel(),), np.array([1e-3]))
        up.weights_, up.intercept_ = rng.standard_normal((5, 3)), np.zeros(3)
        projection = DomainProjection(up, domain, domain.grid((5,)), Squared())
        rows = rng.standard_normal((40, 3))
        expected = np.square(rows[:, None] - up.weights_).sum(axis=2).argmin(axis=1)
        np.testing.assert_array_equal(projection.predict(rows)[:, 0], expected)


LOSSES = {
    "squared": (Squared(), lambda r: np.square(r).sum(axis=-1)),
    "norm": (Norm(), lambda r: np.sqrt(np.square(r).sum(axis=-1))),
    "l1": (L1(), lambda r: np.abs(r).sum(axis=-1)),
}


class TestLower:
    @pytest.mark.parametrize("latent_noise", [0.0, 0.4])
    @pytest.mark.parametrize("loss", LOSSES)
    def test_starts(self, loss, latent_noise):
        """The place of the lowest loss of the grid, unless a given latent is better."""
        loss, values = LOSSES[loss]
        projection, rows = problem(loss=loss, n=40)
        projection = replace(projection, latent_noise=latent_noise)

        def naive(few, Z):
            """Return the losses of rows (n, D) at a place (q,)."""
            slopes = central_gradient(lambda z: projection.up.predict(z[None])[0], Z)
            noise = latent_noise**2 * np.square(slopes).sum()
            return values(few - projection.up.predict(Z[None])) + noise

        few = rows[:3]
        on_grid = np.stack([naive(few, place) for place in projection.grid], axis=1)
        found, losses = projection.lower(few, None, 0)
        np.testing.assert_array_equal(found, projection.grid[on_grid.argmin(axis=1)])
        np.testing.assert_allclose(losses, on_grid.min(axis=1), rtol=1e-6)
        given = np.random.default_rng(2).uniform(-0.5, 0.5, (3, 2))
        at_given = np.array([naive(few[i : i + 1], given[i])[0] for i in range(3)])
        better = (at_given <= on_grid.min(axis=1))[:, None]
        found, losses = projection.lower(few, given, 0)
        np.testing.assert_array_equal(
            found, np.where(better, given, projection.grid[on_grid.argmin(axis=1)])
        )
        np.testing.assert_allclose(losses, np.minimum(at_given, on_grid.min(axis=1)), rtol=1e-6)
        found, losses = projection.lower(few, given, 0, everywhere=False)
        np.testing.assert_array_equal(found, given)
        np.testing.assert_allclose(losses, at_given, rtol=1e-6)

    @pytest.mark.parametrize("many", [False, True])
    @pytest.mark.parametrize("loss", [Squared(), Norm(), Huber(0.5)])
    def test_ends_are_minima_within_the_domain(self, loss, many):
        projection, rows = problem(loss=loss, n=60)
        projection = replace(projection, many=many)
        start = projection.grid[np.arange(60)]
        ends = projection.domain.ends
        found, losses = projection.lower(rows, start, 200)
        np.testing.assert_allclose(losses, projection.losses(rows, found), rtol=1e-12)
        assert (losses <= projection.losses(rows, start)).all()
        assert (np.abs(found) <= ends).all()
        slopes = np.empty_like(found)
        for axis in range(2):
            step = np.zeros(2)
            step[axis] = 1e-6
            up, down = (projection.losses(rows, found + sign * step) for sign in (1.0, -1.0))
            slopes[:, axis] = (up - down) / 2e-6
        outward = (np.abs(found) >= ends) & (slopes * found < 0.0)
        left = np.where(outward, 0.0, np.abs(slopes)).max(axis=1)
        assert outward.any()
        assert (left < 1e-2).mean() > 0.95

    @pytest.mark.parametrize("wrapped", [(True, False), (False, True)])
    def test_kernels_that_compiled_loops_lack(self, wrapped):
        rng, domain = np.random.default_rng(0), Domain(wrapped)
        kernels = tuple(PeriodicKernel() if one else GaussianKernel() for one in wrapped)
        up = NodeExpansion(domain.grid((4, 4)), kernels, domain.spacing((4, 4)))
        up.weights_, up.intercept_ = rng.standard_normal((16, 3)), np.zeros(3)
        plain = DomainProjection(up, domain, domain.grid((9, 9)), Squared())
        rows = rng.standard_normal((50, 3))
        found, losses = replace(plain, many=True).lower(rows, None)
        np.testing.assert_array_equal(found, plain.lower(rows, None)[0])
        np.testing.assert_array_equal(losses, plain.lower(rows, None)[1])

    def test_few_steps_lower_less(self):
        projection, rows = problem()
        losses = [projection.lower(rows, None, n_steps)[1] for n_steps in (0, 1, 3, 20)]
        assert (np.diff(losses, axis=0) <= 0.0).all()
        assert losses[1].mean() < 0.9 * losses[0].mean()


def test_many_are_as_many_as_pay_for_compiling():
    projection, _ = problem()
    least = _compiled.WORTH_COMPILING // projection.up.weights_.size
    assert are_many(least + 1, projection.up)
    assert not are_many(least - 1, projection.up)
