"""Data of many features, seen in two or three directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from twofold.numerics.validation import check_choice
from twofold.protocols import Array

__all__ = ["View", "view_of"]


@dataclass(frozen=True)
class View:
    """Directions of data space that are drawn.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        What is drawn at the origin.
    axes : ndarray of shape (n_axes, n_features)
        The directions.
    names : tuple of str
        What the axes of the picture are called.
    """

    center: Array
    axes: Array
    names: tuple[str, ...]

    def __call__(self, data: Array) -> Array:
        """Return data (n, n_features) as seen, shape (n, n_axes)."""
        return np.asarray((data - self.center) @ self.axes.T)


def view_of(view: Any, data: Array, feature_names: Any, n_components: int) -> View:
    """Return the directions that a parameter asks for.

    Parameters
    ----------
    view : "auto", "principal", or a sequence of two or three features
        "auto" means the features where there are two or three, else the principal axes of the data: two for curves, three for surfaces.
    data : ndarray of shape (n, n_features)
        What the principal axes are those of.
    feature_names : sequence of str or None
        The features' names.
    n_components : int
        Latent dimensions.
    """
    n_features = data.shape[1]
    if n_features == 1:
        raise ValueError(
            "The data have one feature, and a manifold in them no picture: use LatentMapDisplay."
        )
    names = [f"feature {number + 1}" for number in range(n_features)]
    if feature_names is not None:
        names = [str(name) for name in feature_names]
    if isinstance(view, str):
        check_choice("view", view, ("auto", "principal"))
        if view == "auto" and n_features <= 3:
            view = range(n_features)
        else:
            return _principal(data, min(n_features, 2 if n_components == 1 else 3))
    numbers = _numbers(view, names)
    chosen = np.eye(n_features)[numbers]
    return View(np.zeros(n_features), chosen, tuple(names[number] for number in numbers))


def _numbers(view: Any, names: list[str]) -> list[int]:
    found = []
    for one in view:
        number = names.index(one) if isinstance(one, str) and one in names else one
        if isinstance(number, str) or not 0 <= int(number) < len(names):
            raise ValueError(
                f"view={view!r}: there is no feature {one!r}; give numbers from 0 to {len(names) - 1}, or names."
            )
        found.append(int(number))
    if len(found) not in (2, 3) or len(set(found)) < len(found):
        raise ValueError(f"view={view!r} must be two or three different features.")
    return found


def _principal(data: Array, n_axes: int) -> View:
    center = data.mean(axis=0)
    centred = data - center
    size = float(np.abs(centred).max()) or 1.0
    _, values, axes = linalg.svd(centred / size, full_matrices=False)
    shares = np.square(values) / (float(np.square(values).sum()) or 1.0)
    axes = axes[:n_axes]
    # The largest entry of each axis is positive, so that pictures do not flip by chance.
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    names = tuple(
        f"principal axis {number + 1} ({100 * share:.0f} %)"
        for number, share in enumerate(shares[: len(axes)])
    )
    return View(center, axes * np.where(signs == 0.0, 1.0, signs)[:, None], names)
