r"""The exact derivative of an encoder: what a small change of a feature does to a row's position.

*Regressions* have Jacobians, chains of maps the product of theirs.

*Projections* have a derivative by the implicit function theorem. The latent of ``x`` solves
:math:`g(z; x) = J(z)^T (f(z) - x) = 0`, with the Jacobian ``J`` of the decoder, so

.. math:: \frac{\partial z}{\partial x} = \Bigl(J^T J + \sum_d r_d \nabla^2 f_d\Bigr)^{-1} J^T,
          \qquad r = f(z) - x .

The matrix is the derivative of ``g`` by ``z``; it is taken by central differences of the decoder's
normal terms. It is positive definite at a strict minimum. Where it is not, up to rounding, it is
replaced by that of a Gauss-Newton step, :math:`(J^T J)^+ J^T`, with eigenvalues below 1e-9 of the
largest left out. Rows whose search ended at the border of the domain have :math:`g \ne 0`; these
are handled like other encoders.

*Other encoders* (feature spaces, domains with circles, user-supplied maps) are differentiated by
central differences of the encoder, with a step of about 0.01 times the root mean square deviation
of a column: searches on a domain end at latents that are accurate to about 1e-5. On circles, the
shorter way around counts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from twofold.explaining.reference import FeatureColumns, Fitted, _wrapped
from twofold.maps.affine import Affine, Chain, Inverse
from twofold.maps.projection import Projection
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.row_products import row_product
from twofold.numerics.threads import row_blocks
from twofold.protocols import Array

PERIOD = 2.0
STEP = 1e-2
"""Step of differences, over the root of the number of columns: in centered units, the deviations of
all columns together are between one and two."""

LATENT_STEP = 1e-5
"""Step of differences of a decoder's normal terms, in units of the largest latent."""

FLOOR = 1e-9
"""Smaller eigenvalues, as a share of the largest, count as zero."""

STATIONARY = 1e-4
"""Largest gradient, as a share of the length of the residual and of the Jacobian, at a minimum."""


def encoder_derivatives(model: Fitted, columns: FeatureColumns, X: Array) -> Array:
    """Return the derivatives (n, q, k) of latents by columns at rows (n, D) without gaps.

    The latents are in the model's latent units, the columns in centered units.
    """
    units = model._latent_units
    inside = model._data_units.into(X)
    kept = np.flatnonzero(units.varying)
    with model._threads():
        found = _of_map(model.encoder_, inside, _wrapped(model)[kept])
    by_columns = columns.derivative()
    if by_columns is not None:
        found = np.stack([row_product(found[:, a], by_columns) for a in range(found.shape[1])], 1)
    derivatives = np.zeros((len(X), len(units.varying), len(columns.numbers)))
    scales = units.unit() if units.factors is None else units.unit() * units.factors[kept, None]
    derivatives[:, kept] = found * scales  # the latents of an updated model have factors
    if isinstance(units, AffineUnits):  # latents that were moved into another frame
        derivatives = units.inverse.T @ derivatives
    return np.nan_to_num(derivatives, nan=0.0)


def _of_map(encoder: Any, data: Array, wrapped: Array) -> Array:
    """Return the derivatives (n, q, r) of an encoder at data (n, r)."""
    if isinstance(encoder, Chain):
        return _of_chain(encoder.maps, data, wrapped)
    if isinstance(encoder, Affine):
        return _of_affine(encoder, data)
    if isinstance(encoder, Projection):
        return _of_projection(encoder, data, wrapped)
    if not isinstance(encoder, Inverse) and callable(getattr(encoder, "jacobian", None)):
        blocks = row_blocks(len(data), 64 * data.shape[1])
        return np.concatenate([np.asarray(encoder.jacobian(data[rows])) for rows in blocks])
    return _by_differences(encoder, data, wrapped)


def _of_chain(maps: tuple[Any, ...], data: Array, wrapped: Array) -> Array:
    """Return the derivatives (n or 1, q, r) of maps applied one after the other."""
    found = _of_map(maps[0], data, wrapped[:0])
    for before, one in pairwise(maps):
        data = before.predict(data)
        found = _times(_of_map(one, data, wrapped if one is maps[-1] else wrapped[:0]), found)
    return found


