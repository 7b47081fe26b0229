"""Which steps a fitted map is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from twofold.drur.maps import FromCoordinates, ToCoordinates
from twofold.export.programs.steps import (
    IntoDomain,
    Linear,
    NodeProducts,
    PairKernel,
    Put,
    RadialFeatures,
    RadialMeans,
    RadialMedians,
    Sigmoid,
    Step,
    Take,
)
from twofold.kernels import Compact, Gaussian, StudentT, resolve_kernel
from twofold.maps import GRNN, MLP, KernelExpansion, KernelRidgeMap, NadarayaWatson, RBFNetwork
from twofold.maps.affine import SubspaceEncoder
from twofold.maps.projection import Projection
from twofold.numerics.units import CentredUnits
from twofold.principal_manifold.maps import ManifoldDecoder, ManifoldEncoder
from twofold.principal_manifold.node_kernels import NODE_KERNELS
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array
from twofold.ukr.feature_space import FeatureEncoder, PreimageDecoder

__all__ = ["ClosedForm", "NoClosedForm", "closed_form"]


class NoClosedForm(ValueError):
    """The map is a search or a function of the user's, not a formula.

    Examples
    --------
    The way down of `UKR` is a search:

    >>> from twofold import UKR
    >>> from twofold.export.programs import NoClosedForm, closed_form
    >>> from twofold.datasets import make_noisy_spiral
    >>> X, _ = make_noisy_spiral(60, random_state=0)
    >>> model = UKR(1, init="isomap", tol=1e-2, random_state=0).fit(X)
    >>> try:
    ...     closed_form(model, "down")
    ... except NoClosedForm as error:
    ...     print(type(error).__name__)
    NoClosedForm
    """


@dataclass(frozen=True)
class ClosedForm:
    """A map as steps.

    Attributes
    ----------
    steps : tuple of Step
        In the order in which they are applied.
    n_inputs, n_outputs : int
        Columns that go in and come out.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.export.programs import ClosedForm, Linear, Sigmoid
    >>> layer = Linear(np.array([[1.0, -1.0]]), np.zeros(2))
    >>> network = ClosedForm((layer, Sigmoid()), n_inputs=1, n_outputs=2)
    >>> network(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """

    steps: tuple[Step, ...]
    n_inputs: int
    n_outputs: int

    def __call__(self, x: Array) -> Array:
        """Return the images (n, n_outputs) of rows (n, n_inputs)."""
        return reduce(lambda rows, step: step(rows), self.steps, x)


def closed_form(estimator: Any, map: str = "up") -> ClosedForm:
    """Return a fitted estimator's map as steps, from the caller's units to the caller's units.

    Parameters
    ----------
    estimator : TwoWayEstimator
        A fitted model.
    map : {"up", "down"}, default="up"
        "up" is ``inverse_transform``, "down" is ``transform``.

    Returns
    -------
    ClosedForm

    Raises
    ------
    NoClosedForm
        Where the map is a search.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold import DRUR
    >>> from twofold.export.programs import closed_form
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = DRUR(n_centers=10, init="pca", random_state=0).fit(X)
    >>> up = closed_form(model, "up")
    >>> [type(step).__name__ for step in up.steps]
    ['RadialFeatures', 'Linear', 'Put']
    >>> bool(np.allclose(up(model.embedding_), model.inverse_transform(model.embedding_)))
    True
    """
    data, latents = estimator._data_units, estimator._latent_units
    n_features, n_components = len(data.center), estimator.embedding_.shape[1]
    if map == "up":
        steps = [_take(latents), *_steps(estimator.decoder_), _put(data)]
        return ClosedForm(_simplified(steps, n_components), n_components, n_features)
    if map == "down":
        steps = [_take(data), *_steps(estimator.encoder_), _put(latents)]
        return ClosedForm(_simplified(steps, n_features), n_features, n_components)
    raise ValueError(f"map={map!r} must be 'up' (latents to data) or 'down' (data to latents).")


def _take(units: CentredUnits) -> Take:
    columns = np.flatnonzero(units.varying)
    return Take(columns, 2.0**-units.exponent, units.center[columns])


def _put(units: CentredUnits) -> Put:
    columns = np.flatnonzero(units.varying)
    return Put(columns, 2.0**units.exponent, units.center[columns], units.constants)


def _simplified(steps: list[Step], n_inputs: int) -> tuple[Step, ...]:
    """Leave out steps that do nothing, and let weighted means be of data in the caller's units."""
    *before, last = steps
    if before and isinstance(before[-1], RadialMeans | RadialMedians) and isinstance(last, Put):
        means = before[-1]
        targets = last(means.targets)
        steps = [
            *before[:-1],
            type(means)(means.centers, means.width, means.kernel, targets),
        ]
    return tuple(step for step in steps if not _does_nothing(step, n_inputs))


def _does_nothing(step: Step, n_inputs: int) -> bool:
    if not isinstance(step, Take | Put) or step.factor != 1.0 or step.shift.any():
        return False
    # Columns ascend, so that as many as there are is all of them.
    width = len(step.constants) if isinstance(step, Put) else n_inputs
    return len(step.columns) == width


def _steps(part: Any) -> list[Step]:
    """Return the steps of a map between centred units."""
    # Exactly these classes: one derived from them may compute something else.
    translation = _TRANSLATIONS.get(type(part))
    if translation is not None:
        return translation(part)
    name = type(part).__name__
    if isinstance(part, SEARCHES):
        raise NoClosedForm(
            f"{name} has no closed form: it is a projection onto the manifold, a search for the nearest point."
        )
    raise NoClosedForm(f"{name} has no closed form here: it is no map of twofold's.")


def _radial_kernel(kernel: Any) -> Gaussian | Compact | StudentT:
    found = resolve_kernel(kernel)
    if not isinstance(found, Gaussian | Compact | StudentT):
        raise NoClosedForm(
            f"kernel={kernel!r} is a kernel of your own, which has no closed form here."
        )
    return found


def _expansion(part: Any) -> list[Step]:
    features = RadialFeatures(part.centers_, part.bandwidth_, _radial_kernel(part.kernel))
    return [features, Linear(part.weights_, part.intercept_)]


def _ridge(part: Any) -> list[Step]:
    output = Linear(part.weights_, part.intercept_)
    if part.kernel == "rbf":
        width = float(np.sqrt(0.5 / part.gamma_))
        return [RadialFeatures(part.centers_, width, Gaussian()), output]
    name = "polynomial" if part.kernel == "poly" else part.kernel
    if name not in PairKernel.NAMES:
        raise NoClosedForm(f"kernel={part.kernel!r} of KernelRidgeMap has no closed form here.")
    return [PairKernel(part.centers_, name, part.gamma_, part.degree, part.coef0), output]


def _perceptron(part: Any) -> list[Step]:
    hidden = Linear(part.hidden_weights_, part.hidden_intercept_)
    return [hidden, Sigmoid(), Linear(part.weights_, part.intercept_)]


def _means(part: Any) -> list[Step]:
    kernel = _radial_kernel(part.kernel)
    return [RadialMeans(part.inputs_, part.bandwidth_, kernel, part.targets_)]


def _preimages(part: Any) -> list[Step]:
    regression, space = part.regression, part.space
    kernel = _radial_kernel(regression.kernel)
    if space.metric not in ("linear", "l1"):
        raise NoClosedForm(
            f"metric={space.metric!r}: pre-images are found by a search. Those of 'euclidean', 'linear' and 'l1' are not."
        )
    kind = RadialMeans if space.metric == "linear" else RadialMedians
    return [kind(regression.inputs_, regression.bandwidth_, kernel, space.data)]


def _nodes(part: Any) -> list[Step]:
    if not {type(kernel) for kernel in part.kernels} <= {type(k) for k in NODE_KERNELS.values()}:
        raise NoClosedForm(f"kernels={part.kernels!r} have no closed form here.")
    return [
        NodeProducts(part.nodes, part.kernels, part.widths, part._is_additive),
        Linear(part.weights_, part.intercept_),
    ]


def _manifold(part: Any) -> list[Step]:
    # The frame is linear: it goes into the weights.
    output = Linear(part.frame.out(part.up.weights_), part.frame.out(part.up.intercept_[None])[0])
    return [IntoDomain(part.domain), *_steps(part.up)[:-1], output]


def _coordinates(part: Any) -> Linear:
    axes, spread = part.coordinates.axes, part.coordinates.spread
    return Linear(axes.T / spread, np.zeros(len(axes)))


def _from_coordinates(part: Any) -> list[Step]:
    return [_coordinates(part), *_steps(part.way)]


def _to_coordinates(part: Any) -> list[Step]:
    axes, spread = part.coordinates.axes, part.coordinates.spread
    return [*_steps(part.up), Linear(axes * spread, np.zeros(axes.shape[1]))]


SEARCHES = (Projection, DomainProjection, ManifoldEncoder, SubspaceEncoder, FeatureEncoder)

_TRANSLATIONS: dict[type, Callable[[Any], list[Step]]] = {
    RBFNetwork: _expansion,
    KernelExpansion: _expansion,
    KernelRidgeMap: _ridge,
    MLP: _perceptron,
    NadarayaWatson: _means,
    GRNN: _means,
    NodeExpansion: _nodes,
    ManifoldDecoder: _manifold,
    PreimageDecoder: _preimages,
    FromCoordinates: _from_coordinates,
    ToCoordinates: _to_coordinates,
}
