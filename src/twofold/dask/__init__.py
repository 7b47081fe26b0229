"""Fit two-way estimators to data beyond one machine's memory, on Dask clusters.

`fit` takes an ordinary estimator and a Dask array or dataframe, a zarr array, or a parquet or NumPy
file, and returns the estimator fitted, as its own ``fit`` does.
"""

from twofold.dask._errors import DistributedFitError
from twofold.dask._fit import fit
from twofold.dask._ukr import Levels

__all__ = ["DistributedFitError", "Levels", "fit"]
