"""Fitted models take new rows in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.base.growth import Growth, updated_state
from twofold.base.update_report import UpdateReport
from twofold.protocols import Array

if TYPE_CHECKING:
    from twofold.base.progress import FitProgress


class GrowMixin:
    """Adds `update` to models that can take new rows in."""

    update_report_: UpdateReport

    def update(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Take new rows in: keep the map, and let it grow where they are new.

        The latents of old rows stay within a bound, new rows get latents of their own, and the maps
        and the density are those of all rows. Where new rows form regions that old rows do not
        cover, the map becomes larger. ``update_report_`` tells how far the new rows have drifted
        from the old ones. An interrupted or failed update leaves the model unchanged.

        `UKR`, `DRUR`, `PrincipalManifold`, and `AutoTwoWay` if one of them has won, can be updated;
        `TableMap` too. See the guide on updates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, in the units of the fit. Gaps are filled as by `transform`. Blocks of a Dask
            array or frame are taken in one after the other.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold import UKR
        >>> from twofold.datasets import make_noisy_spiral
        >>> X, _ = make_noisy_spiral(400, random_state=0)
        >>> model = UKR(1, init="isomap", random_state=0).fit(X[:300])
        >>> model.update(X[300:]).embedding_.shape
        (400, 1)
        >>> model.update_report_.n_regions
        0
        """
        check_is_fitted(self)
        self._take_growth(updated_state(self, X))  # type: ignore[arg-type]
        return self

    def _take_growth(self, state: dict[str, Any]) -> None:
        """Replace the attributes that an update changes."""
        self.__dict__.update(state)

    def _grown(
        self,
        data: Array,  # noqa: ARG002 - of those that can
        rng: np.random.Generator,  # noqa: ARG002
        progress: FitProgress,  # noqa: ARG002
    ) -> Growth:
        """Return what the model becomes with new rows (m, D), which have no gaps."""
        raise TypeError(
            f"{type(self).__name__} cannot take new rows in: it does not keep what an update "
            "needs. Use UKR, DRUR or PrincipalManifold, or fit again to all rows."
        )
