"""Views of data with many features in two or three directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from twofold.numerics.validation import check_choice
from twofold.protocols import Array


@dataclass(frozen=True)
class View:
    """Directions (n_axes, n_features) of data space around a center, with names."""

    center: Array
    axes: Array
    names: tuple[str, ...]

    def __call__(self, data: Array) -> Array:
        """Return the coordinates (n, n_axes) of data (n, n_features)."""
        return np.asarray((data - self.center) @ self.axes.T)


def view_of(view: Any, data: Array, feature_names: Any, n_components: int) -> View:
    """Return the view that the parameter ``view`` of `ManifoldDisplay` asks for.

    The principal axes are those of ``data`` (n, n_features): two for curves, three for surfaces.
    """
    n_features = data.shape[1]
    if n_features == 1:
        raise ValueError(
            "The data have one feature, in which a manifold has no picture: use LatentMapDisplay."
        )
    names = [f"feature {number + 1}" for number in range(n_features)]
    if feature_names is not None:
        names = [str(name) for name in feature_names]
    if isinstance(view, str):
        check_choice("view", view, ("auto", "principal"))
        if view == "principal" or n_features > 3:
            return _principal(data, min(n_features, 2 if n_components == 1 else 3))
        view = range(n_features)
    numbers = _numbers(view, names)
    chosen = np.eye(n_features)[numbers]
    return View(np.zeros(n_features), chosen, tuple(names[number] for number in numbers))


def _numbers(view: Any, names: list[str]) -> list[int]:
    """Return the numbers of features given by number or name."""
    found = []
    for one in view:
        number = names.index(one) if isinstance(one, str) and one in names else one
        if isinstance(number, str) or not 0 <= int(number) < len(names):
            raise ValueError(
                f"view={view!r}: there is no feature {one!r}; give numbers from 0 to "
                f"{len(names) - 1}, or names."
            )
        found.append(int(number))
    if len(found) not in (2, 3) or len(set(found)) < len(found):
        raise ValueError(f"view={view!r} must be two or three different features.")
    return found


def _principal(data: Array, n_axes: int) -> View:
    center = data.mean(axis=0)
    centered = data - center
    size = float(np.abs(centered).max()) or 1.0
    _, values, axes = linalg.svd(centered / size, full_matrices=False)
    shares = np.square(values) / (float(np.square(values).sum()) or 1.0)
    axes = axes[:n_axes]
    # The largest entry of each axis is positive, so that pictures do not flip by chance.
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    names = tuple(
        f"principal axis {number + 1} ({100 * share:.0f} %)"
        for number, share in enumerate(shares[: len(axes)])
    )
    return View(center, axes * np.where(signs == 0.0, 1.0, signs)[:, None], names)
