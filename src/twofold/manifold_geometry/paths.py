r"""Shortest paths on the manifold that stay where data are.

1. *Roads.* Landmarks, at most 400 training latents, are linked to their nearest ones on the map. An
   edge costs what its line costs (`twofold.manifold_geometry.surface`). Both ends of a path are
   linked to the landmarks nearest to them, and Dijkstra's algorithm finds the cheapest way.
2. *Relaxation.* That way has corners. The cheaper of it and the straight line becomes a smooth
   curve: the line between the ends plus a few sines, ``sum_k a_k sin(k pi t) / k``, whose energy

   .. math:: T \sum_t w_t^2 |f(z_{t+1}) - f(z_t)|^2 + v_t^2 |z_{t+1} - z_t|^2

   L-BFGS lowers. The minimum of the energy is the shortest curve, at constant speed. Divided by
   ``k``, all coefficients matter equally for the energy, so few steps suffice.
3. The cheapest of curve, way and line is returned, at equal distances in the data. So a path never
   costs more than the straight line.

All steps depend on the model and the two ends only. The work does not grow with the number of
training rows, apart from decoding and the density.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import optimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from twofold.geodesics.graph import connect_components, knn_graph
from twofold.manifold_geometry.surface import Surface
from twofold.protocols import Array, IntArray

_scipy_minimize: Any = optimize.minimize  # typed or not, depending on the stubs installed

N_NEIGHBORS = 8
"""Landmarks to which a landmark is linked."""

N_PIECES = 4
"""Pieces of an edge whose costs are added."""

N_STEPS, N_SINES, N_ITERATIONS = 40, 10, 30
"""Steps and sines of a smooth curve, and iterations of L-BFGS."""

N_FINE = 160
"""Steps of the curves that are compared and divided into equal parts."""

DIFFERENCE = 1e-4
"""The step of the differences that give the slope of the energy, in centered units."""


@dataclass(frozen=True, eq=False)
class Roads:
    """Landmarks of a model's map and the ways between them."""

    surface: Surface

    @classmethod
    def of(cls, model: Any) -> Roads:
        """Return the roads of a fitted model."""
        return cls(Surface.of(model))

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.surface.flat(self.surface.landmarks))

    @cached_property
    def _ways(self) -> tuple[Array, IntArray]:
        """What the cheapest way between landmarks costs (m, m), and its last stop before each."""
        landmarks = self.surface.landmarks
        if len(landmarks) == 1:
            return np.zeros((1, 1)), np.full((1, 1), -1)
        flat = self.surface.flat(landmarks)
        graph = knn_graph(flat, min(N_NEIGHBORS, len(landmarks) - 1))
        edges = connect_components(graph, flat)[0].tocoo()
        rows, columns = edges.coords
        once = rows < columns
        rows, columns = rows[once], columns[once]
        costs = self._edge_costs(landmarks[rows], landmarks[columns])
        linked = csr_array((costs, (rows, columns)), shape=(len(landmarks), len(landmarks)))
        ways: tuple[Array, IntArray] = dijkstra(linked, directed=False, return_predecessors=True)
        return ways

    def _edge_costs(self, start: Array, end: Array, n_pieces: int = N_PIECES) -> Array:
        """Return what the lines between places (n, q) cost (n,)."""
        shares = np.linspace(0.0, 1.0, n_pieces + 1)[:, None]
        steps = self.surface.shortest(end - start)
        costs = self.surface.costs(start[:, None] + shares * steps[:, None])
        return np.maximum(costs, 1e-300)  # a graph has no edges that cost nothing

    def paths(self, start: Array, end: Array, n_points: int) -> Array:
        """Return paths (n, n_points, q) between latents (n, q), in the caller's units."""
        units = self.surface.model._latent_units
        found = np.empty((len(start), n_points, start.shape[1]))
        shares = np.linspace(0.0, 1.0, n_points)[:, None]
        with self.surface.model._threads():
            inner = [self.surface.inside(units.into(ends)) for ends in (start, end)]
            for row, (a, b) in enumerate(zip(*inner, strict=True)):
                path = units.back(self.surface.inside(self._path(a, b, n_points)))
                # Dimensions that the model left out, and both ends, are as they were given.
                line = start[row] + shares * (end[row] - start[row])
                path = np.where(units.varying, path, line)
                found[row] = path
                found[row, [0, -1]] = start[row], end[row]
        return found

    def _path(self, a: Array, b: Array, n_points: int) -> Array:
        """Return the path (n_points, q) between two places (q,), unwrapped around circles."""
        shares = np.linspace(0.0, 1.0, N_FINE + 1)[:, None]
        line = a + shares * self.surface.shortest(b - a)
        if np.array_equal(line[0], line[-1]):
            return np.repeat(a[None], n_points, axis=0)
        way = _divided(self._way(a, b), self.surface, N_FINE, by_cost=True)
        curves = [line, way]
        best = curves[int(np.argmin(self.surface.costs(np.stack(curves))))]
        curves.append(Curve.near(self.surface, best).relaxed())
        best = curves[int(np.argmin(self.surface.costs(np.stack(curves))))]
        return _divided(best, self.surface, n_points - 1, by_cost=False)

    def _way(self, a: Array, b: Array) -> Array:
        """Return the cheapest way (k, q) along landmarks, with both ends."""
        landmarks = self.surface.landmarks
        between, before = self._ways
        count = min(N_NEIGHBORS, len(landmarks))
        nearest = self._tree.query(self.surface.flat(np.stack([a, b])), k=[*range(1, count + 1)])[1]
        first, last = nearest
        leave = self._edge_costs(np.repeat(a[None], count, axis=0), landmarks[first])
        arrive = self._edge_costs(landmarks[last], np.repeat(b[None], count, axis=0))
        totals = leave[:, None] + between[np.ix_(first, last)] + arrive
        i, j = np.unravel_index(int(np.argmin(totals)), totals.shape)
        stops = [int(last[j])]
        while stops[-1] != first[i]:
            stops.append(int(before[first[i], stops[-1]]))
        places = np.vstack([a, landmarks[stops[::-1]], b])
        steps = self.surface.shortest(np.diff(places, axis=0))
        return np.vstack([a, a + np.cumsum(steps, axis=0)])


