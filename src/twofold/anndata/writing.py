"""Writing results into an AnnData, also into a view."""

from __future__ import annotations

import warnings
from typing import Any

from twofold.numerics.validation import warn_user


def write(adata: Any, name: str, **results: dict[str, Any]) -> None:
    """Write mappings of results into ``obsm``, ``varm`` and ``uns``.

    A view becomes a table of its own, with one warning.
    """
    from anndata import ImplicitModificationWarning

    was_view = adata.is_view
    with warnings.catch_warnings():
        if was_view:
            warnings.simplefilter("ignore", ImplicitModificationWarning)
        for place, values in results.items():
            for key, value in values.items():
                getattr(adata, place)[key] = value
    if was_view:
        warn_user(
            f"{name} is a view of another AnnData. It becomes a copy that has the results; the "
            f"other one does not get them. To avoid this warning, pass {name}.copy().",
            UserWarning,
        )
