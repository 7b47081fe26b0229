"""What an estimator gets to learn from, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from twofold.base.progress import FitProgress
from twofold.maps.affine import Predictor
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import RandomLike
from twofold.protocols import Array, IntArray


class Density(Protocol):
    """A density of latents."""

    def log_density(self, Z: Array) -> Array:
        """Return the log densities (n,)."""
        ...

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> Array:
        """Draw latents (n_samples, q)."""
        ...


@dataclass(frozen=True)
class Anchors:
    """Where the rows of an aligned fit begin, and what pulls some of them.

    Attributes
    ----------
    start : ndarray of shape (n, q)
        First latents of all rows, in the frame of another model.
    rows : ndarray of int, shape (m,)
        Rows whose places in that frame are known.
    latents : ndarray of shape (m, q)
        Their places.
    extent : float
        The size of that map: the root of the mean squared distance between two of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.base import Anchors
    >>> start = np.arange(18.0).reshape(9, 2)
    >>> anchors = Anchors(start, np.array([1, 4]), start[[1, 4]], extent=15.0)
    >>> anchors.take(np.array([0, 4, 5])).rows
    array([1])
    """

    start: Array
    rows: IntArray
    latents: Array
    extent: float

    def take(self, rows: IntArray) -> Anchors:
        """Return the anchors of a fit to some rows (k,), different ones.

        Parameters
        ----------
        rows : ndarray of int, shape (k,)
            The numbers of the rows.

        Returns
        -------
        Anchors

        Examples
        --------
        >>> import numpy as np
        >>> from twofold.base import Anchors
        >>> anchors = Anchors(np.zeros((3, 1)), np.arange(3), np.zeros((3, 1)), extent=1.0)
        >>> anchors.take(np.array([0, 2])).rows
        array([0, 1])
        """
        position = np.full(len(self.start), -1)
        position[rows] = np.arange(len(rows))
        kept = position[self.rows] >= 0
        return Anchors(self.start[rows], position[self.rows][kept], self.latents[kept], self.extent)


@dataclass(frozen=True)
class Problem:
    """The argument of an estimator's ``_learn``: validated data in centered units.

    Attributes
    ----------
    data : ndarray of shape (n, D')
        Data in centered units, without constant columns.
    units : CenteredUnits
        These units.
    original : ndarray of shape (n, D)
        The data in the caller's units.
    y : object
        Labels, or None.
    n_components : int
        Number of latent dimensions.
    rng : Generator
        Source of all randomness.
    progress : FitProgress
        Receives the phases and iterations of the fit.
    anchors : Anchors or None, default=None
        The first latents of a fit in the frame of another model, and the pull to known places.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> from twofold.base import Problem
    >>> class Verbose(TwoWay):
    ...     def _learn(self, problem: Problem):
    ...         print(problem.data.shape, problem.n_components)
    ...         return super()._learn(problem)
    >>> model = Verbose("pca", up="nw", down="nw").fit(load_iris().data)
    (150, 4) 2
    """

    data: Array
    units: CenteredUnits
    original: Array
    y: Any
    n_components: int
    rng: np.random.Generator
    progress: FitProgress
    anchors: Anchors | None = None


@dataclass(frozen=True)
class Learned:
    """The result of an estimator's ``_learn``: latents and both maps.

    Attributes
    ----------
    latents : ndarray of shape (n, q)
        Training latents, in the caller's units.
    units : CenteredUnits
        The units of latents in which the maps work.
    encoder, decoder : Predictor
        The maps between centered units of data and of latents.
    density : Density
        The density of the latents, in centered units.
    variance : float or None
        Total variance of the training data in the space where the estimator measures errors; None
        means the variance of the data in centered units.
    attributes : dict
        Further learned attributes; their names end with an underscore.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twofold import TwoWay
    >>> from twofold.base import Learned
    >>> class Verbose(TwoWay):
    ...     def _learn(self, problem) -> Learned:
    ...         learned = super()._learn(problem)
    ...         print(learned.latents.shape, sorted(learned.attributes))
    ...         return learned
    >>> model = Verbose("pca", up="nw", down="nw").fit(load_iris().data)
    (150, 2) ['candidates_', 'down_', 'up_']
    """

    latents: Array
    units: CenteredUnits
    encoder: Predictor
    decoder: Predictor
    density: Density
    variance: float | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
