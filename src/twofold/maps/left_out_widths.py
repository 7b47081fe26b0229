"""The kernel width of the lowest leave-one-out error of weighted means, coarse to fine.

The distances of the judged rows to all others are computed once for all widths. Of many rows a
sample is judged, and the targets count by their leading principal coordinates. Inputs and targets
are in units of their spread, so that single precision suffices. Of more than 50,000 rows a sample
is searched, and its width shrinks by the ratio of the counts to the power 1 / (q + 4), the rate at
which optimal widths fall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.maps.affine import leading_coordinates
from twofold.numerics.linalg import FEW_COLUMNS, row_norms_sq, shifted_exp, sqdist
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import BLOCK_BYTES, map_blocks, row_blocks, some_rows
from twofold.numerics.units import CenteredUnits
from twofold.protocols import AnyArray, Array, IntArray, RadialKernel

MAX_ROWS = 50_000
MAX_PAIRS = 10**7
"""Pairs of judged rows and others."""

FEWEST_IN_BLOCK = 32
"""Rows of a block, which each read all targets."""

REFINEMENTS = (2.0**0.5, 2.0**0.25, 2.0**0.125)
"""Ratios of the widths that are tried beside the best one."""


def best_width(
    inputs: Array,
    targets: Array,
    kernel: RadialKernel,
    widths: list[float],
    n_jobs: int | None = None,
) -> tuple[float, float]:
    """Return the best width near some widths, and its mean squared leave-one-out residual.

    ``inputs`` (n, q) predict ``targets`` (n, D).
    """
    n, q = inputs.shape
    kept = some_rows(n, MAX_ROWS)
    if len(kept) < n:
        inputs, targets = inputs[kept], targets[kept]
    across, along = CenteredUnits.of(inputs), CenteredUnits.of(targets)
    judged = JudgedRows.of(across.into(inputs), kernel, n_jobs)
    targets = along.into(targets)
    leading = leading_coordinates(targets).astype(np.float32, copy=False)
    errors = judged.errors([width / across.unit(1) for width in widths], leading)
    best = min(errors, key=errors.__getitem__)
    for ratio in REFINEMENTS:
        errors |= judged.errors([best / ratio, best * ratio], leading)
        best = min(errors, key=errors.__getitem__)
    error = judged.errors([best], targets)[best] * along.unit(2)
    return best * across.unit(1) * (len(kept) / n) ** (1.0 / (q + 4.0)), error


@dataclass(frozen=True)
class JudgedRows:
    """Rows (m,) and their squared distances to all inputs (m, n), infinite to themselves."""

    rows: IntArray
    distances: AnyArray
    kernel: RadialKernel
    n_jobs: int | None

    @classmethod
    def of(cls, inputs: Array, kernel: RadialKernel, n_jobs: int | None) -> JudgedRows:
        """Choose the rows and compute the distances of inputs (n, q)."""
        n, q = inputs.shape
        rows = some_rows(n, max(1, MAX_PAIRS // n))
        distances = np.empty((len(rows), n), dtype=np.float32)
        centered = inputs - inputs.mean(axis=0)
        norms = row_norms_sq(centered)

        def work(block: slice) -> None:
            some = rows[block]
            with np.errstate(over="ignore"):
                if q <= FEW_COLUMNS:
                    distances[block] = sqdist(inputs[some], inputs)
                    return
                # As in `sqdist`, but centered once for all blocks.
                squares = row_product(centered[some], centered.T)
                squares *= -2.0
                squares += norms
                squares += norms[some, None]
                distances[block] = np.maximum(squares, 0.0, out=squares)

        map_blocks(work, _blocks(len(rows), n), n_jobs=n_jobs)
        distances[np.arange(len(rows)), rows] = np.inf
        return cls(rows, distances, kernel, n_jobs)

    def errors(self, widths: list[float], targets: AnyArray) -> dict[float, float]:
        """Return the mean squared leave-one-out residual of targets (n, D) for each width."""

        def work(block: slice) -> Array:
            distances, wanted = self.distances[block], targets[self.rows[block]]
            lost = np.empty(len(widths))
            for number, width in enumerate(widths):
                with np.errstate(over="ignore"):
                    log_k = self.kernel.log_profile(distances / width / width)
                weights, shift = shifted_exp(log_k)
                reached = np.isfinite(shift)
                means = weights.astype(targets.dtype, copy=False) @ targets
                means /= np.where(reached, weights.sum(axis=1), 1.0)[:, None]
                if not reached.all():
                    means[~reached] = targets[distances[~reached].argmin(axis=1)]
                lost[number] = np.square(wanted - means).sum(dtype=np.float64)
            return lost

        blocks = _blocks(len(self.rows), self.distances.shape[1])
        total = np.sum(map_blocks(work, blocks, n_jobs=self.n_jobs), axis=0) / len(self.rows)
        return dict(zip(widths, total.tolist(), strict=True))


def _blocks(n_rows: int, n: int) -> list[slice]:
    return row_blocks(n_rows, min(3 * 8 * n, BLOCK_BYTES // FEWEST_IN_BLOCK))
