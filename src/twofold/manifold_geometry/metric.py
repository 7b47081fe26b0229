r"""The metric of the manifold in latent coordinates.

The up-map ``f`` takes latents ``z`` to data. A small step ``dz`` on the map is a step ``J dz`` in
the data, with ``J = df/dz`` (D, q), so its length on the manifold is

.. math:: |J\,dz|^2 = dz^T G(z)\, dz, \qquad G(z) = J(z)^T J(z) .

``G`` (q, q) is the pullback metric. The roots of its eigenvalues are the singular values of ``J``:
how many units of data one unit of the map is long, in the directions of the eigenvectors.

A decoder may end in an affine map with the matrix ``B``, ``x = y B + b``. With ``M = B B^T`` the
metric is ``J_y^T M J_y``. Principal axes are orthonormal, and ``M`` is then a number.

Maps give ``J^T J`` as a part of their normal terms, without all Jacobians. Pre-images of feature
spaces and maps without derivatives are differentiated by central differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from twofold.maps.affine import Affine, Chain, Inverse
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks
from twofold.numerics.units import CenteredUnits
from twofold.protocols import Array

STEP = 1e-4
"""The step of central differences of maps without derivatives, in centered units."""

SMALLEST_STRETCH = 1e-3
"""Singular values below this many centered units of data per centered unit of the map count as
this, where their logarithm is needed."""


@dataclass(frozen=True)
class Behind:
    """The affine map behind an up-map, as far as lengths depend on it.

    Lengths of steps ``dy`` are ``unit |dy|``, or ``unit |dy R|`` with ``root`` R (m, r).
    """

    unit: float = 1.0
    root: Array | None = None

    def after(self, affine: Affine) -> Behind:
        """Return what is behind the coordinates of an affine map, whose inverse comes first."""
        unit, matrix = self.unit * affine.unit, affine.backward
        if matrix is None:
            matrix = np.transpose(affine.forth) if np.ndim(affine.forth) else affine.forth
            if np.ndim(matrix) and self.root is None:
                return Behind(unit)  # orthonormal axes
        if np.ndim(matrix) == 0:
            return Behind(unit * float(matrix), self.root)
        full = np.asarray(matrix)
        root = full if self.root is None else full @ self.root
        # Only R R^T counts: its triangular factor has as few columns as the coordinates.
        return Behind(unit, linalg.qr(root.T, mode="economic")[1].T)

    def steps(self, differences: Array) -> Array:
        """Return steps (n, r) whose Euclidean lengths are those of differences (n, m) of images."""
        found = differences if self.root is None else row_product(differences, self.root)
        return self.unit * found


def behind_units(units: CenteredUnits) -> Behind:
    """Return what is behind centered units of data: nothing, or the affine map of their images.

    Lengths are in centered units, of columns divided by their factors.
    """
    if not isinstance(units, AffineUnits):
        return Behind()
    inside = units.inverse[units.varying] / units.column_units
    if units.factors is not None:
        inside = inside * units.factors[units.varying][:, None]
    return Behind(1.0, linalg.qr(inside.T, mode="economic")[1].T)


def pulled_back(decoder: Any, latents: Array, behind: Behind) -> Array:
    """Return the metric (n, q, q) of a decoder at latents (n, q), in its own units.

    A decoder of several parts has a method ``pulled_back`` of its own.
    """
    own = getattr(decoder, "pulled_back", None)
    if own is not None:
        found: Array = own(latents, behind)
        return found
    if isinstance(decoder, Chain) and isinstance(decoder.maps[-1], Inverse):
        rest = decoder.maps[:-1]
        first = rest[0] if len(rest) == 1 else Chain(rest)
        return pulled_back(first, latents, behind.after(decoder.maps[-1].affine))
    if isinstance(decoder, Chain) or not hasattr(decoder, "jacobian"):
        return differenced(decoder, latents, behind, STEP)
    n, q = latents.shape
    if not n:
        return np.empty((0, q, q))
    width = decoder.predict(latents[:1]).shape[1]
    metric = np.empty((n, q, q))
    for rows in row_blocks(n, 8 * width * (2 * q + 2)):
        if behind.root is None and hasattr(decoder, "normal_terms"):
            targets = np.zeros((rows.stop - rows.start, width))
            metric[rows] = decoder.normal_terms(latents[rows], targets)[0]
        else:
            jacobian = decoder.jacobian(latents[rows])
            columns = [np.ascontiguousarray(jacobian[:, :, column]) for column in range(q)]
            metric[rows] = _products([Behind(1.0, behind.root).steps(one) for one in columns])
    return metric * behind.unit**2


def differenced(decoder: Any, latents: Array, behind: Behind, step: float) -> Array:
    """Return the metric (n, q, q) from central differences of a map."""
    columns = []
    for column in range(latents.shape[1]):
        offset = np.zeros(latents.shape[1])
        offset[column] = step
        change = decoder.predict(latents + offset) - decoder.predict(latents - offset)
        columns.append(behind.steps(change / (2.0 * step)))
    return _products(columns)


def _products(columns: list[Array]) -> Array:
    """Return ``J^T J`` (n, q, q) of the columns (n, m) of Jacobians."""
    q = len(columns)
    metric = np.empty((len(columns[0]), q, q))
    for i in range(q):
        for j in range(i + 1):
            metric[:, i, j] = metric[:, j, i] = np.einsum("nm,nm->n", columns[i], columns[j])
    return metric


def centered_metric(model: Any, latents: Array) -> Array:
    """Return the metric (n, q', q') of a model at centered latents (n, q'), in centered units."""
    with model._threads():
        return pulled_back(model.decoder_, latents, behind_units(model._data_units))


def metric_tensor(model: Any, latents: Array) -> Array:
    """Return the metric (n, q, q) of a model at latents (n, q), in the caller's units."""
    return in_own_units(model, centered_metric(model, model._latent_units.into(latents)))


def in_own_units(model: Any, inside: Array) -> Array:
    """Return centered metrics (n, q', q') of a model in the caller's units (n, q, q).

    Latent dimensions that the data do not determine have no length.
    """
    units = model._latent_units
    n, q = len(inside), len(units.varying)
    metric = np.zeros((n, q, q))
    places = np.flatnonzero(units.varying)
    with np.errstate(over="ignore", under="ignore"):
        if units.factors is not None:  # the latents of an updated model have them
            own = units.factors[places]
            inside = inside / own / own[:, None]
        scaled = np.ldexp(inside, 2 * (model._data_units.exponent - units.exponent))
    limit = np.finfo(np.float64).max
    metric[np.ix_(np.arange(n), places, places)] = np.clip(scaled, -limit, limit)
    if isinstance(units, AffineUnits):  # latents that were moved into another frame
        moved: Array = units.matrix @ metric @ units.matrix.T
        return moved
    return metric


def log_area(metric: Array) -> Array:
    """Return ``log sqrt(det G)`` (n,) of centered metrics, bounded below."""
    squares = np.maximum(np.linalg.eigvalsh(metric), SMALLEST_STRETCH**2)
    total: Array = 0.5 * np.log(squares).sum(axis=1)
    return total
