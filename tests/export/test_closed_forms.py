"""Maps as steps: applied here, they are the maps."""

import numpy as np
import pytest
from registry import ESTIMATORS, MAPS
from sklearn.base import clone

from twofold import DRUR, UKR, PrincipalManifold, TwoWay
from twofold.datasets import make_swiss_roll
from twofold.export.programs.steps import Put, RadialMeans, Take
from twofold.export.programs.translation import NoClosedForm, closed_form
from twofold.kernels import Gaussian
from twofold.maps.projection import Projection
from twofold.principal_manifold import FourierKernel
from twofold.principal_manifold.domains import Domain, Points

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def roll():
    X = make_swiss_roll(120, random_state=0)[0]
    # An offset, a unit, a constant column.
    return np.hstack([1e3 + 50.0 * X, np.full((len(X), 1), 7.25)])


def places(model, rng):
    Z = model.embedding_
    far = Z.mean(axis=0) + 3.0 * np.ptp(Z, axis=0) * rng.uniform(-1, 1, size=(20, Z.shape[1]))
    return np.vstack([Z[:30], far])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_way_up_is_the_steps(name):
    X = roll()
    model = clone(ESTIMATORS[name]).fit(X)
    Z = places(model, np.random.default_rng(0))
    images = closed_form(model, "up")(Z)
    np.testing.assert_allclose(images, model.inverse_transform(Z), rtol=0, atol=1e-6 * np.ptp(X))
    np.testing.assert_allclose(images[:, -1], 7.25, rtol=1e-14)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_way_down_is_the_steps_or_no_formula(name):
    X = roll()
    model = clone(ESTIMATORS[name]).fit(X)._unwrapped
    projects = (
        name.startswith(("ukr", "manifold", "sne"))
        or model.get_params().get("down") == "projection"
    )
    if (
        projects
        or getattr(model, "method_", None) == "project"
        or getattr(model, "down_", None) == "projection"
    ):
        with pytest.raises(NoClosedForm, match="projection"):
            closed_form(model, "down")
        return
    latents = closed_form(model, "down")(X)
    np.testing.assert_allclose(
        latents, model.transform(X), rtol=0, atol=1e-8 * np.ptp(model.embedding_)
    )


@pytest.mark.parametrize("name", MAPS)
def test_every_map_is_steps(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    model = TwoWay("pca", up=clone(MAPS[name]), down=clone(MAPS[name]), random_state=0).fit(X)
    Z = places(model, rng)
    scale = np.abs(model.inverse_transform(Z)).max()
    np.testing.assert_allclose(
        closed_form(model, "up")(Z), model.inverse_transform(Z), rtol=0, atol=1e-9 * scale
    )
    np.testing.assert_allclose(closed_form(model, "down")(X), model.transform(X), atol=1e-9)


@pytest.mark.parametrize(
    "domain",
    [Domain((True,)), Domain((True, False)), Domain((True, True)), Points(5)],
    ids=["circle", "cylinder", "torus", "points"],
)
def test_domains_and_their_kernels(domain):
    X = roll()
    model = PrincipalManifold(domain.n_components, domain=domain, alpha=1e-2, random_state=0).fit(X)
    Z = np.random.default_rng(0).uniform(-3, 6, size=(50, domain.n_components))
    np.testing.assert_allclose(
        closed_form(model)(Z), model.inverse_transform(Z), atol=1e-9 * np.ptp(X)
    )


@pytest.mark.parametrize("kernel", ["damped", "spline", "linear"])
def test_kernels_of_nodes(kernel):
    X = roll()
    model = PrincipalManifold(1, kernel=kernel, alpha=1e-2, random_state=0).fit(X)
    Z = np.linspace(-1.5, 1.5, 40)[:, None]
    np.testing.assert_allclose(
        closed_form(model)(Z), model.inverse_transform(Z), atol=1e-9 * np.ptp(X)
    )


def test_weighted_means_are_of_the_callers_data():
    X = roll()
    model = UKR(init="pca", homotopy=False, max_iter=5, random_state=0).fit(X)
    (means,) = closed_form(model).steps
    assert isinstance(means, RadialMeans)
    assert isinstance(means.kernel, Gaussian)
    np.testing.assert_allclose(means.targets, X, rtol=1e-14)


def test_steps_that_do_nothing_are_left_out():
    model = DRUR(n_centers=10, random_state=0).fit(roll()[:, :3])
    kinds = [type(step) for step in closed_form(model, "up").steps]
    assert kinds.count(Take) <= 1
    assert kinds.count(Put) == 1


def test_constant_columns_at_the_end_are_left_out_too():
    X = np.hstack([np.random.default_rng(0).choice([-1.0, 1.0], size=(40, 3)), np.zeros((40, 2))])
    X = np.vstack([X, -X])  # of mean 0, so that nothing but the columns is changed
    model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    assert not model._data_units.center.any()
    assert model._data_units.exponent == 0
    np.testing.assert_allclose(closed_form(model, "down")(X), model.transform(X), atol=1e-12)


class DoubledMap(type(MAPS["rbf"])):
    def predict(self, inputs):
        return 2.0 * super().predict(inputs)


def test_what_is_derived_from_a_map_may_be_another():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = TwoWay("pca", up=DoubledMap(5, random_state=0), down=Projection(), random_state=0).fit(
        X
    )
    with pytest.raises(NoClosedForm, match="DoubledMap has no closed form"):
        closed_form(model, "up")
    with pytest.raises(ValueError, match="map='sideways'"):
        closed_form(model, "sideways")


def test_preimages_of_a_gaussian_are_a_search():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = UKR(metric="rbf", init="pca", homotopy=False, max_iter=5, random_state=0).fit(X)
    with pytest.raises(NoClosedForm, match="metric='rbf'"):
        closed_form(model, "up")


def test_fourier_kernels_have_no_closed_form():
    angle = np.linspace(0.0, 6.0, 30)
    model = PrincipalManifold(kernel=FourierKernel((1.0,)), domain="circle", alpha=1e-2, tol=0.1)
    model.fit(np.column_stack([np.cos(angle), np.sin(angle)]))
    with pytest.raises(NoClosedForm, match="Fit with kernel='gaussian'"):
        closed_form(model, "up")
