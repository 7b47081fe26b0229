r"""Held-out errors of a trial, and whether one trial is better than another.

A map is judged by the geometric mean of two relative errors of held-out rows: the plain error
:math:`e`, and the codebook error :math:`e_{64}`, where latents are rounded to 64 codewords before
they are decoded. The first sees details, the second the map as a whole; a map in pieces may have
the lowest of the first, a blurred one the lowest of the second. The score is

.. math:: s = -\tfrac{1}{2} \bigl(\log e + \log e_{64}\bigr),

that is `twofold.metrics.map_score` with ``n_codes=[64]``, with the variance of all rows as the
unit. Fewer than 256 rows have a quarter as many codewords.

The same rows judge all trials, so their difficulty cancels in a difference of scores. To first
order, the difference of :math:`\log e` between two trials is the mean over rows of
:math:`d_i = u_i / \bar u - v_i / \bar v`, with :math:`u` and :math:`v` the squared errors. The
standard deviation of that mean is the standard error of the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from twofold.numerics.codebooks import SMALLEST_ERROR, codewords, middle_size
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.protocols import Array

Decode = Callable[[Array], Array]


def codes_of(latents: Array, seed: int) -> Array:
    """Return 64 codewords of training latents (n, q), or as many as they support."""
    return codewords(latents, middle_size(len(latents)), seed, n_init=1)


@dataclass(frozen=True)
class Judged:
    """Squared errors (m,) of held-out rows, in units of the variance of the data."""

    plain: Array
    rounded: Array

    @classmethod
    def of(
        cls,
        decode: Decode,
        codes: Array,
        found: Array,
        rows: Array,
        outside: Array,
    ) -> Judged:
        """Judge a map.

        Parameters
        ----------
        decode : callable
            The up-map.
        codes : ndarray of shape (k, q)
            Codewords of the training latents, `codes_of`.
        found : ndarray of shape (m, q)
            Latents of the held-out rows.
        rows : ndarray of shape (m, r)
            The held-out rows, at unit variance of the data.
        outside : ndarray of shape (m,)
            Squared distances of the held-out rows to the space of these coordinates.
        """
        cell = nearest(codes, found, 1)[0][:, 0]
        plain = row_norms_sq(rows - decode(found)) + outside
        rounded = row_norms_sq(rows - decode(codes)[cell]) + outside
        # A map may be far off at a place; its errors must stay finite.
        plain, rounded = (np.nan_to_num(one, nan=1e12, posinf=1e12) for one in (plain, rounded))
        return cls(plain, rounded)

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """Return the errors of several splits as those of one."""
        return cls(
            np.concatenate([one.plain for one in parts]),
            np.concatenate([one.rounded for one in parts]),
        )

    @property
    def error(self) -> float:
        """The plain relative error."""
        return float(self.plain.mean())

    @property
    def codebook_error(self) -> float:
        """The relative error at 64 codewords, or as many as the rows support."""
        return float(self.rounded.mean())

    @property
    def score(self) -> float:
        """The score; higher is better."""
        errors = np.maximum([self.error, self.codebook_error], SMALLEST_ERROR)
        return float(-0.5 * np.log(errors).sum())

    def behind(self, best: Judged) -> tuple[float, float]:
        """Return how far the score is below that of another, and the standard error of that."""
        terms = np.zeros(len(self.plain))
        for mine, other in ((self.plain, best.plain), (self.rounded, best.rounded)):
            for errors, sign in ((mine, 0.5), (other, -0.5)):
                terms += sign * errors / max(float(errors.mean()), SMALLEST_ERROR)
        standard_error = float(terms.std(ddof=1) / np.sqrt(len(terms))) if len(terms) > 1 else 0.0
        return best.score - self.score, standard_error
