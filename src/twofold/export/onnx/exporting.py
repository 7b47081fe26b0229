"""Writing a fitted map to an ONNX file."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from twofold._version import __version__
from twofold.base.estimator import TwoWayEstimator
from twofold.drur import DRUR
from twofold.export.onnx.distillation import CANDIDATES, Distillation, distilled
from twofold.export.onnx.graph import FLOAT32, Graph, Value
from twofold.export.onnx.precision import chosen_precision, precisions_of, probes_of
from twofold.export.onnx.translation import Precision, write_steps
from twofold.export.programs.exported import Exported, exported
from twofold.export.programs.translation import ClosedForm, NoClosedForm, around, closed_form
from twofold.numerics.files import whole_file
from twofold.numerics.units import CenteredUnits
from twofold.numerics.validation import check_choice, check_int, check_real, warn_user
from twofold.protocols import Array
from twofold.tables import TableMap

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET = 21
IR_VERSION = 10
LARGE_FILE = 100_000_000
LARGEST_EXPONENT = 100
"""Largest power of two of the units that leaves enough of the range of a float32."""

FARTHEST = 2.0**13
"""Spreads of data from the origin beyond which a step of float32 is a thousandth of a spread."""

logger = logging.getLogger("twofold")


@dataclass(frozen=True)
class ExportReport:
    """What was written.

    Attributes
    ----------
    path : Path
        The file.
    map : str
        "down" or "up".
    dtype : str
        Type of inputs and outputs.
    precision : str
        The types in which the graph computes.
    deviation : float
        The largest measured difference to the model, as a share of the outputs' spread; for a
        distilled map, to the regression that replaces the model's own.
    n_bytes : int
        Size of the file.
    distillation : Distillation or None
        How far the regression lies from the projections, if one was fitted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from twofold import DRUR
    >>> from twofold.export.onnx import export
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = DRUR(n_centers=10, init="pca", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export(model, Path(folder, "up.onnx"), map="up")
    >>> report.path.name, report.map, report.dtype, report.n_bytes > 1000
    ('up.onnx', 'up', 'float32', True)
    >>> report.distillation is None
    True
    """

    path: Path
    map: str
    dtype: str
    precision: str
    deviation: float
    n_bytes: int
    distillation: Distillation | None


def export(
    estimator: TwoWayEstimator | TableMap | Pipeline,
    path: str | os.PathLike[str],
    *,
    map: str = "down",
    method: str = "auto",
    distill: bool | str = "auto",
    X: Any = None,
    n_images: int = 4_000,
    dtype: str = "float32",
    tol: float = 1e-5,
) -> ExportReport:
    """Write one of a fitted model's maps to an ONNX file.

    Parameters
    ----------
    estimator : TwoWayEstimator, TableMap or Pipeline
        A fitted model, or a fitted pipeline that `twofold.from_pipeline` takes. The graph of a
        pipeline takes and returns data in their own units, before all steps. The columns of ``X``
        of a `twofold.TableMap` are listed in the property ``feature_names`` of the file: numbers in
        their own units (dates as days since 1970), and one column for each level of a category,
        with its probability on the way up and 0 or 1 on the way down.
    path : str or path-like
        The file to write, usually with the ending ``.onnx``; an existing file is replaced.
    map : {"down", "up"}, default="down"
        "down" is ``transform``, from an input ``X`` to an output ``Z``; "up" is
        ``inverse_transform``, from ``Z`` to ``X``.
    method : {"auto", "map"}, default="auto"
        For `DRUR`, which has two encoders: "map" is the learned down-map, even where projecting is
        better.
    distill : "auto", bool or {"rbf", "krr", "mlp", "images"}, default="auto"
        What to do if the down-map is a projection, which is a search and not a formula: "auto" and
        True write the regression that comes closest to the projections on held-out rows, a name the
        one of that kind. Its error is in the report and in the metadata of the file. False raises
        an error. Maps with a formula are written as they are.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Rows to distill from, best those that the model has not seen. None means training rows that
        the model keeps: all of them if its up-map is a weighted mean of data, else the 2,000 that
        fill gaps.
    n_images : int, default=4000
        Points of the manifold that a distilled map of the kind "images" compares a row with. More
        points come closer to the projection and make a larger file.
    dtype : {"float32", "float64"}, default="float32"
        Type of input and output.
    tol : float, default=1e-5
        Allowed deviation of the graph from the model, as a share of the outputs' spread. The part
        of the graph that computes in double precision is chosen by measuring this deviation.

    Returns
    -------
    ExportReport

    Raises
    ------
    NoClosedForm
        If the map is a user's function, or a search and ``distill=False``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import onnxruntime
    >>> from twofold import DRUR
    >>> from twofold.export.onnx import export
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = DRUR(n_centers=10, init="pca", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export(model, Path(folder, "up.onnx"), map="up")
    ...     session = onnxruntime.InferenceSession(report.path.read_bytes())
    >>> report.deviation < 1e-5
    True
    >>> Z = model.embedding_.astype(np.float32)
    >>> images = session.run(None, {"Z": Z})[0]
    >>> bool(np.allclose(images, model.inverse_transform(Z), atol=1e-4))
    True
    """
    _check_installed()
    found = exported(estimator)
    check_choice("map", map, ("down", "up"))
    check_choice("method", method, ("auto", "map"))
    check_choice("dtype", dtype, ("float32", "float64"))
    tol = check_real("tol", tol)
    if not isinstance(distill, bool):
        check_choice("distill", distill, ("auto", *CANDIDATES))
    check_int("n_images", n_images)
    rows = None if X is None else found.complete(found.read(X))
    kind = np.dtype(dtype)
    if kind == FLOAT32:
        _check_range(found, map)
    form, reference, distillation = _form(found, map, method, distill, rows, n_images)
    probes = probes_of(found, form, map, reference, kind)
    build = partial(_model, form, map, kind)
    model, precision, deviation = chosen_precision(precisions_of(form, kind), build, probes, tol)
    if deviation > tol:
        warn_user(
            f"The graph deviates from the model by {deviation:.1g} of the outputs' spread even in "
            f"double precision, more than tol={tol:g}: the map's weights are large and cancel. Use "
            "a larger ridge (alpha).",
            UserWarning,
        )
    _round_output(model, map, kind)
    measured = {"precision": precision.name, "deviation": f"{deviation:.3g}"}
    _describe(model, found, map, distillation, measured)
    content = _checked(model)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)
    report = ExportReport(
        Path(path), map, dtype, precision.name, deviation, len(content), distillation
    )
    logger.info(
        "%s: %s, %d bytes, computing in %s, deviation %.2g",
        report.path,
        _title(found, map),
        report.n_bytes,
        precision.name,
        deviation,
    )
    return report


def _form(
    found: Exported,
    map: str,
    method: str,
    distill: bool | str,
    rows: Array | None,
    n_images: int,
) -> tuple[ClosedForm, Callable[[Array], Array], Distillation | None]:
    """Return the map as steps, the function it stands for, and the report of a distillation."""
    if map == "up":
        if method != "auto" or distill not in (False, "auto"):
            raise ValueError(
                f"method={method!r}, distill={distill!r} apply to map='down' only, not to map='up'."
            )
        return closed_form(found, "up"), found.decode, None
    estimator = found.model
    if method == "map":
        if not isinstance(estimator, DRUR):
            raise ValueError(
                "method='map' is for DRUR, which has two encoders; "
                f"{type(estimator).__name__} has one. Use method='auto'."
            )
        mapped = copy(estimator)
        mapped.encoder_ = estimator._ways["map"]
        found = replace(found, model=mapped)
        return closed_form(found, "down"), partial(found.encode, method="map"), None
    try:
        return closed_form(found, "down"), found.encode, None
    except NoClosedForm as error:
        if not distill:
            own = " For the learned map of DRUR use method='map'."
            raise NoClosedForm(
                f"{error} distill=True writes a regression fitted to the model's latents instead, "
                "and reports how far it deviates on held-out rows."
                + own
                * isinstance(estimator, DRUR)
            ) from None
    kind = True if distill == "auto" else distill
    inner, distillation = distilled(estimator, rows, kind, n_images)
    form = around(found, inner, "down")
    return form, form, distillation


def _model(form: ClosedForm, map: str, dtype: np.dtype[Any], precision: Precision) -> ModelProto:
    """Return the ONNX model of a closed form, with its output in the type it is computed in."""
    from onnx import helper

    graph = Graph()
    source, _ = _names(map)
    image = write_steps(graph, form, Value(source, dtype), precision)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    inputs = helper.make_tensor_value_info(source, kind, ["rows", form.n_inputs])
    unrounded = helper.make_tensor_value_info(
        image.name, helper.np_dtype_to_tensor_dtype(image.dtype), ["rows", form.n_outputs]
    )
    whole = helper.make_graph(graph.nodes, f"twofold_{map}", [inputs], [unrounded], graph.constants)
    return helper.make_model(
        whole,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="twofold",
        producer_version=__version__,
    )


def _round_output(model: ModelProto, map: str, dtype: np.dtype[Any]) -> None:
    """Give a model's output its final name and type."""
    from onnx import helper

    _, target = _names(map)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    output = model.graph.output[0]
    model.graph.node.append(helper.make_node("Cast", [output.name], [target], name=target, to=kind))
    output.name = target
    output.type.tensor_type.elem_type = kind


def _names(map: str) -> tuple[str, str]:
    return ("X", "Z") if map == "down" else ("Z", "X")


def _title(found: Exported, map: str) -> str:
    down, up = "data X to latents Z (transform)", "latents Z to data X (inverse_transform)"
    return f"{found.name} of twofold, {down if map == 'down' else up}"


def _describe(
    model: ModelProto,
    found: Exported,
    map: str,
    distillation: Distillation | None,
    measured: dict[str, str],
) -> None:
    """Write the title and the properties of a map into its model."""
    model.doc_string = model.graph.doc_string = _title(found, map)
    properties = {
        "twofold_version": __version__,
        "estimator": found.name,
        "map": map,
        "n_features": str(found.n_columns),
        "n_components": str(found.model.embedding_.shape[1]),
    }
    if found.names is not None:
        properties["feature_names"] = json.dumps(found.names)
    if distillation is not None:
        properties["distillation"] = json.dumps(asdict(distillation))
    for key, value in (properties | measured).items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value


def _checked(model: ModelProto) -> bytes:
    from onnx import checker

    content: bytes = model.SerializeToString()
    checker.check_model(content)
    if len(content) > LARGE_FILE:
        warn_user(
            f"The file has {len(content) / 1e6:.0f} MB: its map keeps every training row. The size "
            "of maps of DRUR, and of TwoWay with up='rbf' and down='rbf', does not depend on the "
            "rows.",
            UserWarning,
        )
    return content


def _check_installed() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{error}; writing ONNX files needs: pip install "twofold[onnx]"'
        ) from error


def _check_range(found: Exported, map: str) -> None:
    """Raise an error for numbers beyond float32, and warn if it is too coarse for the input."""
    both = {"X": _extent(found), "Z": _extent_of(found.model._latent_units)}
    for name, (exponent, _) in both.items():
        if abs(exponent) > LARGEST_EXPONENT:
            raise ValueError(
                f"dtype='float32': {name} is of the order 1e{exponent * np.log10(2.0):+.0f}, "
                "out of the range of float32. Use dtype='float64', or rescale the data."
            )
    name, _ = _names(map)
    _, offset = both[name]
    if offset > FARTHEST:
        warn_user(
            f"{name} lies {offset:.1g} times its spread from the origin: a step of float32 is more "
            "than a thousandth of the spread. Use dtype='float64', or center the data.",
            UserWarning,
        )


def _extent(found: Exported) -> tuple[float, float]:
    """Return the order of the caller's data, as a power of two, and their offset in spreads."""
    if found.layout is None:
        return _extent_of(found.model._data_units)
    numbers = found.layout.group < 0
    if not numbers.any():
        return 0.0, 0.0
    ends = found.show(np.array([[-1.0], [1.0]]) * np.ones(len(numbers)))[:, numbers]
    order = np.log2(np.abs(ends).max() or 1.0)
    spread = np.maximum(np.ptp(ends, axis=0), np.finfo(np.float64).tiny)
    return float(order), float((np.abs(ends).max(axis=0) / spread).max())


def _extent_of(units: CenteredUnits) -> tuple[float, float]:
    exponents = np.ravel(units.exponent + np.log2(units.column_factors()))
    return float(exponents[np.abs(exponents).argmax()]), float(np.abs(units.origin).max())
