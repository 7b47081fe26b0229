import numpy as np
import pytest
from differences import central_gradient
from hypothesis import given, settings
from hypothesis import strategies as st
from registry import LOSSES, PENALTIES

from twofold.losses import Huber, Squared, resolve_loss
from twofold.principal_manifold.penalties import L1Penalty, L2Penalty, RKHSPenalty


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


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_gradient_and_proximal_step_of_penalty(penalty):
    rng = np.random.default_rng(1)
    W = rng.standard_normal((6, 2))
    numeric = central_gradient(penalty.value, W, step=1e-4)
    np.testing.assert_allclose(penalty.gradient(W), numeric, rtol=1e-6, atol=1e-8)
    V = penalty.proximal(W, 0.3)

    def objective(U):
        return np.square(U - W).sum() / 0.6 + penalty.value(U)

    for _ in range(50):
        assert objective(V) <= objective(V + 1e-3 * rng.standard_normal(V.shape)) + 1e-12


def test_penalty_values():
    W = np.array([[1.0, -2.0], [0.5, 0.0]])
    assert L1Penalty().value(W) == 3.5
    assert L2Penalty().value(W) == 5.25
    G = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert RKHSPenalty(G).value(W) == pytest.approx(np.trace(W.T @ G @ W))
    np.testing.assert_array_equal(RKHSPenalty(G).matrix(2), G)
    np.testing.assert_array_equal(L2Penalty().matrix(2), np.eye(2))
    with pytest.raises(ValueError, match="2 nodes, not 3"):
        RKHSPenalty(G).matrix(3)
