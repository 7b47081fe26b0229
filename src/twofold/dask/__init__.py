"""Two-way estimators for data beyond one machine's memory, on Dask clusters.

Each class shares its mathematics with the local estimator of the same name, and gives it back by ``to_local()``. Data are Dask arrays and
dataframes, zarr arrays, parquet and NumPy files; chunks are taken as they are.
"""

from twofold.dask._drur import DRUR
from twofold.dask._errors import DistributedFitError
from twofold.dask._principal_manifold import PrincipalManifold
from twofold.dask._ukr import UKR

__all__ = ["DRUR", "UKR", "DistributedFitError", "PrincipalManifold"]
