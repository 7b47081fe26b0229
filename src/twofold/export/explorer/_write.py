"""Write the page of a model and some rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length

from twofold.base.estimator import TwoWayEstimator
from twofold.base.other_units import warn_of_other_units
from twofold.export.explorer._appearance import appearance
from twofold.export.explorer._columns import MOST_CLASSES, column
from twofold.export.explorer._fields import Rows, rows_of
from twofold.export.explorer._images import packed_images
from twofold.export.explorer._landscape import landscape
from twofold.export.explorer._many_rows import (
    MOST_POINTS,
    MOST_WITH_VALUES,
    places,
    row_names_of,
    warn_of_less,
)
from twofold.export.explorer._new_rows import new_rows_of
from twofold.export.explorer._packing import Packer
from twofold.export.explorer._page import page
from twofold.export.explorer._program import program
from twofold.export.programs.exported import Exported, exported
from twofold.export.programs.translation import closed_form
from twofold.maps.nadaraya_watson import NadarayaWatson
from twofold.numerics.files import whole_file
from twofold.numerics.sparse_rows import dense_if_few_cells
from twofold.numerics.threads import row_blocks, some_rows
from twofold.numerics.validation import check_int, warn_user
from twofold.protocols import Array, IntArray
from twofold.tables import TableMap
from twofold.ukr import UKR

LARGE_PAGE = 50_000_000
MOST_PROJECTED = 20_000
"""More training rows of `UKR` are shown at their ``embedding_``."""

SAME_VALUE = 1e-6
"""Share of the largest value up to which values are equal: decoders may hold single precision."""


def write(
    estimator: TwoWayEstimator | TableMap | Pipeline,
    X: Any,
    y: Any = None,
    *,
    path: str | os.PathLike[str],
    title: str | None = None,
    feature_names: Any = None,
    row_names: Any = None,
    columns: Any = None,
    kind: str = "auto",
    image_shape: Any = None,
    max_points: int | None = None,
    images: Any = None,
    new_rows: bool | str = "auto",
) -> Path:
    """Write a page to explore a fitted model.

    The page shows the latents of the rows on a map. The browser decodes the latent at the pointer.
    A path drawn on the map plays as a morph, a row can be pinned beside its reconstruction, and
    rows in a box can be listed and downloaded.

    The page of a `twofold.TableMap` shows columns as the data frame has them: numbers in their own
    units, dates, and categories as words with probabilities. Gaps are shown as "missing".

    The page contains the rows: everyone who has the page can read them. Of more than 100,000 rows
    it has places and colors only, about seven bytes a row, and shows no values but decoded ones.

    Parameters
    ----------
    estimator : TwoWayEstimator, TableMap or Pipeline
        A fitted model, or a fitted pipeline that `twofold.from_pipeline` takes, whose decoder has a
        closed form: every estimator, except for UKR in a feature space of a metric other than
        "linear" and "l1", and for user-supplied maps or kernels.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to show, of the training data or others. They are shown at their ``transform``; more
        than 20,000 training rows of `UKR`, for which that would take long, at their ``embedding_``.
    y : array-like of shape (n_samples,), default=None
        Their labels or values, which set the initial colors. The column has the name of the series,
        or "label".
    path : str or path-like
        The file to write, usually with the suffix ``.html``. It is either complete or absent.
    title : str, default=None
        The page's title; None names the estimator.
    feature_names : array-like of str, shape (n_features,), default=None
        Names of the features, or of the columns of a table; None takes those of the fit, or
        numbers.
    row_names : array-like of shape (n_samples,), default=None
        Names of the rows; None takes the index of a data frame, or "row 0", "row 1", ..., the
        numbers of the rows of X.
    columns : mapping of str to array-like of shape (n_samples,), default=None
        Further columns to color by.
    kind : {"auto", "image", "curve", "table"}, default="auto"
        How a row is shown. "auto" tests whether neighboring features correlate. A `TableMap` is
        always shown as a table.
    image_shape : tuple of int, default=None
        Height and width of an image, and 3 for colors.
    max_points : int, default=None
        Maximum number of rows on the page; of more rows a random sample is shown. None is
        1,000,000, with a warning if there are more.
    images : sequence of bytes, str or None, shape (n_samples,), default=None
        An image of each row, shown in its cards: the bytes of a PNG or JPEG file, or a data URI of
        one. The page grows by four thirds of their bytes; equal images are stored once.
    new_rows : bool or "auto", default="auto"
        Whether rows can be pasted into the page, where the browser maps them down. A down-map with
        a closed form is written into the page; with "auto" only up to 100 kB. In place of a larger
        one, and of a projection, the browser takes the nearest of the decoded rows, and improves
        it by a search if the model's map is one.

    Returns
    -------
    Path
        The path of the page.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from twofold import DRUR
    >>> from twofold.export import explorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DRUR(n_centers=15, init="pca", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = explorer.write(model, X, y, path=f"{folder}/iris.html", title="Irises")
    ...     text = page.read_text(encoding="utf-8")
    >>> page.name, "Irises" in text
    ('iris.html', True)
    """
    made = made_page(
        estimator,
        X,
        y,
        title=title,
        feature_names=feature_names,
        row_names=row_names,
        columns=columns,
        kind=kind,
        image_shape=image_shape,
        max_points=max_points,
        images=images,
        new_rows=new_rows,
    )
    with whole_file(path) as unfinished:
        unfinished.write_text(made.text, encoding="utf-8", newline="\n")
    return Path(path)


@dataclass(frozen=True)
class MadePage:
    """A page as text, and what its host needs to talk with it.

    Attributes
    ----------
    text : str
        The page.
    chosen : ndarray of int, shape (n,)
        The row of the caller's table behind each row of the page.
    n_rows : int
        The number of rows of the caller's table.
    rows : Rows
        What the page shows of these rows.
    found : Exported
        The model.
    colors : list of str
        Names of what the page can color by.
    color : str
        The one that sets the initial colors.
    title : str
        The title of the page.
    """

    text: str
    chosen: IntArray
    n_rows: int
    rows: Rows
    found: Exported
    colors: list[str]
    color: str
    title: str


def made_page(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    host: str | None = None,
    title: str | None = None,
    feature_names: Any = None,
    row_names: Any = None,
    columns: Any = None,
    kind: str = "auto",
    image_shape: Any = None,
    max_points: int | None = None,
    images: Any = None,
    new_rows: bool | str = "auto",
) -> MadePage:
    """Return the page of `write` for a host: None for a file, "widget" or "server".

    The page of a server holds neither rows nor the decoder: it asks the server for them.
    """
    found = exported(estimator)
    X = dense_if_few_cells(X)
    data = found.read(X)
    own = isinstance(estimator, TwoWayEstimator)
    warn_of_other_units(estimator if own else found.model, data)
    extra = dict(columns or {})
    check_consistent_length(data, y, row_names, *extra.values())
    most = MOST_POINTS if max_points is None else check_int("max_points", max_points, low=1)
    chosen = some_rows(len(data), most)
    warn_of_less(len(data), len(chosen), is_asked=max_points is not None)
    latents = _latents(found, data, chosen)
    rows = rows_of(found, data[chosen], latents)
    content, packer = _content(found, rows, latents, kind, image_shape, host)
    content["title"] = title or f"{found.name} of {len(data):,} rows"
    content["n_rows"] = len(data)
    content["features"] = _feature_names(rows, feature_names)
    shown_names = _row_names(X, row_names, chosen)
    is_whole = len(chosen) <= MOST_WITH_VALUES
    content["rows"] = shown_names if is_whole else None
    content["many_rows"] = None if is_whole else row_names_of(shown_names, packer)
    content["start"] = rows.start if is_whole else "0"
    shown = ([] if y is None else [(_label_name(y), y)]) + list(extra.items())
    content["images"] = (
        packed_images(images, len(data), chosen) if is_whole and host != "server" else None
    )
    if is_whole and host != "server":  # which maps new rows itself
        content |= new_rows_of(found, rows.complete, latents, new_rows, packer)
    content["columns"] = [
        column(str(name), _some(values, chosen), packer, labels=True) for name, values in shown
    ] + content["columns"]
    # Texts that differ from row to row are for cards; as colors they say nothing.
    own = content["columns"][: len(shown)]
    coloring = [k for k, one in enumerate(own) if len(one.get("names", ())) <= MOST_CLASSES]
    if own and (y is not None or coloring):
        content["start"] = "0" if y is not None else str(coloring[0])
    text = _unicode(page(content["title"], content, packer.texts, host))
    if len(text) > LARGE_PAGE:
        warn_user(
            f"The page has {len(text) / 1e6:.0f} MB: it contains the rows and, for weighted means, "
            "all training rows. DRUR, and TwoWay with up='rbf', make small pages; "
            "max_points=10_000 shows fewer rows.",
            UserWarning,
        )
    features = content["features"] or [f"feature {number}" for number in range(_width(rows))]
    names = [one["name"] for one in content["columns"]]
    place = content["start"].split()
    color = names[int(place[0])] if len(place) == 1 else features[int(place[1])]
    colors = [_unicode(name) for name in names + features]
    title = _unicode(content["title"])
    return MadePage(text, chosen, len(data), rows, found, colors, _unicode(color), title)


def _unicode(text: str) -> str:
    """Return text that can be sent: half of a surrogate pair is escaped, as JSON does it."""
    return text.encode("utf-8", errors="backslashreplace").decode()


def _width(rows: Rows) -> int:
    return int(rows.values.shape[1])


def _content(
    found: Exported, rows: Rows, latents: Array, kind: str, image_shape: Any, host: str | None
) -> tuple[dict[str, Any], Packer]:
    """Return the content that does not depend on names and labels, and its arrays."""
    on_server = host == "server"
    packer = Packer()
    model = found.model
    is_whole = len(latents) <= MOST_WITH_VALUES
    content = {
        "model": {
            "name": found.name,
            "n_training": len(model.embedding_),
            "n_components": model.embedding_.shape[1],
            "n_features": rows.values.shape[1],
        },
        "appearance": _appearance(rows, kind, image_shape),
        "program": None if on_server else program(closed_form(found, "up"), latents, packer),
        "latents": packer.pack(latents) if is_whole else places(latents, packer),
        "fields": rows.fields,
        **_values(rows, packer, is_whole=is_whole, on_server=on_server),
        "landscape": landscape(model, latents, packer),
        "columns": [column("reconstruction error", rows.errors, packer)],
    }
    if is_whole:
        log_density = model.log_density(latents)
        content["columns"].append(column("log density", log_density, packer))
    return content, packer


def _values(rows: Rows, packer: Packer, *, is_whole: bool, on_server: bool) -> dict[str, Any]:
    """Return the values of the rows; a server sends them, and pages of many rows have none."""
    if on_server:
        return {}
    return rows.packed(packer) if is_whole else {"data": None}


def _appearance(rows: Rows, kind: str, image_shape: Any) -> dict[str, Any]:
    if rows.fields is not None:
        if kind not in ("auto", "table") or image_shape is not None:
            raise ValueError(
                f"kind={kind!r}, image_shape={image_shape!r}: a TableMap is shown as a table. Use "
                "kind='auto' without image_shape."
            )
        return {"kind": "table"}
    low, high = float(rows.values.min()), float(rows.values.max())
    return appearance(rows.complete, kind, image_shape) | {"low": low, "high": high}


def _latents(found: Exported, data: Array, chosen: IntArray) -> Array:
    """Return the latents of the rows to show.

    The decoder of `UKR` holds its training rows, which have latents already: to project many of
    them again would take longer than all the rest.
    """
    model = found.model
    many = len(chosen) > MOST_PROJECTED
    if many and isinstance(model, UKR) and isinstance(model.decoder_, NadarayaWatson):
        held, units = model.decoder_.targets_, model._data_units
        if len(data) == len(held) == len(model.embedding_):
            least = SAME_VALUE * float(np.abs(held).max())
            blocks = row_blocks(len(data), 3 * data.itemsize * data.shape[1])
            if all(np.abs(held[rows] - units.into(data[rows])).max() <= least for rows in blocks):
                return np.asarray(model.embedding_[chosen])
    return found.latents(data[chosen])


def _feature_names(rows: Rows, names: Any) -> list[str] | None:
    names = rows.names if names is None else names
    if names is None:
        return None
    n_features = rows.values.shape[1]
    if len(names) != n_features:
        raise ValueError(
            f"feature_names has {len(names)} names; the model has {n_features} features."
        )
    return [str(name) for name in names]


def _row_names(X: Any, names: Any, chosen: IntArray) -> list[str] | None:
    """Return names of the rows on the page, or None for "row 0", "row 1", ..."""
    if names is None:
        index = getattr(X, "index", None)
        if index is not None and not callable(index) and type(index).__name__ != "RangeIndex":
            names = index
    if names is None and len(chosen) == len(X):
        return None
    if names is None:
        return [f"row {number}" for number in chosen]
    return [str(name) for name in _some(names, chosen)]


def _label_name(y: Any) -> str:
    """Return the name of a labeled series, or "label"."""
    name = getattr(y, "name", None)
    return "label" if name is None or callable(name) or str(name) == "" else str(name)


def _some(values: Any, chosen: IntArray) -> Any:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":  # or gaps would become the text "nan"
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(
            f"labels and columns need one value per row, got an array of shape {array.shape}."
        )
    return array[chosen]
