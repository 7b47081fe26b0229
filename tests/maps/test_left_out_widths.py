"""The search for a width on samples and leading coordinates agrees with the full one."""

import numpy as np
import pytest

from twofold.kernels import resolve_kernel
from twofold.maps.affine import leading_coordinates
from twofold.maps.left_out_widths import best_width

WIDTHS = [0.05, 0.1, 0.2, 0.4]


def sheet(n, n_features):
    rng = np.random.default_rng(0)
    Z = rng.random((n, 2))
    clean = np.sin(3.0 * Z @ rng.standard_normal((2, n_features)))
    return Z, clean + 0.1 * rng.standard_normal(clean.shape)


def test_leading_coordinates_keep_few_columns():
    Z, X = sheet(300, 80)
    assert leading_coordinates(Z) is Z
    assert leading_coordinates(X).shape[1] <= 50


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_many_targets_have_nearly_the_same_width(kernel, monkeypatch):
    Z, X = sheet(600, 80)
    few, _ = best_width(Z, X, resolve_kernel(kernel), WIDTHS)
    monkeypatch.setattr("twofold.maps.affine.MAX_RANK", 100)
    full, error = best_width(Z, X, resolve_kernel(kernel), WIDTHS)
    assert few == pytest.approx(full, rel=0.2)
    assert 0.0 < error < 80.0


def test_a_sample_of_rows_gives_a_narrower_width_for_all(monkeypatch):
    Z, X = sheet(2_000, 5)
    full, _ = best_width(Z, X, resolve_kernel("gaussian"), WIDTHS)
    monkeypatch.setattr("twofold.maps.left_out_widths.MAX_ROWS", 500)
    sampled, _ = best_width(Z, X, resolve_kernel("gaussian"), WIDTHS)
    assert sampled == pytest.approx(full, rel=0.35)
    assert sampled < 0.85 * best_width(Z[::4], X[::4], resolve_kernel("gaussian"), WIDTHS)[0]


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_widths_follow_the_units(scale):
    Z, X = sheet(200, 5)
    width, error = best_width(Z, X, resolve_kernel("gaussian"), WIDTHS)
    other, lost = best_width(
        scale * Z, X / scale, resolve_kernel("gaussian"), [scale * w for w in WIDTHS]
    )
    assert other == pytest.approx(scale * width, rel=1e-3)
    assert lost == pytest.approx(error / scale**2, rel=1e-3)
