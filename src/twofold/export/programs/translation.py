"""The steps of each fitted map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from twofold.base.estimator import TwoWayEstimator
from twofold.export.programs.exported import Exported, exported
from twofold.export.programs.steps import (
    IntoDomain,
    Kernel,
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
from twofold.kernels import Gaussian, resolve_kernel
from twofold.maps import GRNN, MLP, KernelRidgeMap, LinearMap, NadarayaWatson, RBFNetwork
from twofold.maps.affine import Affine, Chain, Inverse, Predictor
from twofold.maps.projection import Projection
from twofold.numerics.affine_units import AffineUnits
from twofold.numerics.units import CenteredUnits
from twofold.principal_manifold.maps import ManifoldDecoder, ManifoldEncoder
from twofold.principal_manifold.node_kernels import NODE_KERNELS
from twofold.principal_manifold.nodes import NodeExpansion
from twofold.principal_manifold.projection import DomainProjection
from twofold.protocols import Array, IntArray
from twofold.ukr.feature_space import FeatureEncoder, PreimageDecoder


class NoClosedForm(ValueError):
    """The map is a search or a user's function, not a formula."""


@dataclass(frozen=True)
class ClosedForm:
    """A map as steps, from rows (n, n_inputs) to rows (n, n_outputs)."""

    steps: tuple[Step, ...]
    n_inputs: int
    n_outputs: int

    def __call__(self, x: Array) -> Array:
        """Apply the steps to rows."""
        return reduce(lambda rows, step: step(rows), self.steps, x)


def closed_form(model: Any, map: str = "up") -> ClosedForm:
    """Return a fitted model's map as steps, from the caller's units to the caller's units.

    Parameters
    ----------
    model : TwoWayEstimator, TableMap or Exported
        A fitted model. The data of a table are its flat values.
    map : {"up", "down"}, default="up"
        "up" is ``inverse_transform``, "down" is ``transform``.

    Raises
    ------
    NoClosedForm
        If the map is a search.
    """
    if map not in ("up", "down"):
        raise ValueError(f"map={map!r} must be 'up' (latents to data) or 'down' (data to latents).")
    found = model if isinstance(model, Exported) else exported(model)
    return around(found, _between_units(found.model, map), map)


def around(found: Exported, form: ClosedForm, map: str) -> ClosedForm:
    """Return the form of a map of an exported model, given that of the estimator inside."""
    if map == "up":
        return ClosedForm((*form.steps, *found.back), form.n_inputs, found.n_columns)
    return ClosedForm((*found.into, *form.steps), found.n_columns, form.n_outputs)


def _between_units(estimator: TwoWayEstimator, map: str) -> ClosedForm:
    data: CenteredUnits = estimator._data_units
    latents: CenteredUnits = estimator._latent_units
    widths = data.n_features, estimator.embedding_.shape[1]
    if map == "up":
        return _between(latents, estimator.decoder_, data, *widths[::-1])
    return _between(data, estimator.encoder_, latents, *widths)


def _between(
    before: CenteredUnits, part: Predictor, after: CenteredUnits, n_inputs: int, n_outputs: int
) -> ClosedForm:
    """Return the steps of a map between centered units, with the units around it."""
    taken, put = np.flatnonzero(before.varying), np.flatnonzero(after.varying)
    down, up = _factors(before, taken), _factors(after, put)
    take = Take(taken, 2.0**-before.exponent / down, before.center[taken])
    last = Put(put, 2.0**after.exponent * up, after.center[put], after.constants)
    inside = [*_images(before), take, *_steps(part, len(taken)), last, *_from_images(after)]
    return ClosedForm(_simplified(inside, n_inputs), n_inputs, n_outputs)


def _factors(units: CenteredUnits, columns: IntArray) -> float | Array:
    """Return the factors of some columns; 1 for units without factors."""
    return 1.0 if units.factors is None else units.factors[columns]


def _images(units: CenteredUnits) -> list[Step]:
    """Return the steps from data to the images that units belong to."""
    if not isinstance(units, AffineUnits):
        return []
    shifted = Take(np.arange(units.n_features), 1.0, units.shift)
    return [shifted, Linear(units.matrix, -units.bias)]


def _from_images(units: CenteredUnits) -> list[Step]:
    """Return the steps from such images to data."""
    if not isinstance(units, AffineUnits):
        return []
    columns, nothing = np.arange(units.n_features), np.zeros(units.n_features)
    return [Linear(units.inverse, nothing), Put(columns, 1.0, units.offset, nothing)]


def _simplified(steps: list[Step], n_inputs: int) -> tuple[Step, ...]:
    """Leave out steps that do nothing, and convert the targets of means instead of the means."""
    kept: list[Step] = []
    for step in steps:
        means = kept[-1] if kept else None
        if isinstance(means, RadialMeans | RadialMedians) and isinstance(step, Put):
            kept[-1] = replace(means, targets=step(means.targets))
        else:
            kept.append(step)
    return tuple(
        step
        for number, step in enumerate(kept)
        if not _does_nothing(step, _width(kept[:number], n_inputs))
    )


