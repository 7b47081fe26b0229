"""What an object computes when it is first needed is not a part of its state."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class ComputedAgain:
    """A base class that leaves cached properties out of pickles.

    Pickles are smaller, and the same before and after a call.

    Examples
    --------
    >>> import pickle
    >>> from twofold.maps import NadarayaWatson
    >>> import numpy as np
    >>> z = np.linspace(0, 1, 300)[:, None]
    >>> model = NadarayaWatson(bandwidth=0.01).fit(z, z)
    >>> before = pickle.dumps(model)
    >>> _ = model.predict(z)
    >>> pickle.dumps(model) == before
    True
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what is computed again when it is needed."""
        state: Any = super().__getstate__()
        return {
            name: value
            for name, value in state.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }
