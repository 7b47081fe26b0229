"""Counts on a log scale, and back.

The *library size* ``s_i`` of a row is the sum of its counts. It says how much was counted, not what
is there. Rows become comparable at a common size ``t``, and the logarithm makes ratios of counts
into differences:

    ``y_ij = log(1 + x_ij / s_i * t)``  and back  ``x_ij = max(exp(y_ij) - 1, 0) * s_i / t``.

Zeros stay zeros, so sparse tables stay sparse. Given the size of a row, each cell goes back on its
own; so chosen columns can be decoded alone.

With gaps, only a part of a row is summed. Let ``p_j`` be the share of column ``j`` in the counts of
the fit. The sum over the observed columns ``O`` is divided by the share of these columns,
``s_i = sum_{j in O} x_ij / sum_{j in O} p_j``, which is the plain sum if nothing is missing.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from twofold.counts.cells import Cells
from twofold.numerics.foreign_arrays import as_numpy
from twofold.numerics.validation import check_real, refuse_text, warn_user
from twofold.protocols import AnyArray, Array, IntArray

FLOATS = [np.float64, np.float32]

LARGEST_LOG = 709.0
"""The exponential of larger numbers overflows."""


class LogCounts(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Divide counts by the library size of their row and take logarithms; and back to counts.

    ``transform`` returns ``log1p(x / library_size * target_sum)``, where the library size is the
    sum of the row. ``inverse_transform`` returns counts again, of rows with a typical or a given
    library size. Sparse tables stay sparse.

    Parameters
    ----------
    target_sum : float or None, default=None
        The common library size. None means the median of the library sizes of the fit.

    Attributes
    ----------
    target_sum_ : float
        The common library size.
    library_size_ : float
        The median of the library sizes of the fit, without rows of zeros.
    shares_ : ndarray of shape (n_features,)
        The share of each column in the counts of the fit.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    twofold.anndata.fit : Maps of annotated tables of counts.
    twofold.TableMap : Chooses a log scale for each column of a data frame.

    Notes
    -----
    Rows without counts stay zeros, with a warning. Gaps (NaN) stay gaps; the library size of such a
    row is its sum over the observed columns, divided by their share in the counts of the fit.
    Numbers of at least 0 that are not whole are taken as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from twofold import UKR
    >>> from twofold.counts import LogCounts
    >>> from twofold.datasets import make_branching_counts
    >>> X, _ = make_branching_counts(100, random_state=0)
    >>> pipeline = make_pipeline(LogCounts(), UKR(random_state=0)).fit(X)
    >>> pipeline.inverse_transform(pipeline.transform(X)).shape == X.shape
    True

    With the library sizes of the rows, nothing is lost:

    >>> log_counts = LogCounts().fit(X)
    >>> sizes = log_counts.library_size(X)
    >>> bool(np.allclose(log_counts.inverse_transform(log_counts.transform(X), sizes), X))
    True
    """

    target_sum_: float
    library_size_: float
    shares_: Array
    n_features_in_: int

    def __init__(self, target_sum: float | None = None) -> None:
        self.target_sum = target_sum

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Learn the typical library size and the shares of the columns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts: numbers of at least 0, or NaN for gaps.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self

        Examples
        --------
        >>> from twofold.counts import LogCounts
        >>> LogCounts().fit([[1, 3], [2, 6], [0, 5]]).target_sum_
        5.0
        """
        target = self.target_sum
        if target is not None:
            target = check_real("target_sum", target, also="None")
        cells = Cells.of(self._checked(X, reset=True))
        shares = cells.column_shares()
        sizes = cells.row_sums(shares)
        counted = sizes[sizes > 0.0]
        typical = float(np.median(counted)) if len(counted) else 1.0
        if not len(counted):
            warn_user(
                "All counts of X are 0: there is no library size to learn, 1 is used. They stay "
                "zeros.",
                UserWarning,
            )
        self.shares_ = shares
        self.library_size_ = typical
        self.target_sum_ = typical if target is None else target
        return self

    def library_size(self, X: Any, features: Any = None) -> Array:
        """Return the library size of each row: the sum of its counts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts, with NaN for gaps.
        features : list of int or str, default=None
            The columns of the fit that X has, by number or name; all others are gaps. None means
            all.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from twofold.counts import LogCounts
        >>> log_counts = LogCounts().fit([[1, 3], [2, 6]])
        >>> log_counts.library_size([[2, 8], [3, float("nan")]])
        array([10., 12.])
        >>> log_counts.library_size([[2], [3]], features=[0])
        array([ 8., 12.])
        """
        check_is_fitted(self)
        if features is None:
            return Cells.of(self._checked(X, reset=False)).row_sums(self.shares_)
        cells = Cells.of(_array(X, "X"))
        cells.check()
        shares = self.shares_[self._columns(cells.table.shape[1], features)]
        whole = len(shares) == self.n_features_in_
        return cells.row_sums(shares, 1.0 if whole else float(shares.sum()))

    def transform(self, X: Any) -> Any:
        """Return counts on a log scale, at a common library size.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts: numbers of at least 0, or NaN for gaps.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Sparse for sparse tables, of the same format.

        Examples
        --------
        >>> from twofold.counts import LogCounts
        >>> LogCounts(target_sum=100).fit_transform([[1, 3], [2, 6]]).round(2)
        array([[3.26, 4.33],
               [3.26, 4.33]])
        """
        check_is_fitted(self)
        counts = self._checked(X, reset=False)
        sizes = Cells.of(counts).row_sums(self.shares_)
        warn_of_empty_rows(sizes, "X")
        return self.at_library_size(counts, sizes)

    def at_library_size(self, X: Any, library_size: Any) -> Any:
        """Return counts on a log scale, of rows whose library sizes are known.

        The columns may be any part of those of the fit: the size is that of the whole row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_columns)
            Counts of some or all columns.
        library_size : array-like of shape (n_samples,)
            Library sizes of the rows.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_columns)

        Examples
        --------
        >>> from twofold.counts import LogCounts
        >>> log_counts = LogCounts().fit([[1, 3], [2, 6]])
        >>> log_counts.at_library_size([[3], [6]], library_size=[4, 8]).round(2)
        array([[1.7],
               [1.7]])
        """
        check_is_fitted(self)
        counts = _array(X, "X")
        Cells.of(counts).check()
        sizes = _sizes(library_size, counts.shape[0])
        divisors = np.where(sizes > 0.0, sizes, 1.0)
        target = self.target_sum_

        def scaled(values: Array, of_row: Array) -> Array:
            with np.errstate(over="ignore"):
                return np.log1p(np.minimum(values / of_row * target, np.finfo(np.float64).max))

        return Cells.of(counts).mapped(scaled, divisors)

    def inverse_transform(self, X: Any, library_size: Any = None, features: Any = None) -> Any:
        """Return counts again.

        Negative numbers become 0. Counts are expectations: they are not rounded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts on a log scale; with ``features``, the chosen columns.
        library_size : float or array-like of shape (n_samples,), default=None
            Library sizes of the rows to return. None means ``library_size_``, the median of the
            fit.
        features : list of int or str, default=None
            The columns of the fit that X has, by number or name; None means all.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)

        Examples
        --------
        >>> from twofold.counts import LogCounts
        >>> log_counts = LogCounts().fit([[1, 3], [2, 6]])
        >>> Y = log_counts.transform([[1, 3]])
        >>> log_counts.inverse_transform(Y, library_size=[40]).round(6)
        array([[10., 30.]])
        >>> log_counts.inverse_transform(Y[:, [1]], library_size=[40], features=[1]).round(6)
        array([[30.]])
        """
        check_is_fitted(self)
        logs = _array(X, "X")
        self._columns(logs.shape[1], features)
        given = self.library_size_ if library_size is None else library_size
        sizes = _sizes(given, logs.shape[0])
        limit = np.finfo(logs.dtype).max
        with np.errstate(over="ignore"):
            ratios = np.minimum(sizes / self.target_sum_, np.finfo(np.float64).max)

        def back(values: Array, of_row: Array) -> Array:
            with np.errstate(over="ignore"):
                return np.minimum(np.expm1(np.clip(values, 0.0, LARGEST_LOG)) * of_row, limit)

        return Cells.of(logs).mapped(back, ratios)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return counts as a checked array or sparse matrix of floats."""
        X = as_numpy(X, "X")
        refuse_text(X, "X")
        counts = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            accept_large_sparse=True,
            dtype=FLOATS,
            ensure_all_finite=False,
        )
        Cells.of(counts).check()
        return counts

    def _columns(self, n_columns: int, features: Any) -> IntArray:
        """Return the numbers of the named columns; raise an error unless there are as many."""
        everything = np.arange(self.n_features_in_)
        if features is None:
            wanted, stated = everything, f"LogCounts was fitted with {len(everything)}"
        else:
            given = [features] if isinstance(features, str | int) else list(features)
            places = {name: k for k, name in enumerate(getattr(self, "feature_names_in_", ()))}
            places |= {k: k for k in everything.tolist()}
            unknown = [name for name in given if name not in places]
            if unknown:
                raise ValueError(f"features: {unknown[0]!r} is not a column of the fit.")
            wanted = np.array([places[name] for name in given], dtype=np.intp)
            stated = f"features names {len(given)}"
        if n_columns != len(wanted):
            raise ValueError(
                f"X has {n_columns} features, but {stated}. Name the columns of X in features."
            )
        return wanted

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has finished."""
        return hasattr(self, "target_sum_")

    def __sklearn_tags__(self) -> Any:
        """Declare that X is at least 0, may be sparse and have gaps, and that float32 is kept."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def warn_of_empty_rows(sizes: Array, name: str) -> None:
    """Warn if rows have no counts."""
    empty = np.flatnonzero(sizes == 0.0)
    if len(empty):
        warn_user(
            f"Row {empty[0]} of {name} has no counts, {len(empty)} such rows in all. They stay "
            "zeros: nothing shows what is in them. Consider removing them.",
            UserWarning,
        )


