"""Fitted models in less memory: prototypes in place of the training rows.

`twofold.maps.compression` makes the maps. This module decides how many prototypes are enough, and
assembles the smaller model.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.maps.compression import RowMaps, Trial
from twofold.maps.nadaraya_watson import NadarayaWatson
from twofold.maps.prototypes import MOST_PROTOTYPES, rounded
from twofold.numerics.completion import GapFilling
from twofold.numerics.density import LatentDensity
from twofold.numerics.threads import some_rows
from twofold.numerics.validation import check_int, check_real, is_auto, warn_user

FEWEST_ROWS: Final = 20
FEWEST_PROTOTYPES: Final = 8
MUCH_WORSE, NOTABLE = 10.0, 0.01
"""The ratio of errors, and the share of the variance, above which compression warns."""

SHARES: Final = (64, 32, 16, 8, 4, 2)
"""Rows for each prototype that are tried one after the other."""

FEWEST_DONORS: Final = 200
DONOR_STEP: Final = 2.0**-10
"""Rounding of the rows that fill gaps, as a share of the root mean square of their values."""


@dataclass(frozen=True)
class Compression:
    """What `compress` has done.

    Attributes
    ----------
    n_prototypes, n_rows : int
        Prototypes, and the training rows that they replace.
    error, error_before : float
        Mean squared reconstruction errors of held-out training rows with prototypes and with rows,
        as shares of the variance.
    n_held_out : int
        Number of these rows.
    n_bytes, n_bytes_before : int
        Memory of all arrays of the model.

    Examples
    --------
    >>> from twofold import UKR
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(300, random_state=0)
    >>> small = UKR(init="isomap", random_state=0).fit(X).compress(100)
    >>> small.compression_.n_prototypes, small.compression_.n_rows
    (100, 300)
    >>> small.compression_.ratio < 2.0
    True
    """

    n_prototypes: int
    n_rows: int
    error: float
    error_before: float
    n_held_out: int
    n_bytes: int
    n_bytes_before: int

    @property
    def ratio(self) -> float:
        """The error with prototypes over that with rows."""
        return self.error / self.error_before if self.error_before > 0.0 else 1.0

    def __str__(self) -> str:
        return (
            f"{self.n_prototypes:,} prototypes for {self.n_rows:,} rows; held-out error "
            f"{self.error:.4g} instead of {self.error_before:.4g} ({self.ratio:.3f} times, "
            f"{self.n_held_out:,} rows); {self.n_bytes / 1e6:.2f} MB in memory instead of "
            f"{self.n_bytes_before / 1e6:.2f}"
        )


class CompressMixin:
    """Adds `compress` to models whose decoder keeps the training rows."""

    def compress(self, n_prototypes: int | str = "auto", *, max_error_ratio: float = 1.05) -> Self:
        """Return a smaller model with prototypes in place of the training rows.

        The decoder must be a Nadaraya-Watson regression, as in `UKR` and in `TwoWay` and `SNE` with
        ``up="nw"``; `AutoTwoWay` and `TableMap` compress the model that they hold. Encoders that
        keep training rows become the projection onto the smaller manifold. The latent space stays
        the same, so latents of both models can be compared. This model is not changed.

        Parameters
        ----------
        n_prototypes : int or "auto", default="auto"
            Number of prototypes, at most 10,000. "auto" tries a 64th of the rows, a 32nd and so
            on, and takes the first that keeps ``max_error_ratio``.
        max_error_ratio : float, default=1.05
            How many times the held-out reconstruction error may be that of this model, for "auto".
            Both are measured on training rows that are left out of both models.

        Returns
        -------
        estimator of the same class
            A fitted model with the additional attribute ``compression_``, a `Compression` with the
            errors, the number of prototypes and the memory. Its ``embedding_`` has the latents of
            the prototypes.

        Raises
        ------
        ValueError
            If the model keeps no training rows, or if no number of prototypes keeps the ratio.

        Examples
        --------
        >>> from twofold import UKR
        >>> from twofold.datasets import make_s_curve
        >>> X, _ = make_s_curve(1000, random_state=0)
        >>> model = UKR(init="isomap", random_state=0).fit(X[::2])
        >>> small = model.compress(max_error_ratio=1.2)
        >>> small.compression_.n_prototypes <= 250
        True
        >>> 1.0 - small.score(X[1::2]) < 1.4 * (1.0 - model.score(X[1::2]))
        True
        """
        check_is_fitted(self)
        inner = getattr(self, "best_estimator_", None)
        if inner is not None:
            best = inner.compress(n_prototypes, max_error_ratio=max_error_ratio)
            names = ("embedding_", "encoder_", "decoder_", "density_", "_gap_filling")
            whole: Self = _with(
                self,
                best_estimator_=best,
                compression_=best.compression_,
                **{name: getattr(best, name) for name in names if hasattr(best, name)},
            )
            return whole
        maps = _row_maps(self)
        n = len(maps.decoder.inputs_)
        ratio = check_real("max_error_ratio", max_error_ratio, above=1.0)
        fixed = None
        if not is_auto(n_prototypes):
            most = min(n, MOST_PROTOTYPES)
            fixed = check_int("n_prototypes", n_prototypes, high=most, also='"auto"')
        model: Any = self
        with model._threads():
            trial = Trial.of(maps)
            found, error = (
                _enough(trial, n, ratio) if fixed is None else (fixed, trial.error(fixed))
            )
            made = maps.compressed(found)
        if error > max(MUCH_WORSE * trial.error_before, NOTABLE * model._variance):
            warn_user(
                f"n_prototypes={found} is too few: the held-out error is "
                f"{error / max(trial.error_before, 1e-300):.3g} times that of the model. Use more "
                'prototypes, or n_prototypes="auto".',
                UserWarning,
            )
        small: Self = _with(
            self,
            embedding_=model._latent_units.back(made.decoder.inputs_),
            encoder_=made.encoder,
            decoder_=made.decoder,
            density_=made.density,
            **_fewer_donors(getattr(self, "_gap_filling", None), found),
        )
        report = Compression(
            len(made.decoder.inputs_),
            n,
            error / model._variance,
            trial.error_before / model._variance,
            len(trial.held_out),
            n_bytes_of(small),
            n_bytes_of(self),
        )
        return cast("Self", _with(small, compression_=report))


def _row_maps(model: Any) -> RowMaps:
    """Return the maps of a model that keeps training rows."""
    decoder, name = model.decoder_, type(model).__name__
    if hasattr(model, "compression_"):
        raise ValueError(
            f"this {name} is compressed already; compress the model with all rows again."
        )
    keeps_rows = isinstance(decoder, NadarayaWatson) and isinstance(model.density_, LatentDensity)
    if not keeps_rows:
        raise ValueError(
            f"{name} with the decoder {type(decoder).__name__} keeps no training rows that "
            'prototypes could replace. compress works for UKR, and for TwoWay(up="nw") and '
            'SNE(up="nw"). Other models are smaller with fewer centers or nodes, or saved with '
            'precision="single".'
        )
    if len(decoder.inputs_) < FEWEST_ROWS or not model._variance > 0.0:
        raise ValueError(
            f"{name} has {len(decoder.inputs_)} training rows with a variance of "
            f"{model._variance:.3g}: compress needs {FEWEST_ROWS} rows that vary."
        )
    return RowMaps(decoder, model.encoder_, model.density_)


def _enough(trial: Trial, n_rows: int, ratio: float) -> tuple[int, float]:
    """Return the first number of prototypes that keeps the ratio of errors, and the error."""
    numbers = (max(FEWEST_PROTOTYPES, n_rows // share) for share in SHARES)
    tried = sorted({min(one, MOST_PROTOTYPES, n_rows // 2) for one in numbers})
    error = np.inf
    for number in tried:
        error = trial.error(number)
        if error <= ratio * trial.error_before:
            return number, error
    raise ValueError(
        f"max_error_ratio={ratio:g} needs more than {tried[-1]:,} prototypes: with these the "
        f"held-out error is {error / max(trial.error_before, 1e-300):.3f} times that of the model. "
        "Allow a larger ratio, or give n_prototypes."
    )


def _with(model: Any, **changes: Any) -> Any:
    """Return a copy of a model with other learned attributes."""
    made = copy(model)
    made.__dict__.update(changes)
    known = getattr(model, "_learned_names", ())
    made._learned_names = (*known, *(name for name in changes if name not in known))
    return made


def _fewer_donors(filling: GapFilling | None, n_prototypes: int) -> dict[str, Any]:
    """Return what fills gaps with fewer rows, rounded so that files are small."""
    if filling is None:
        return {}
    donors = filling.donors
    kept = some_rows(len(donors.rows), max(FEWEST_DONORS, n_prototypes))
    rows = donors.rows[kept].astype(np.float64)
    scale = float(np.sqrt(np.square(rows).mean()))
    if scale > 0.0:
        rows = rounded(rows, 2.0 ** np.floor(np.log2(DONOR_STEP * scale)))
    gaps = donors.gaps[kept] if len(donors.gaps) else donors.gaps
    fewer = replace(donors, rows=rows.astype(np.float32), gaps=gaps, numbers=donors.numbers[kept])
    return {"_gap_filling": replace(filling, donors=fewer)}


def n_bytes_of(thing: Any) -> int:
    """Return the memory of all arrays of a model, each counted once.

    What is computed again when it is needed does not count.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.base.compressing import n_bytes_of
    >>> one = np.zeros(10)
    >>> n_bytes_of([one, one, {"other": np.zeros(5)}])
    120
    """
    seen: dict[int, Any] = {}
    total, left = 0, [thing]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | type(None) | type):
            continue
        seen[id(one)] = one
        if isinstance(one, np.ndarray):
            total += one.nbytes
        elif isinstance(one, list | tuple):
            left += one
        elif isinstance(one, dict):
            left += one.values()
        elif hasattr(one, "__dict__"):
            left += [
                value
                for name, value in vars(one).items()
                if not isinstance(getattr(type(one), name, None), cached_property)
            ]
    return total
