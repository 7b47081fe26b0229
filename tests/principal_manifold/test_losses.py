import numpy as np
import pytest
from differences import central_gradient
from hypothesis import given, settings
from hypothesis import strategies as st
from registry import LOSSES

from twofold.losses import Huber, Squared, resolve_loss


@pytest.fixture
def residuals():
    return np.random.default_rng(0).standard_normal((6, 3))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_gradient_of_loss(loss, residuals):
    numeric = central_gradient(lambda R: loss.values(R).sum(), residuals, step=1e-4)
    np.testing.assert_allclose(loss.gradients(residuals), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_weights_give_the_gradient(loss, residuals):
    expected = 2.0 * loss.weights(residuals) * residuals
    np.testing.assert_allclose(loss.gradients(residuals), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@given(seed=st.integers(0, 10_000), scale=st.floats(1e-3, 1e3))
@settings(max_examples=50, deadline=None)
def test_loss_lies_below_its_parabola(loss, seed, scale):
    rng = np.random.default_rng(seed)
    R, R0 = scale * rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    bound = loss.values(R0) + (loss.weights(R0) * (R**2 - R0**2)).sum(axis=1)
    assert (loss.values(R) <= bound + 1e-9 * (1.0 + np.abs(bound))).all()


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_zero_residuals_are_finite(loss):
    zero = np.zeros((2, 3))
    assert not loss.values(zero).any()
    assert not loss.gradients(zero).any()
    assert np.isfinite(loss.weights(zero)).all()


def test_huber_is_equation_8():
    r = np.array([[0.3, 0.4], [3.0, 4.0]])
    np.testing.assert_allclose(Huber(2.0).values(r), [0.25 / 4.0, 5.0 - 1.0])
    with pytest.raises(ValueError, match="scale=0"):
        Huber(0)


def test_resolve_loss():
    assert resolve_loss("squared") == Squared()
    loss = Huber(3.0)
    assert resolve_loss(loss) is loss
    with pytest.raises(ValueError, match="loss='cubic' is unknown"):
        resolve_loss("cubic")