def _array(X: Any, name: str) -> Any:
    """Return a table as array or sparse matrix of floats, with gaps but without infinities."""
    X = as_numpy(X, name)
    refuse_text(X, name)
    checked = check_array(
        X,
        accept_sparse=("csr", "csc"),
        accept_large_sparse=True,
        dtype=FLOATS,
        ensure_all_finite=False,
        input_name=name,
    )
    Cells.of(checked).check_bounded()
    return checked


def _sizes(library_size: Any, n_rows: int) -> AnyArray:
    """Return a library size for each row."""
    sizes = np.asarray(getattr(library_size, "to_numpy", lambda: library_size)())
    if sizes.dtype.kind not in "iuf" or sizes.ndim > 1:
        raise ValueError(
            f"library_size={library_size!r} must be a number, or one number for each of the "
            f"{n_rows} rows."
        )
    sizes = sizes.astype(np.float64)
    if sizes.ndim == 1 and len(sizes) != n_rows:
        raise ValueError(
            f"library_size has {len(sizes)} entries, but there are {n_rows} rows. Pass one number, "
            "or one for each row."
        )
    if not (np.isfinite(sizes).all() and (sizes >= 0.0).all()):
        raise ValueError("library_size must be finite and at least 0, in every row.")
    return np.broadcast_to(sizes, (n_rows,))