def _width(before: list[Step], n_inputs: int) -> int:
    """Return the number of columns that a step `Take` gets."""
    last = before[-1] if before else None
    return last.matrix.shape[1] if isinstance(last, Linear) else n_inputs


def _does_nothing(step: Step, n_inputs: int) -> bool:
    if not isinstance(step, Take | Put) or np.any(step.factor != 1.0) or step.shift.any():
        return False
    # Columns ascend, so equal counts mean the same columns.
    width = len(step.constants) if isinstance(step, Put) else n_inputs
    return len(step.columns) == width


def _steps(part: Predictor, n_inputs: int) -> list[Step]:
    """Return the steps of a map of rows (n, n_inputs)."""
    if isinstance(part, Chain):
        steps: list[Step] = []
        for one in part.maps:
            last = steps[-1] if steps else None
            steps += _steps(one, last.matrix.shape[1] if isinstance(last, Linear) else n_inputs)
        return steps
    if isinstance(part, Affine | Inverse):
        matrix = part.predict(np.eye(n_inputs))
        return [Linear(matrix, np.zeros(matrix.shape[1]))]
    # Exactly these classes: a subclass may compute something else.
    translation = _TRANSLATIONS.get(type(part))
    if translation is not None:
        return translation(part)
    name = type(part).__name__
    if isinstance(part, SEARCHES):
        raise NoClosedForm(
            f"{name} has no closed form: it is a projection onto the manifold, a search for the "
            "nearest point."
        )
    raise NoClosedForm(f"{name} has no closed form: it is not a map of twofold.")


def _radial_kernel(kernel: Any) -> Kernel:
    found = resolve_kernel(kernel)
    if not isinstance(found, Kernel):
        raise NoClosedForm(f"kernel={kernel!r} is not a kernel of twofold and has no closed form.")
    return found


def _network(part: RBFNetwork | KernelRidgeMap) -> list[Step]:
    features = RadialFeatures(part.centers_, part.bandwidth_, _radial_kernel(part.kernel))
    return [features, Linear(part.weights_, part.intercept_)]


def _ridge(part: KernelRidgeMap) -> list[Step]:
    if part._is_radial:
        return _network(part)
    output = Linear(part.weights_, part.intercept_)
    if part.kernel == "rbf":
        width = float(np.sqrt(0.5 / part.gamma_))
        return [RadialFeatures(part.centers_, width, Gaussian()), output]
    name = "polynomial" if part.kernel == "poly" else part.kernel
    if not isinstance(name, str) or name not in PairKernel.NAMES:
        raise NoClosedForm(f"kernel={part.kernel!r} of KernelRidgeMap has no closed form.")
    return [PairKernel(part.centers_, name, part.gamma_, part.degree, part.coef0), output]


def _perceptron(part: MLP) -> list[Step]:
    hidden = Linear(part.hidden_weights_, part.hidden_intercept_)
    return [hidden, Sigmoid(), Linear(part.weights_, part.intercept_)]


def _linear(part: LinearMap) -> list[Step]:
    return [Linear(part.weights_, part.intercept_)]


def _means(part: NadarayaWatson) -> list[Step]:
    kernel = _radial_kernel(part.kernel)
    return [RadialMeans(part.inputs_, part.bandwidth_, kernel, part.targets_)]


def _preimages(part: PreimageDecoder) -> list[Step]:
    regression, space = part.regression, part.space
    kernel = _radial_kernel(regression.kernel)
    if space.metric not in ("linear", "l1"):
        raise NoClosedForm(
            f"metric={space.metric!r} has no closed form: its pre-images are found by a search. "
            "'euclidean', 'linear' and 'l1' have one."
        )
    kind = RadialMeans if space.metric == "linear" else RadialMedians
    return [kind(regression.inputs_, regression.bandwidth_, kernel, space.data)]


def _nodes(part: NodeExpansion) -> list[Step]:
    if not {type(kernel) for kernel in part.kernels} <= {type(k) for k in NODE_KERNELS.values()}:
        raise NoClosedForm(
            f"kernels={part.kernels!r} have no closed form. Fit with kernel='gaussian', which has "
            "one on every domain, or save the model with twofold.save."
        )
    return [
        NodeProducts(part.nodes, part.kernels, part.widths, part._is_additive),
        Linear(part.weights_, part.intercept_),
    ]


def _manifold(part: ManifoldDecoder) -> list[Step]:
    # The frame is linear: it goes into the weights.
    weights, intercept = part.frame.back(part.up.weights_), part.up.intercept_[None]
    output = Linear(weights, part.frame.back(intercept)[0])
    return [IntoDomain(part.domain), *_nodes(part.up)[:-1], output]


SEARCHES = (Projection, DomainProjection, ManifoldEncoder, FeatureEncoder)

_TRANSLATIONS: dict[type, Callable[[Any], list[Step]]] = {
    RBFNetwork: _network,
    KernelRidgeMap: _ridge,
    LinearMap: _linear,
    MLP: _perceptron,
    NadarayaWatson: _means,
    GRNN: _means,
    NodeExpansion: _nodes,
    ManifoldDecoder: _manifold,
    PreimageDecoder: _preimages,
}