def _times(outer: Array, inner: Array) -> Array:
    """Return the products (n, q, r) of derivatives (n, q, s) and (n or 1, s, r)."""
    if len(inner) == 1 and len(outer) != 1:
        return np.stack([row_product(outer[:, a], inner[0]) for a in range(outer.shape[1])], axis=1)
    return outer @ inner


def _of_affine(encoder: Affine, data: Array) -> Array:
    """Return the derivative of an affine map, (1, r, D): the same at all rows."""
    forth = encoder.forth
    matrix = forth.T if isinstance(forth, np.ndarray) else float(forth) * np.eye(data.shape[1])
    found: Array = (matrix / encoder.unit)[None]
    return found


def _of_projection(encoder: Projection, data: Array, wrapped: Array) -> Array:
    """Return the derivatives of a projection, by the implicit function theorem."""
    found = np.empty((len(data), encoder.latents_.shape[1], data.shape[1]))
    for rows in row_blocks(len(data), 8 * 4 * found[0].size):
        found[rows] = _implicit(encoder, data[rows], wrapped)
    return found


def _implicit(encoder: Projection, data: Array, wrapped: Array) -> Array:
    decoder: Any = encoder.decoder
    Z = encoder.predict(data)
    n, q = Z.shape
    JTJ, JTr, losses = decoder.normal_terms(Z, data)
    J = np.asarray(decoder.jacobian(Z))
    size = np.maximum(np.abs(encoder.latents_).max(initial=0.0), 1e-12)
    step = LATENT_STEP * size
    hessian = np.empty((n, q, q))
    for column in range(q):
        move = np.zeros(q)
        move[column] = step
        below, above = (decoder.normal_terms(Z + sign * move, data)[1] for sign in (-1.0, 1.0))
        hessian[:, :, column] = (below - above) / (2.0 * step)
    hessian = 0.5 * (hessian + hessian.transpose(0, 2, 1))
    solved = _solved(JTJ, hessian, J)
    lengths = np.sqrt(losses * np.trace(JTJ, axis1=1, axis2=2))
    moving = np.sqrt(row_norms_sq(JTr)) > STATIONARY * lengths
    if moving.any() and encoder.density is not None:
        solved[moving] = _by_differences(encoder, data[moving], wrapped)
    return solved


def _solved(JTJ: Array, hessian: Array, J: Array) -> Array:
    """Return ``hessian^-1 J^T`` (n, q, D) where it is positive definite, else ``(J^T J)^+ J^T``."""
    values, vectors = np.linalg.eigh(hessian)
    least, scale = values[:, 0], np.trace(JTJ, axis1=1, axis2=2)
    poor = ~(least > FLOOR * np.maximum(np.abs(values[:, -1]), 0.1 * scale))
    if poor.any():
        values[poor], vectors[poor] = np.linalg.eigh(JTJ[poor])
    largest = np.maximum(values[:, -1:], 1e-150)
    inverse = np.where(values > FLOOR * largest, 1.0 / np.maximum(values, FLOOR * largest), 0.0)
    rotated = np.einsum("nqa,ndq->nad", vectors, J)
    found: Array = np.einsum("nqa,na,nad->nqd", vectors, inverse, rotated)
    return found


def _by_differences(encoder: Any, data: Array, wrapped: Array) -> Array:
    """Return the derivatives (n, q, r) by central differences of the encoder."""
    columns, size = [], STEP / np.sqrt(data.shape[1])
    for column in range(data.shape[1]):
        step = np.zeros(data.shape[1])
        step[column] = size
        change = encoder.predict(data + step) - encoder.predict(data - step)
        if len(wrapped) == change.shape[1]:
            around = np.mod(change + 0.5 * PERIOD, PERIOD) - 0.5 * PERIOD
            change = np.where(wrapped, around, change)
        columns.append(change / (2.0 * size))
    return np.stack(columns, axis=2)