@dataclass(frozen=True, eq=False)
class Curve:
    """A line plus sines of coefficients (N_SINES, q), at N_STEPS + 1 places."""

    surface: Surface
    line: Array
    coefficients: Array

    @classmethod
    def near(cls, surface: Surface, path: Array) -> Curve:
        """Return the curve next to a path (N_FINE + 1, q)."""
        shares = np.linspace(0.0, 1.0, len(path))[:, None]
        line = path[0] + shares * (path[-1] - path[0])
        projected = 2.0 / (len(path) - 1) * (_sines(len(path) - 1).T @ (path - line))
        orders = np.arange(1.0, N_SINES + 1.0)[:, None]
        return cls(surface, line, projected * orders)

    def places(self, coefficients: Array, n_steps: int) -> Array:
        """Return the places (n_steps + 1, q) of some coefficients."""
        shares = np.linspace(0.0, 1.0, n_steps + 1)[:, None]
        line = self.line[0] + shares * (self.line[-1] - self.line[0])
        orders = np.arange(1.0, N_SINES + 1.0)[:, None]
        found: Array = line + _sines(n_steps) @ (coefficients / orders)
        return found

    def relaxed(self) -> Array:
        """Return the curve (N_FINE + 1, q) of the lowest energy found."""
        start = self.coefficients
        unit = max(self.energy(start)[0], 1e-300)

        def value_and_slope(flat: Array) -> tuple[float, Array]:
            value, slope = self.energy(flat.reshape(start.shape))
            return value / unit, slope.ravel() / unit

        found = _scipy_minimize(
            value_and_slope,
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": N_ITERATIONS, "ftol": 1e-7},
        )
        return self.surface.limited(self.places(found.x.reshape(start.shape), N_FINE))

    def energy(self, coefficients: Array) -> tuple[float, Array]:
        """Return the energy and its slope, shaped like the coefficients."""
        surface, places = self.surface, self.places(coefficients, N_STEPS)
        n, q = places.shape
        offsets = DIFFERENCE * np.vstack([np.zeros((1, q)), np.eye(q), -np.eye(q)])
        around = surface.limited((places + offsets[:, None]).reshape(-1, q))
        images = surface.images(around).reshape(2 * q + 1, n, -1)
        logs = surface.log_weight(around).reshape(2 * q + 1, n)
        both = surface.squared_weights(logs[0])
        steps = np.diff(images[0], axis=0), np.diff(places, axis=0)
        squares = [np.square(one).sum(axis=1) for one in steps]
        means = [0.5 * (weight[1:] + weight[:-1]) for weight in both]
        value = N_STEPS * float(
            sum(mean @ square for mean, square in zip(means, squares, strict=True))
        )
        pull, hold = (
            _from_both_sides(mean[:, None] * one) for mean, one in zip(means, steps, strict=True)
        )
        slope = 2.0 * hold
        # The slopes of the squared weights with log w: 2 w^2 and 2 v g w.
        rises = 2.0 * both[0], 2.0 * np.sqrt(both[0] * both[1]) * (surface.usual_stretch or 1.0)
        beside = sum(rise * _beside(square) for rise, square in zip(rises, squares, strict=True))
        for column in range(q):
            change = (images[1 + column] - images[1 + q + column]) / (2.0 * DIFFERENCE)
            rise = (logs[1 + column] - logs[1 + q + column]) / (2.0 * DIFFERENCE)
            slope[:, column] += 2.0 * np.einsum("nd,nd->n", change, pull) + beside * rise
        orders = np.arange(1.0, N_SINES + 1.0)[:, None]
        return value, N_STEPS * (_sines(N_STEPS).T @ slope) / orders


