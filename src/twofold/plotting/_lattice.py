"""A grid of latents and its images in data space: a curve, a surface, or a lattice of lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.plotting._colors import DARK, SEQUENTIAL
from twofold.plotting._figures import is_three_d
from twofold.protocols import Array, IntArray

__all__ = ["Lattice"]

LINES_A_SIDE = {2: 13, 3: 7}
"""Lines of a lattice along each latent dimension, of two or three."""

LIGHT = np.array([0.4, -0.6, 0.7]) / np.linalg.norm([0.4, -0.6, 0.7])
OPACITY = 0.65
NEUTRAL = "#88CCEE"


@dataclass(frozen=True)
class Lattice:
    """A grid over the latent space and its images.

    Attributes
    ----------
    axes : list of ndarray
        The places along each latent dimension.
    images : ndarray of shape (n_places, 2 or 3)
        Their images, the last dimension running fastest; NaN outside the support.
    wrapped : tuple of bool, default=()
        Which latent dimensions are circles.
    is_discrete : bool, default=False
        Whether there is nothing between the places.
    """

    axes: list[Array]
    images: Array
    wrapped: tuple[bool, ...] = ()
    is_discrete: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Places along each latent dimension."""
        return tuple(len(axis) for axis in self.axes)

    def draw(self, ax: Any, *, neutral: bool = False, **kwargs: Any) -> list[Any]:
        """Draw the manifold and return its artists; a neutral surface has one colour."""
        if self.is_discrete:
            style = {"marker": "X", "s": 60.0, "color": DARK, "linewidths": 0.8}
            return [
                ax.scatter(
                    *self.images.T, **{**style, "edgecolors": "white", "zorder": 4, **kwargs}
                )
            ]
        if len(self.axes) == 1:
            style = {"color": DARK, "linewidth": 1.8, "solid_capstyle": "round", "zorder": 3}
            return list(ax.plot(*self.images.T, **{**style, **kwargs}))
        if len(self.axes) == 2 and is_three_d(ax):
            return [self._draw_surface(ax, neutral, kwargs)]
        return [self._draw_lines(ax, kwargs)]

    def lines(self) -> list[Array]:
        """Return the images of lines along each latent dimension, cut where nothing supports them."""
        mesh = self.images.reshape(*self.shape, -1)
        most = LINES_A_SIDE[len(self.axes)]
        found = []
        for along in range(len(self.axes)):
            others = [k for k in range(len(self.axes)) if k != along]
            picked = mesh
            for other in others:
                places = np.linspace(0, self.shape[other] - 1, min(self.shape[other], most))
                picked = np.take(picked, places.astype(int), axis=other)
            found += list(
                np.moveaxis(picked, along, -2).reshape(-1, self.shape[along], mesh.shape[-1])
            )
        return [piece for line in found for piece in _pieces(line)]

    def quads(self) -> tuple[Array, IntArray]:
        """Return the images (n, 4, 3) of the cells of a surface with support at all corners, and the cells' numbers (n, 2)."""
        mesh = self.images.reshape(*self.shape, -1)
        corners = np.stack([mesh[:-1, :-1], mesh[1:, :-1], mesh[1:, 1:], mesh[:-1, 1:]], axis=2)
        whole = np.isfinite(corners).all(axis=(2, 3))
        return corners[whole], np.argwhere(whole)

    def _draw_lines(self, ax: Any, kwargs: dict[str, Any]) -> Any:
        solid = len(self.axes) == 3
        style: dict[str, Any] = {
            "colors": DARK,
            "linewidths": 0.8,
            "alpha": 0.4 if solid else 0.8,
            "zorder": 3,
        }
        style |= kwargs
        if is_three_d(ax):
            from mpl_toolkits.mplot3d.art3d import Line3DCollection

            # In space matplotlib before 3.11 takes lines of equal length only.
            pairs = [np.stack([line[:-1], line[1:]], axis=1) for line in self.lines()]
            steps = np.concatenate([np.empty((0, 2, 3)), *pairs])
            return ax.add_collection3d(Line3DCollection(steps, **style))
        from matplotlib.collections import LineCollection

        return ax.add_collection(LineCollection(self.lines(), **style), autolim=False)

    def _draw_surface(self, ax: Any, neutral: bool, kwargs: dict[str, Any]) -> Any:
        """Draw a surface in the colours of the first latent dimension that is no circle, or in a neutral one, lit from one side."""
        from matplotlib import colormaps
        from matplotlib.colors import to_rgba
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        quads, cells = self.quads()
        straight = [k for k in range(2) if not (self.wrapped and self.wrapped[k])]
        if straight and not neutral:
            shares = cells[:, straight[0]] / max(self.shape[straight[0]] - 2, 1)
            colors = colormaps[SEQUENTIAL](shares)
        else:  # around a circle colours would have a seam; beside points in colours of a scale they would be read on it
            colors = np.tile(to_rgba(NEUTRAL), (len(cells), 1))
        unit = quads / max(
            float(np.abs(quads).max(initial=0.0)), 1e-300
        )  # products must not overflow
        normals = np.cross(unit[:, 2] - unit[:, 0], unit[:, 3] - unit[:, 1])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = normals / np.where(lengths > 0.0, lengths, 1.0)
        colors[:, :3] *= (0.65 + 0.35 * np.abs(normals @ LIGHT))[:, None]
        colors[:, 3] = OPACITY
        edges = np.clip(0.8 * colors, 0.0, 1.0)
        style = {"facecolors": colors, "edgecolors": edges, "linewidths": 0.3, **kwargs}
        surface = Poly3DCollection(quads, **style)
        surface.set_rasterized(len(quads) > 1_000)
        return ax.add_collection3d(surface)


def _pieces(line: Array) -> list[Array]:
    """Return the parts of a line between gaps."""
    there = np.isfinite(line).all(axis=1)
    ends = np.flatnonzero(np.diff(there.astype(int), prepend=0, append=0))
    return [line[a:b] for a, b in ends.reshape(-1, 2) if b - a > 1]
