"""Unsupervised regression from a stream of rows: a sample is fitted, then all rows are swept."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from twofold.drur.all_rows import Sweep
from twofold.drur.maps import encoders_of
from twofold.drur.row_stream import RowStream, sampled_rows
from twofold.drur.selection import most_rows_of_turns
from twofold.drur.settings import pair_of
from twofold.maps.affine import Chain
from twofold.numerics.tree_sums import TreeSum, in_leaves
from twofold.numerics.units import CentredUnits
from twofold.numerics.validation import check_rng, warn_user
from twofold.starts.named import is_list_of_inits

__all__ = ["check_stream_settings", "fitted_to_stream"]


def fitted_to_stream(model: Any, stream: RowStream, n_passes: int) -> Any:
    """Return a fitted copy of a `DRUR`.

    Parameters
    ----------
    model : DRUR
        The settings.
    stream : RowStream
        The rows.
    n_passes : int
        Sweeps over all of them, where they can be read again.
    """
    check_stream_settings(model)
    # One step away from the seed: data drawn with the same one would be sampled by their own coordinates.
    rng = np.random.default_rng(check_rng(model.random_state).integers(2**63))
    fitted = clone(model).set_params(store_embedding=False)
    sampled = sampled_rows(stream.checked(fitted, first=True), most_rows_of_turns(model), rng)
    seen = {name: vars(fitted).get(name) for name in ("n_features_in_", "feature_names_in_")}
    share = len(sampled.rows) / sampled.n_rows
    fitted.set_params(
        alpha=tuple(
            one if isinstance(one, str) else share * float(one) for one in pair_of(model.alpha)
        )
    )
    fitted.fit(sampled.rows)
    vars(fitted).update({name: value for name, value in seen.items() if value is not None})
    _warn_of_rare_columns(sampled.varying, fitted._data_units.varying)
    equal_rows = not isinstance(fitted._ways["map"], Chain)
    if stream.once or equal_rows or not any(model._ours):
        return fitted
    for number in range(n_passes):
        _sweep(fitted, stream, share if number == 0 else 1.0, sampled.n_rows)
    return fitted


def check_stream_settings(model: Any) -> None:
    """Refuse settings that need all rows in memory."""
    if model.n_centers == "all":
        raise ValueError(
            "n_centers='all' keeps every row; a stream of rows needs a number or 'auto'."
        )
    init = model.init
    named = isinstance(init, str) or callable(init) or hasattr(init, "fit_transform")
    if not named and not is_list_of_inits(init):
        raise ValueError(
            "init is an array of latents: the rows of a stream are not known beforehand. Name a start instead."
        )


def _warn_of_rare_columns(varying: Any, in_sample: Any) -> None:
    rare = np.flatnonzero(varying & ~in_sample)
    if len(rare):
        warn_user(
            f"{len(rare)} columns, the first of them {rare[0]}, vary so seldom that they are constant in the sample of rows; "
            "the model takes them for constant.",
            UserWarning,
        )


def _sweep(fitted: Any, stream: RowStream, share: float, n_rows: int) -> None:
    """Solve the maps of a fitted model for the sums over all rows."""
    coordinates, down = fitted._ways["map"].maps
    up = fitted._ways["project"].maps[1].decoder
    sweep = Sweep(coordinates, up, down, fitted._ours)
    units: CentredUnits = fitted._data_units
    tree, seen = TreeSum(), 0
    for block in in_leaves(stream.checked(fitted, first=False)):
        tree.add_in_threads(lambda rows, start: sweep(units.into(rows), start), block, seen)
        seen += len(block)
    if seen != n_rows:
        raise ValueError(
            f"blocks gave {seen} rows in a further reading, {n_rows} in the first. A function must return a new "
            "iterator each time it is called."
        )
    sums = tree.total()
    maps = sweep.solved(sums, share)
    fitted._ways = encoders_of(coordinates, maps, fitted.density_)
    fitted.encoder_, fitted.decoder_ = fitted._ways[fitted.method_], maps.decoder
    fitted.alpha_ = tuple(float(getattr(one, "alpha_", np.nan)) for one in (maps.up, maps.down))
    fitted._variance = sums.sum_of_squares / sums.n_rows
