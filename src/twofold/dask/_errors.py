"""The one error of a distributed fit."""

from __future__ import annotations


class DistributedFitError(RuntimeError):
    """A cluster could not finish a fit.

    Parameters
    ----------
    message : str
        What happened.
    phase : str, default=""
        The phase of the fit that failed.
    block : int or None, default=None
        The block of rows that failed, if it was one.

    Attributes
    ----------
    phase : str
        The phase of the fit that failed.
    block : int or None
        The block of rows that failed, if it was one.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import twofold
    >>> from twofold.dask import DistributedFitError, fit
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> X[25] = np.nan
    >>> try:
    ...     fit(twofold.DRUR(), da.from_array(X, chunks=(10, 3)))
    ... except DistributedFitError as error:
    ...     print(error.phase, error.block)
    first look 2
    """

    def __init__(self, message: str, *, phase: str = "", block: int | None = None) -> None:
        super().__init__(message)
        self.phase = phase
        self.block = block

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (str(self), self.phase, self.block))


def _again(message: str, phase: str, block: int | None) -> DistributedFitError:
    return DistributedFitError(message, phase=phase, block=block)