def _from_both_sides(steps: Array) -> Array:
    """Return half the slope (n + 1, k) of the squared steps (n, k) at the places between them."""
    found = np.zeros((len(steps) + 1, steps.shape[1]))
    found[1:] += steps
    found[:-1] -= steps
    return found


def _beside(squares: Array) -> Array:
    """Return half the squares (n,) on both sides of each place (n + 1,)."""
    sums: Array = 0.5 * (np.append(squares, 0.0) + np.append(0.0, squares))
    return sums


def _sines(n_steps: int) -> Array:
    """Return ``sin(k pi t)`` (n_steps + 1, N_SINES); exactly 0 at both ends."""
    t = np.linspace(0.0, 1.0, n_steps + 1)[:, None]
    sines: Array = np.sin(np.pi * t * np.arange(1.0, N_SINES + 1.0))
    sines[[0, -1]] = 0.0
    return sines


def _divided(line: Array, surface: Surface, n_steps: int, *, by_cost: bool) -> Array:
    """Return places (n_steps + 1, q) along a line at equal costs, or equal distances in the data.

    Where images do not change, distances on the map count a little.
    """
    if len(line) < N_FINE:
        shares = np.linspace(0.0, len(line) - 1.0, 2 * N_PIECES * (len(line) - 1) + 1)
        line = _interpolated(line, np.arange(float(len(line))), shares)
    if by_cost:
        lengths = surface.step_costs(line[None])[0]
    else:
        images = surface.images(surface.limited(line))
        moves = np.sqrt(np.square(np.diff(line, axis=0)).sum(axis=1))
        lengths = np.sqrt(np.square(np.diff(images, axis=0)).sum(axis=1))
        lengths = lengths + 1e-6 * (surface.usual_stretch or 1.0) * moves
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    return _interpolated(line, along, np.linspace(0.0, along[-1], n_steps + 1))


def _interpolated(line: Array, along: Array, places: Array) -> Array:
    """Return the points of a line (n, q) at places along it."""
    return np.column_stack([np.interp(places, along, column) for column in line.T])
