"""A fitted model and the held-out rows that judge it, in units that are safe to square.

Data are scaled by a power of two, latents are scaled and shifted: both are exact, so errors are
those of the model in its own units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from twofold.metrics._checks import centered, check, exponent_of
from twofold.numerics.codebooks import mean_squared_error
from twofold.protocols import Array


class TwoWayMap(Protocol):
    """A fitted model that encodes and decodes."""

    def transform(self, X: Any, /) -> ArrayLike: ...
    def inverse_transform(self, Z: Any, /) -> ArrayLike: ...


@dataclass(frozen=True)
class JudgedModel:
    """A model, its training latents (n, q), held-out rows (m, D) and their latents (m, q).

    ``data``, ``latents`` and ``others`` are in safe units; ``decode`` maps from such to such.
    ``variance`` is the unit of relative errors.
    """

    model: TwoWayMap
    data: Array
    latents: Array
    others: Array
    variance: float
    data_exponent: int
    latent_exponent: int
    latent_shift: Array

    @classmethod
    def of(
        cls,
        model: TwoWayMap,
        X: Any,
        latents: ArrayLike | None = None,
        reference: ArrayLike | None = None,
    ) -> JudgedModel:
        """Encode rows and check everything; ``X`` goes to the model as it is, with its names."""
        data = check("X", X)
        others = check("model.transform(X)", model.transform(X))
        known = _training_latents(model, latents)
        unit = data if reference is None else check("reference", reference)
        if known.shape[1] != others.shape[1]:
            raise ValueError(
                f"latents has {known.shape[1]} columns, but model.transform(X) has "
                f"{others.shape[1]}: pass the latents of the training rows of this model."
            )
        check_width("reference", unit, data)
        exponent = exponent_of(data, unit)
        deviation = centered(unit, exponent)
        latent_exponent = exponent_of(known, others)
        shift = np.median(np.ldexp(known, -latent_exponent), axis=0)
        return cls(
            model,
            np.ldexp(data, -exponent),
            np.ldexp(known, -latent_exponent) - shift,
            np.ldexp(others, -latent_exponent) - shift,
            float(np.vdot(deviation, deviation)) / len(unit),
            exponent,
            latent_exponent,
            shift,
        )

    def decode(self, latents: Array) -> Array:
        """Decode latents (m, q), from safe units to safe units."""
        original = np.ldexp(latents + self.latent_shift, self.latent_exponent)
        decoded = check("model.inverse_transform(Z)", self.model.inverse_transform(original))
        check_width("model.inverse_transform(Z)", decoded, self.data)
        rows: Array = np.ldexp(decoded, -self.data_exponent)
        return rows

    def error_at(self, latents: Array) -> float:
        """Return the relative error of the held-out rows decoded from other latents (m, q)."""
        with np.errstate(over="ignore"):
            return float(self.relative(mean_squared_error(self.data, self.decode(latents))))

    def relative(self, errors: Array | float) -> Array:
        """Return mean squared errors in units of the variance; if that is 0, then 0 or infinity."""
        found = np.asarray(errors, dtype=np.float64)
        if self.variance == 0:
            return np.where(found > 0, np.inf, 0.0)
        return found / self.variance


def check_width(name: str, rows: Array, data: Array) -> None:
    """Raise an error unless rows have as many features as the data."""
    if rows.shape[1] != data.shape[1]:
        raise ValueError(
            f"{name} has {rows.shape[1]} features, but X has {data.shape[1]}: pass samples from "
            "the same space."
        )


def _training_latents(model: TwoWayMap, latents: ArrayLike | None) -> Array:
    """Return the given latents, or those that the model, the end of a pipeline, has kept."""
    if latents is not None:
        return check("latents", latents)
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    kept = getattr(last, "embedding_", None)
    if kept is None or len(kept) == 0:
        raise ValueError(
            f"{type(last).__name__} has no training latents in embedding_: pass "
            "latents=model.transform(X_train)."
        )
    return check("model.embedding_", kept)
