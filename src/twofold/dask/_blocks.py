"""Tables on a cluster or on disk as blocks of rows, each a task that reads it.

Nothing is read here, and nothing is cut anew: a block is a chunk of a Dask or zarr array, or a partition of a frame. Arrays that have no
chunks of their own (NumPy files) are cut into blocks of about 16 MB.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from twofold.numerics.tree_sums import LEAF_ROWS
from twofold.protocols import AnyArray, Array

__all__ = ["Blocks", "as_collection", "as_numbers", "is_collection", "is_frame"]

FILE_BLOCK_BYTES = 16 * 2**20
"""Much more than the cost of a task, and few enough that workers end together."""


def is_collection(X: Any) -> bool:
    """Tell a Dask array or frame, without importing Dask."""
    # Of the class: what is delayed has any attribute one asks for.
    return hasattr(X, "__dask_graph__") and (hasattr(type(X), "chunks") or is_frame(X))


def is_frame(X: Any) -> bool:
    """Tell a Dask frame from an array."""
    return hasattr(type(X), "map_partitions")


def as_collection(X: Any) -> Any:
    """Return a Dask array or frame for all that a distributed estimator takes.

    Parameters
    ----------
    X : Dask array or frame, zarr array, NumPy memmap, or path
        Paths end in ``.zarr``, ``.npy`` or ``.parquet`` (a file or a folder of them), and have to be readable by all workers.
    """
    if is_collection(X):
        return X
    if type(X).__module__.split(".")[0] == "zarr" and hasattr(X, "chunks"):
        import dask.array as da

        return da.from_zarr(X)
    if isinstance(X, np.memmap) and X.filename is not None:
        return _from_memmap(X)
    if isinstance(X, str) and "://" in X:
        raise ValueError(
            f"X={X!r} is an address. Open it first: dask.array.from_zarr(X), dask.dataframe.read_parquet(X)."
        )
    if isinstance(X, str | os.PathLike):
        return _from_path(Path(X))
    raise TypeError(
        f"X of type {type(X).__name__} is not distributed: pass a Dask array or dataframe, a zarr array, a NumPy memmap, or the path "
        "of a .zarr, .npy or .parquet. For rows in memory use the estimator of the same name in twofold."
    )


def _from_path(path: Path) -> Any:
    kind = path.suffix.lower()
    if kind not in (".zarr", ".npy", ".parquet", ".pq"):
        raise ValueError(f"X={str(path)!r} must end in .zarr, .npy or .parquet.")
    if not path.exists():
        raise FileNotFoundError(f"X={str(path)!r} does not exist.")
    if kind == ".zarr":
        import dask.array as da

        return da.from_zarr(str(path))
    if kind == ".npy":
        return _from_memmap(np.load(path, mmap_mode="r"))
    import dask.dataframe as dd

    return dd.read_parquet(path)


def _from_memmap(mapped: Any) -> Any:
    """Return a Dask array whose blocks open the file themselves: a pickled memmap would carry all of its rows."""
    import dask.array as da
    from dask import delayed

    if mapped.ndim != 2:
        raise ValueError(f"Expected 2D array, got shape {mapped.shape}.")
    if not mapped.flags.c_contiguous:
        raise ValueError(
            "X is a memmap whose rows do not follow each other (Fortran order, or a view of some columns or every other row): write "
            "it in rows (C order)."
        )
    n_rows, n_columns = mapped.shape
    per_row = max(1, mapped.dtype.itemsize * n_columns)
    # Blocks of whole leaves, so that no border between them cuts one.
    size = max(1, FILE_BLOCK_BYTES // (per_row * LEAF_ROWS)) * LEAF_ROWS
    path = str(Path(mapped.filename).resolve())
    # Of a view of a memmap too, this is where its first row is.
    offset = mapped.offset + mapped.ctypes.data - _address(mapped)
    read = delayed(_read_file, pure=False)
    parts = []
    for start in range(0, n_rows, size):
        shape = (min(size, n_rows - start), n_columns)
        part = read(path, offset + start * per_row, shape, str(mapped.dtype))
        parts.append(da.from_delayed(part, shape, mapped.dtype))
    return da.concatenate(parts)


def _address(mapped: Any) -> int:
    base = mapped
    while isinstance(base.base, np.memmap):
        base = base.base
    return int(base.ctypes.data)


def _read_file(path: str, offset: int, shape: tuple[int, int], dtype: str) -> AnyArray:
    """Return rows of a file as they lie in the system's cache: a copy would cost as much as a sum over them."""
    return np.asarray(np.memmap(path, dtype, "r", offset, shape))


