"""Adaptation: the maps of unsupervised regression, learned again in every turn.

An adapter learns one of the two maps whenever latents have moved (Carreira-Perpinan & Lu 2010,
section 2.2), and keeps what does not change in between: centers and bandwidths once they are no
longer placed anew, features and factors where the inputs are the data, weights of a perceptron.
`adapt` returns the map for inputs and targets; with ``anew`` its centers and bandwidths may change.
`predict` returns its values at those inputs, `penalty` its penalty. `state` and `restore` exchange
what further fits depend on, for checkpoints.

References
----------
M. A. Carreira-Perpinan, Z. Lu. Parametric dimensionality reduction by unsupervised regression.
CVPR 2010.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from twofold.drur.radial_regression import RadialRegression
from twofold.maps import MLP, RBFNetwork
from twofold.maps.rbf_network import kmeans_centers
from twofold.numerics.threads import some_rows
from twofold.protocols import Array, Map

CLUSTERED_PER_CENTER = 40
FEWEST_CLUSTERED = 2_000
KMEANS_ITERATIONS = 20
"""Centers only need to be spread like the inputs; k-means need not converge."""

EXACT_STARTS = 20
"""Random starts of the first k-means of an exact adaptation, as in the paper's section 2.2."""


@dataclass
class RadialAdapter:
    """Adaptation of radial basis networks, with ridges ``alphas`` to choose from.

    If the inputs are ``fixed``, centers, features and factors are computed once. ``seed`` is that
    of k-means. An ``exact`` adaptation has no shortcuts: k-means sees all rows and converges, the
    first one from the best of 20 random starts, and bandwidths are judged on all rows over their
    whole range.
    """

    n_centers: int
    alphas: tuple[float, ...]
    fixed: bool
    seed: int
    exact: bool = False
    width: float = 0.0
    alpha: float = 0.0
    centers: Array | None = None
    _regression: RadialRegression | None = field(default=None, repr=False)
    _network: RBFNetwork | None = field(default=None, repr=False)

    def adapt(self, inputs: Array, targets: Array, *, anew: bool) -> RBFNetwork:
        """Return the network for targets."""
        first = self.centers is None
        if first or (anew and not self.fixed):
            self.centers = self._clustered(inputs)
        if first or not self.fixed or self._regression is None:
            assert self.centers is not None
            self._regression = RadialRegression(inputs, self.centers, exact=self.exact)
        regression = self._regression
        if first or anew:
            near = None if first else (self.width, self.alpha)
            self.width, self.alpha = regression.choose(targets, self.alphas, near)
        if self.fixed:
            regression.keep_features(self.width)
        self._network = regression.fit(targets, self.width, self.alpha)
        return self._network

    def _clustered(self, inputs: Array) -> Array:
        """Return the centers of the inputs, from the last ones if there are any."""
        if self.exact:
            return kmeans_centers(
                inputs,
                self.n_centers,
                init=self.centers,
                random_state=self.seed,
                n_random=EXACT_STARTS,
            )
        most = max(FEWEST_CLUSTERED, CLUSTERED_PER_CENTER * self.n_centers)
        return kmeans_centers(
            inputs[some_rows(len(inputs), most)],
            self.n_centers,
            init=self.centers,
            random_state=self.seed,
            max_iter=KMEANS_ITERATIONS,
        )

    def predict(self, inputs: Array) -> Array:
        """Return the last network's values at the inputs that it was fitted to."""
        assert self._regression is not None
        assert self._network is not None
        if self.fixed:
            return self._regression.predict(self._network)
        return self._network.predict(inputs)

    def penalty(self) -> float:
        """Return ``alpha tr(W^T G W)`` of the last network, Eq. (14)."""
        assert self._network is not None
        return self._network.penalty()

    def rescale(self, shift: Array, factor: float) -> None:
        """Move the centers with the inputs."""
        if self.centers is not None and not self.fixed:
            self.centers = (self.centers + shift) * factor
            self.width *= factor

    def state(self) -> Any:
        """Return centers, bandwidth and ridge; `adapt` computes the rest again."""
        return {"width": self.width, "alpha": self.alpha, "centers": self.centers}

    def restore(self, state: Any) -> None:
        """Restore centers, bandwidth and ridge."""
        self.width, self.alpha, self.centers = state["width"], state["alpha"], state["centers"]
        self._regression = None


@dataclass
class MapAdapter:
    """Adaptation of any map: refitted each time; perceptrons continue from their weights."""

    prototype: Map
    learned: Map | None = None

    def adapt(self, inputs: Array, targets: Array, *, anew: bool) -> Map:  # noqa: ARG002
        """Return the fitted map."""
        if self.learned is None or not isinstance(self.prototype, MLP):
            self.learned = clone(self.prototype)
        assert self.learned is not None
        learned = deepcopy(self.learned.fit(inputs, targets))  # the next turn changes it
        vars(learned).pop("_layers", None)  # only needed to continue training
        return learned

    def predict(self, inputs: Array) -> Array:
        """Return the last map's values."""
        assert self.learned is not None
        return self.learned.predict(inputs)

    def penalty(self) -> float:
        """Return the penalty of the last map: perceptrons' weight decay, for example.

        User-supplied maps may have a method ``penalty``. Without it their penalty counts as 0.
        """
        penalty = getattr(self.learned, "penalty", None)
        return float(penalty()) if callable(penalty) else 0.0

    def rescale(self, shift: Array, factor: float) -> None:
        """Do nothing: the next fit sees the new inputs."""

    def state(self) -> Any:
        """Return the perceptron from which training continues, if there is one."""
        if not isinstance(self.prototype, MLP) or self.learned is None:
            return None
        return {"learned": deepcopy(self.learned)}

    def restore(self, state: Any) -> None:
        """Continue from such a perceptron."""
        self.learned = None if state is None else state["learned"]


Adapter = RadialAdapter | MapAdapter
