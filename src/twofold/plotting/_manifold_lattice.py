"""The images of a latent grid in data space: a curve, a surface, or a lattice of lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.plotting._figures import is_three_d
from twofold.plotting._labels import DARK, SEQUENTIAL
from twofold.protocols import Array, IntArray

LINES_A_SIDE = {2: 13, 3: 7}  # lines of a lattice along each latent dimension, of two or three
LIGHT = np.array([0.4, -0.6, 0.7]) / np.linalg.norm([0.4, -0.6, 0.7])
OPACITY = 0.65
NEUTRAL = "#88CCEE"


@dataclass(frozen=True)
class Lattice:
    """A grid over the latent space and its images (n_places, 2 or 3), NaN outside the support.

    ``axes`` are the places along each latent dimension, the last varying fastest. ``wrapped`` says
    which dimensions are circular. A discrete manifold consists of the places only.
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
        """Draw the manifold and return its artists; a neutral surface has a single color."""
        if self.is_discrete:
            style = {"marker": "X", "s": 60.0, "color": DARK, "linewidths": 0.8}
            style |= {"edgecolors": "white", "zorder": 4, **kwargs}
            return [ax.scatter(*self.images.T, **style)]
        if len(self.axes) == 1:
            style = {"color": DARK, "linewidth": 1.8, "solid_capstyle": "round", "zorder": 3}
            return list(ax.plot(*self.images.T, **{**style, **kwargs}))
        if len(self.axes) == 2 and is_three_d(ax):
            return [self._draw_surface(ax, neutral, kwargs)]
        return [self._draw_lines(ax, kwargs)]

    def lines(self) -> list[Array]:
        """Return the images of lines along each latent dimension, cut at gaps in the support."""
        mesh = self.images.reshape(*self.shape, -1)
        most = LINES_A_SIDE[len(self.axes)]
        found = []
        for along in range(len(self.axes)):
            others = [k for k in range(len(self.axes)) if k != along]
            picked = mesh
            for other in others:
                places = np.linspace(0, self.shape[other] - 1, min(self.shape[other], most))
                picked = np.take(picked, places.astype(int), axis=other)
            lines = np.moveaxis(picked, along, -2)
            found += list(lines.reshape(-1, self.shape[along], mesh.shape[-1]))
        return [piece for line in found for piece in _pieces(line)]

    def quads(self) -> tuple[Array, IntArray]:
        """Return the images (n, 4, 3) of cells with support at all corners, and indices (n, 2)."""
        mesh = self.images.reshape(*self.shape, -1)
        corners = np.stack([mesh[:-1, :-1], mesh[1:, :-1], mesh[1:, 1:], mesh[:-1, 1:]], axis=2)
        whole = np.isfinite(corners).all(axis=(2, 3))
        return corners[whole], np.argwhere(whole)

    def _draw_lines(self, ax: Any, kwargs: dict[str, Any]) -> Any:
        style: dict[str, Any] = {"colors": DARK, "linewidths": 0.8, "zorder": 3}
        style |= {"alpha": 0.4 if len(self.axes) == 3 else 0.8, **kwargs}
        if is_three_d(ax):
            from mpl_toolkits.mplot3d.art3d import Line3DCollection

            # In space matplotlib before 3.11 takes lines of equal length only.
            pairs = [np.stack([line[:-1], line[1:]], axis=1) for line in self.lines()]
            steps = np.concatenate([np.empty((0, 2, 3)), *pairs])
            return ax.add_collection3d(Line3DCollection(steps, **style))
        from matplotlib.collections import LineCollection

        return ax.add_collection(LineCollection(self.lines(), **style), autolim=False)

    def _draw_surface(self, ax: Any, neutral: bool, kwargs: dict[str, Any]) -> Any:
        """Draw a surface, lit from one side.

        The first latent dimension that is not circular sets its colors: around a circle they would
        have a seam. Beside points in colors of a scale the surface has a neutral color.
        """
        from matplotlib import colormaps
        from matplotlib.colors import to_rgba
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        quads, cells = self.quads()
        straight = [k for k in range(2) if not (self.wrapped and self.wrapped[k])]
        if straight and not neutral:
            shares = cells[:, straight[0]] / max(self.shape[straight[0]] - 2, 1)
            colors = colormaps[SEQUENTIAL](shares)
        else:
            colors = np.tile(to_rgba(NEUTRAL), (len(cells), 1))
        # Products must not overflow.
        unit = quads / max(float(np.abs(quads).max(initial=0.0)), 1e-300)
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