def as_numbers(block: Any) -> Array:
    """Return a block as an array of float64, rows in the order of memory, each number in its place (see `_shared`)."""
    if hasattr(block, "toarray"):
        raise TypeError("X has sparse blocks, which are not supported: pass dense arrays.")
    if isinstance(block, np.ma.MaskedArray) and block.mask.any():
        raise ValueError("X has masked values, which are missing ones: remove those rows first.")
    if hasattr(
        block, "to_numpy"
    ):  # a frame, whose columns are numbers; nullable ones may lack some
        return np.require(
            block.to_numpy(dtype=np.float64, na_value=np.nan), requirements=["C", "A"]
        )
    values = np.asarray(block)
    if values.dtype.kind in "USMmc":
        raise ValueError(f"X has type {values.dtype}: could not convert to numbers.")
    return np.require(values, np.float64, ["C", "A"])


@dataclass(frozen=True)
class Blocks:
    """A table in blocks of rows.

    Attributes
    ----------
    tasks : list of Delayed
        Each gives a block.
    sizes : list of int or None
        Rows of each, where they are known.
    n_columns : int
        Columns.
    names : ndarray or None
        Their names.
    dtype : dtype
        Type of results: float32 for float32, else float64.
    """

    tasks: list[Any]
    sizes: list[int] | None
    n_columns: int
    names: Any
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Any) -> Blocks:
        """Take a table apart."""
        X = as_collection(X)
        if is_frame(X):
            return cls._of_frame(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got an array of {X.ndim} dimensions. Reshape your data."
            )
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X has type {X.dtype}: could not convert to numbers.")
        if any(isnan(size) for sizes in X.chunks for size in sizes):
            raise ValueError(
                "X has chunks of unknown size, so its rows cannot be counted. Call X.compute_chunk_sizes() first, or, where it came from "
                "a dataframe, X = frame.to_dask_array(lengths=True); or pass the dataframe itself."
            )
        if X.numblocks[1] != 1:
            raise ValueError(
                f"X has {X.numblocks[1]} chunks along its columns; a block needs whole rows. Pass X.rechunk({{1: -1}}); of a zarr array or file, dask.array.from_zarr(X).rechunk({{1: -1}})."
            )
        tasks = [task for (task,) in X.to_delayed().tolist()]
        dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        return cls(tasks, [int(size) for size in X.chunks[0]], int(X.shape[1]), None, dtype)

    @classmethod
    def _of_frame(cls, frame: Any) -> Blocks:
        columns = getattr(frame, "columns", None)
        if columns is None or not hasattr(frame, "dtypes") or not hasattr(frame.dtypes, "items"):
            raise ValueError("Expected 2D array: X is a series. Pass a dataframe.")
        wrong = [
            name
            for name, dtype in frame.dtypes.items()
            if getattr(dtype, "kind", "O") not in "fiub"
        ]
        if wrong:
            raise ValueError(
                f"column {wrong[0]!r} of X has type {frame.dtypes[wrong[0]]}: could not convert to numbers. Drop it, or convert it first."
            )
        names = np.array(columns, dtype=object)
        single = all(dtype == np.float32 for dtype in frame.dtypes)
        named = all(isinstance(name, str) for name in names)
        return cls(
            list(frame.to_delayed()),
            None,
            len(names),
            names if named else None,
            np.dtype(np.float32 if single else np.float64),
        )
