"""A two-way map of a data frame: columns of all kinds in, a frame of the same types back."""

from __future__ import annotations

import os
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from twofold.auto.estimator import AutoTwoWay
from twofold.base.aligning import OldMap
from twofold.base.alignment import Alignment
from twofold.base.compressing import Compression
from twofold.base.estimator import TwoWayEstimator
from twofold.base.exploring import ExploreMixin
from twofold.base.summary import SummaryMixin
from twofold.base.update_report import UpdateReport
from twofold.export.model_files import save
from twofold.numerics.row_weights import repeated_rows, take_rows
from twofold.numerics.validation import RandomLike
from twofold.protocols import Array
from twofold.tables.cells import original_level
from twofold.tables.explaining import ExplainTableMixin
from twofold.tables.filling import decoded_deviations, deviations, fill
from twofold.tables.frames import Frame, as_frame, joined
from twofold.tables.geometry import TableGeometryMixin
from twofold.tables.layout import TableLayout, check_rows
from twofold.tables.measuring import measure
from twofold.tables.trust import TableTrustMixin


class TableMap(
    SummaryMixin,
    ExploreMixin,
    ExplainTableMixin,
    TableGeometryMixin,
    TableTrustMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """A two-way map of a data frame with columns of all kinds.

    Columns are encoded in one unit, so that each has about the same weight: numbers robustly,
    skewed ones on a log scale, categories as indicators with the total variance of one number. A
    two-way estimator is fitted to the encoded columns. Decoding returns a frame of the same data
    types: integers, dates and valid categories.

    Parameters
    ----------
    model : TwoWayEstimator or None, default=None
        The estimator for the encoded columns; None means
        ``AutoTwoWay(random_state=random_state, n_jobs=n_jobs, verbose=verbose)``.
    kinds : mapping of str to str or list, default=None
        Kinds of columns, by name, where the data type is not enough: "number", "log" (a number on a
        log scale), "category", "ordered", "boolean", "date" or "drop" (leave the column out). A
        list of levels means an ordered category with the levels in this order.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness of the default model.
    verbose : int, default=0
        Verbosity of the default model.
    n_jobs : int or None, default=None
        Threads of the default model; None means all cores.

    Attributes
    ----------
    model_ : TwoWayEstimator
        The model of the encoded columns.
    layout_ : TableLayout
        The encoding: ``layout_.into(frame)`` and ``layout_.back(encoded)``.
    kinds_ : dict
        The kind of each column of the frame: those of ``kinds``, or "one-hot" (part of a group of
        indicators), "constant" or "empty".
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents of the training data.
    n_features_in_ : int
        Number of columns of the frame.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the fit was given a frame.

    See Also
    --------
    AutoTwoWay : The default model.

    Notes
    -----
    Frames of pandas and polars come back as frames of the same library. Other frames, with Arrow's
    PyCapsule interface or the dataframe interchange protocol, come back as pandas. Arrays of
    numbers come back as arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from twofold import UKR, TableMap
    >>> rng = np.random.default_rng(0)
    >>> size = rng.uniform(1, 3, 100)
    >>> frame = pd.DataFrame({
    ...     "length": size + 0.1 * rng.normal(size=100),
    ...     "legs": np.where(size < 2, 2, 4),
    ...     "species": np.where(size < 2, "bird", "cat"),
    ... })
    >>> table = TableMap(UKR(1, random_state=0)).fit(frame)
    >>> table.kinds_
    {'length': 'number', 'legs': 'number', 'species': 'category'}
    >>> table.transform(frame).shape
    (100, 1)
    >>> table.inverse_transform(table.embedding_).dtypes.equals(frame.dtypes)
    True
    """

    model_: TwoWayEstimator
    layout_: TableLayout
    kinds_: dict[str, str]
    n_features_in_: int

    def __init__(
        self,
        model: TwoWayEstimator | None = None,
        *,
        kinds: Any = None,
        random_state: RandomLike = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.kinds = kinds
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        align_to: Any = None,
        shared: Any = None,
    ) -> Self:
        """Learn the encoding of the columns, latents and both maps.

        An interrupted or failed fit leaves the model unchanged.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,), default=None
            Labels, used by supervised models only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0: a fit to repeated rows. See `TwoWayEstimator.fit`.
        align_to : fitted model, default=None
            Another model, in whose latent space this one is placed. See `TwoWayEstimator.fit`.
        shared : array-like of int, shape (m, 2), or tuple of two arrays, default=None
            Pairs of a row of X and a row of ``align_to.embedding_``. None means that the features
            are shared; pandas frames need at least half of the columns.

        Returns
        -------
        self
        """
        frame = as_frame(X)
        _check_n_rows(frame)
        layout = measure(_repeated(frame, sample_weight), self.kinds)
        encoded = layout.into(X)
        check_rows(encoded)
        old_map = OldMap.of(X, align_to, shared)
        model = self._new_model().fit(encoded, y, sample_weight=sample_weight, align_to=old_map)
        self.__dict__.pop("feature_names_in_", None)
        if frame.library != "numpy":
            self.feature_names_in_ = np.array(frame.names, dtype=object)
        self.n_features_in_ = len(frame.names)
        self.kinds_, self.layout_, self.model_ = layout.kinds, layout, model
        return self

    def update(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Take the rows of another table in: keep the map, and let it grow where they are new.

        Columns are encoded as in the fit. Levels that the fit has not seen are treated as missing
        values, with a warning. See `UKR.update`.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The new rows. Columns are matched by name.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import UKR, TableMap
        >>> frame = pd.DataFrame({"a": range(60), "b": ["low"] * 30 + ["top"] * 30})
        >>> table = TableMap(UKR(1, random_state=0)).fit(frame[::2])
        >>> table.update(frame[1::2]).embedding_.shape, table.update_report_.n_new
        ((60, 1), 30)
        """
        model = copy(self.model_)
        self.model_ = model.update(self._encoded(X))
        return self

    @property
    def update_report_(self) -> UpdateReport:
        """What the last update did: see `twofold.base.UpdateReport`.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import UKR, TableMap
        >>> frame = pd.DataFrame({"a": range(60), "b": ["low"] * 30 + ["top"] * 30})
        >>> table = TableMap(UKR(1, random_state=0)).fit(frame[::2]).update(frame[1::2])
        >>> table.update_report_.n_rows
        60
        """
        return self.model_.update_report_

    def _new_model(self) -> Any:
        if self.model is None:
            return AutoTwoWay(
                random_state=self.random_state, n_jobs=self.n_jobs, verbose=self.verbose
            )
        if not isinstance(self.model, TwoWayEstimator):
            raise TypeError(
                f"model={self.model!r} must be an estimator of twofold such as UKR(), or None."
            )
        return clone(self.model)

    def _encoded(self, X: Any) -> Array:
        check_is_fitted(self)
        encoded = self.layout_.into(X)
        if len(encoded) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        check_rows(encoded)
        return encoded

    @property
    def embedding_(self) -> Array:
        """Latents of the training data, of shape (n_samples, n_components)."""
        return self.model_.embedding_

    @property
    def alignment_(self) -> Alignment:
        """How near shared rows are to their places in the old map, after a fit with ``align_to``.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": [False] * 20 + [True] * 20})
        >>> model = TwoWay("pca", n_components=1, up="nw", down="nw")
        >>> table = TableMap(model).fit(frame[:30])
        >>> later = TableMap(model).fit(frame[10:], align_to=table)
        >>> later.alignment_.median < 0.05
        True
        """
        return self.model_.alignment_

    def transform(self, X: Any, *, return_std: bool = False) -> Any:
        """Encode data: map each row to the latent space.

        Levels that the fit has not seen are treated as missing values, with a warning.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table. Columns are matched by name.
        return_std : bool, default=False
            Whether to return how far positions are determined, too.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Latents.
        Z_std : ndarray of shape (n_samples, n_components)
            Their standard deviations, see `TwoWayEstimator.transform`. Only if ``return_std`` is
            True.
        """
        encoded = self._encoded(X)
        return self.model_.transform(encoded, **({"return_std": True} if return_std else {}))

    def inverse_transform(self, Z: Any, *, return_std: bool = False) -> Any:
        """Decode latents: map each row to a row of the table.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.
        return_std : bool, default=False
            Whether to return the uncertainty of the values, too.

        Returns
        -------
        X : DataFrame or ndarray of shape (n_samples, n_columns)
            With the data types of the fit, without columns that were left out.
        X_std : DataFrame or ndarray of shape (n_samples, n_columns)
            Only if ``return_std``: standard deviations of numbers in their own units and of dates
            in days, and for categories one minus the probability of the level.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": [False] * 20 + [True] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.inverse_transform(table.embedding_[:1]).b.item()
        False
        >>> rows, std = table.inverse_transform(table.embedding_[:3], return_std=True)
        >>> std.columns.tolist(), bool((std.a > 0.0).all())
        (['a', 'b'], True)
        """
        check_is_fitted(self)
        if not return_std:
            return self.layout_.back(np.asarray(self.model_.inverse_transform(Z), dtype=np.float64))
        decoded, spread = self.model_.inverse_transform(Z, return_std=True)
        encoded = np.asarray(decoded, dtype=np.float64)
        found = decoded_deviations(self.layout_, encoded, np.asarray(spread, dtype=np.float64))
        return self.layout_.back(encoded), found

    def inverse_transform_proba(self, Z: Any) -> dict[str, Any]:
        """Decode latents to the probabilities of the levels of each category.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.

        Returns
        -------
        dict of str to DataFrame or ndarray of shape (n_samples, n_levels)
            For each category, boolean, ordered category and one-hot group, by name, the
            probabilities, with a column for each level.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.inverse_transform_proba(table.embedding_[:1])["b"].round(2)
           low  top
        0  1.0  0.0
        """
        check_is_fitted(self)
        encoded = np.asarray(self.model_.inverse_transform(Z), dtype=np.float64)
        return {
            name: joined(
                self.layout_.library,
                {original_level(level): chances[:, k] for k, level in enumerate(levels)},
                len(encoded),
            )
            for name, (levels, chances) in self.layout_.probabilities(encoded).items()
        }

    def reconstruct(self, X: Any) -> Any:
        """Encode and decode: return the point of the manifold for each row.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.

        Returns
        -------
        DataFrame or ndarray of shape (n_samples, n_columns)

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.reconstruct(frame).b.tolist() == frame.b.tolist()
        True
        """
        encoded = self._encoded(X)
        return self.layout_.back(self.model_.reconstruct(encoded), _index(X))

    def reconstruction_error(self, X: Any) -> Array:
        """Return the distance of each row to its reconstruction, in encoded units.

        One unit is the spread of one column.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.reconstruction_error(frame).shape
        (40,)
        """
        encoded = self._encoded(X)
        return self.model_.reconstruction_error(encoded)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of the variance of the encoded columns that reconstruction keeps.

        Missing values do not count; 1 is perfect.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.
        y : ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean squared error, at least 0.

        Returns
        -------
        float

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.score(frame) > 0.9
        True
        """
        encoded = self._encoded(X)
        return self.model_.score(encoded, y, sample_weight=sample_weight)

    def log_density(self, Z: Any, per: str = "latent") -> Array:
        """Return the log density of the training latents at each point of the latent space.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latents.
        per : {"latent", "manifold"}, default="latent"
            Whether the density is per unit of the map or per unit of the manifold, see
            `TwoWayEstimator.log_density`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.log_density(table.embedding_).shape
        (40,)
        """
        check_is_fitted(self)
        return self.model_.log_density(Z, per)

    def sample(self, n_samples: int = 1, *, random_state: RandomLike = None) -> Any:
        """Draw latents from their density and decode them.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        DataFrame or ndarray of shape (n_samples, n_columns)

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> set(table.sample(5, random_state=0).b) <= {"low", "top"}
        True
        """
        check_is_fitted(self)
        return self.layout_.back(self.model_.sample(n_samples, random_state=random_state))

    def impute(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill gaps with the values of the manifold; observed cells stay as they are.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table, with gaps.
        return_std : bool, default=False
            Whether to return the uncertainty of the values as well.

        Returns
        -------
        filled : DataFrame or ndarray of shape (n_samples, n_features)
            The table with the same columns, rows and data types.
        std : DataFrame or ndarray of shape (n_samples, n_columns)
            Only if ``return_std``: standard deviations of numbers in their own units and of dates
            in days, and for categories one minus the probability of the level. 0 for observed
            cells.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> table.impute(pd.DataFrame({"a": [1, 38], "b": ["low", None]})).b.tolist()
        ['low', 'top']
        """
        encoded = self._encoded(X)
        model: Any = self.model_
        if not return_std:
            return fill(self.layout_, as_frame(X), model.impute(encoded))
        values, spread = model.impute(encoded, return_std=True)
        filled = fill(self.layout_, as_frame(X), values)
        return filled, deviations(self.layout_, as_frame(X), values, spread)

    def save(self, path: str | os.PathLike[str], *, precision: str = "exact") -> None:
        """Write the fitted model to a file of plain data; `twofold.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file to write, usually with the suffix ``.twofold``.
        precision : {"exact", "single"}, default="exact"
            "exact" keeps every bit. "single" rounds the training rows in the maps to single
            precision, see `twofold.save`.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, TwoWay
        >>> frame = pd.DataFrame({"a": range(40), "b": ["low"] * 20 + ["top"] * 20})
        >>> table = TableMap(TwoWay("pca", n_components=1, up="nw", down="nw")).fit(frame)
        >>> import os, tempfile
        >>> import twofold
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table.save(os.path.join(folder, "table.twofold"))
        ...     twofold.load(os.path.join(folder, "table.twofold")).kinds_
        {'a': 'number', 'b': 'category'}
        """
        save(self, path, precision=precision)

    def compress(self, n_prototypes: int | str = "auto", *, max_error_ratio: float = 1.05) -> Self:
        """Return a smaller model with prototypes in place of the training rows.

        Errors are those of the encoded columns; see `UKR.compress`.

        Parameters
        ----------
        n_prototypes : int or "auto", default="auto"
            Number of prototypes; "auto" takes the first that keeps ``max_error_ratio``.
        max_error_ratio : float, default=1.05
            How many times the held-out reconstruction error may be that of this model.

        Returns
        -------
        TableMap
            Its ``compression_`` reports the errors and the memory.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, UKR
        >>> frame = pd.DataFrame({"a": range(60), "b": ["low"] * 30 + ["top"] * 30})
        >>> table = TableMap(UKR(1, init="pca", random_state=0)).fit(frame)
        >>> table.compress(20).compression_.n_prototypes
        20
        """
        check_is_fitted(self)
        made = copy(self)
        made.model_ = self.model_.compress(n_prototypes, max_error_ratio=max_error_ratio)
        return made

    @property
    def compression_(self) -> Compression:
        """What `compress` has done; compressed models only.

        Examples
        --------
        >>> import pandas as pd
        >>> from twofold import TableMap, UKR
        >>> frame = pd.DataFrame({"a": range(60), "b": ["low"] * 30 + ["top"] * 30})
        >>> table = TableMap(UKR(1, init="pca", random_state=0)).fit(frame)
        >>> table.compress(20).compression_.n_rows
        60
        """
        inner: Any = self.model_
        found: Compression = inner.compression_
        return found

    @property
    def _n_features_out(self) -> int:
        return self.model_._n_features_out

    @property
    def _unwrapped(self) -> Any:
        return self.model_._unwrapped

    def _known_score(self) -> tuple[float, str] | None:
        return self.model_._known_score()

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has finished."""
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Declare that gaps, text and categories are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _repeated(frame: Frame, sample_weight: Any) -> Frame:
    """Return the rows that determine the encoding: all, or each as often as its weight says."""
    if sample_weight is None:
        return frame
    rows = repeated_rows(sample_weight, frame.n_rows, len(frame.names))
    return frame if rows is None else as_frame(take_rows(frame.table, rows))


def _check_n_rows(frame: Frame) -> None:
    if frame.n_rows < 2:
        raise ValueError(
            f"Found array with {frame.n_rows} sample(s) (shape=({frame.n_rows}, "
            f"{len(frame.names)})) while a minimum of 2 is required."
        )


def _index(X: Any) -> Any:
    frame = as_frame(X)
    return frame.table.index if frame.library == "pandas" else None
