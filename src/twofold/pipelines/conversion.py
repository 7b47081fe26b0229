"""One model of a fitted pipeline: its last step, in the units of the data before all steps.

Scalers and principal components are affine maps. In front of a model's own centered units, which
are a shift and factors, they are units again: factors of the columns
(`twofold.numerics.units.CenteredUnits`), or axes (`twofold.numerics.affine_units.AffineUnits`). So
a pipeline needs no class of its own, and model files, pages and ONNX graphs show the data's own
units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from twofold.pipelines.steps import before_step


def from_pipeline(pipeline: Pipeline) -> Any:
    """Return a fitted pipeline as one model that takes and returns the data's own units.

    The model is a copy of the last step. Its maps are those of the pipeline, up to rounding, and it
    has what a pipeline lacks: ``reconstruct``, ``reconstruction_error``, ``log_density``,
    ``sample`` and ``save``. `twofold.save`, `twofold.export.explorer.write` and
    `twofold.export.onnx.export` take pipelines, too, and convert them by this function.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        A fitted pipeline whose last step is an estimator of twofold with both maps. The steps
        before it are ``StandardScaler``, ``RobustScaler``, ``MinMaxScaler``, ``MaxAbsScaler``,
        ``PCA``, ``IncrementalPCA``, ``TruncatedSVD``, a ``FunctionTransformer`` without functions,
        "passthrough", or pipelines of these.

    Returns
    -------
    TwoWayEstimator
        The fitted model, of the class of the last step. ``reconstruction_error`` and ``score``
        measure distances in units of the scaled columns, as with the parameter ``scale``; after
        principal components they include the variance outside these. To fit again, fit the
        pipeline.

    Raises
    ------
    TypeError
        If a step cannot become part of the model; the message names it.
    sklearn.exceptions.NotFittedError
        If the pipeline is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import twofold
    >>> X = load_iris().data
    >>> pipeline = make_pipeline(StandardScaler(), twofold.TwoWay("pca", up="nw", down="nw"))
    >>> model = twofold.from_pipeline(pipeline.fit(X))
    >>> model.reconstruction_error(X).shape
    (150,)
    >>> bool(abs(model.transform(X) - pipeline.transform(X)).max() < 1e-9)
    True
    """
    if not isinstance(pipeline, Pipeline):
        raise TypeError(
            f"pipeline={pipeline!r} must be a fitted sklearn.pipeline.Pipeline. A fitted estimator "
            "of twofold needs no conversion."
        )
    *steps, (name, last) = _flat(pipeline)
    if hasattr(last, "layout_") and all(_changes_nothing(step) for _, step in steps):
        return last  # a TableMap brings its columns to one unit itself
    if not hasattr(last, "_in_units"):
        raise TypeError(
            f"the last step {name!r} of the pipeline, {last!r}, is not a two-way estimator of "
            "twofold. End the pipeline in one, such as UKR; TwoWay makes one of any embedding."
        )
    check_is_fitted(last)
    units, variance = last._data_units, None
    for one, step in reversed(steps):
        if not (step is None or isinstance(step, str)):
            check_is_fitted(step)
        units, total = before_step(one, step, units)
        variance = variance if total is None else total
    model = last._in_units(units, variance)
    names = getattr(steps[0][1] if steps else last, "feature_names_in_", None)
    for made in {id(model): model, id(model._unwrapped): model._unwrapped}.values():
        made.n_features_in_ = units.n_features
        made.__dict__.pop("feature_names_in_", None)
        if names is not None:
            made.feature_names_in_ = names
    return model


def _changes_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def model_of(model: Any) -> Any:
    """Return a model as it is, and a fitted pipeline as one model."""
    return from_pipeline(model) if isinstance(model, Pipeline) else model


def _flat(pipeline: Pipeline, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and steps of a pipeline, and of pipelines inside it."""
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            yield from _flat(step, f"{before}{name}__")
        else:
            yield f"{before}{name}", step
