"""Tables on a cluster or on disk as blocks of rows, each read by a task.

Nothing is read here, and no chunks are changed: a block is a chunk of a Dask or zarr array, or a
partition of a frame. Arrays without chunks (NumPy files) are cut into blocks of about 16 MB.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from twofold.numerics.tree_sums import LEAF_ROWS
from twofold.protocols import AnyArray, Array

FILE_BLOCK_BYTES = 16 * 2**20
"""Much more than the cost of a task, and small enough that workers end at about the same time."""


def is_frame(X: Any) -> bool:
    """Return whether a Dask collection is a frame, without importing Dask."""
    return hasattr(type(X), "map_partitions")


def as_collection(X: Any) -> Any:
    """Return a Dask array or frame for a zarr array, a NumPy memmap or a path.

    Paths end in ``.zarr``, ``.npy`` or ``.parquet`` (a file or a folder); all workers read them.
    """
    # An attribute of the class: a delayed object has every attribute.
    if hasattr(X, "__dask_graph__") and (hasattr(type(X), "chunks") or is_frame(X)):
        return X
    if type(X).__module__.split(".")[0] == "zarr" and hasattr(X, "chunks"):
        import dask.array as da

        return da.from_zarr(X)
    if isinstance(X, np.memmap) and X.filename is not None:
        return _from_memmap(X)
    if isinstance(X, str) and "://" in X:
        raise ValueError(
            f"X={X!r} is an address. Open it first: dask.array.from_zarr(X), "
            "dask.dataframe.read_parquet(X)."
        )
    if isinstance(X, str | os.PathLike):
        return _from_path(Path(X))
    raise TypeError(
        f"X of type {type(X).__name__} is not distributed: pass a Dask array or dataframe, a zarr "
        "array, a NumPy memmap, or the path of a .zarr, .npy or .parquet. For rows in memory use "
        "the estimator's own fit."
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
    """Return a Dask array whose blocks open the file: a pickled memmap would carry all rows."""
    import dask.array as da
    from dask import delayed

    if mapped.ndim != 2:
        raise ValueError(f"Expected 2D array, got shape {mapped.shape}.")
    if not mapped.flags.c_contiguous:
        raise ValueError(
            "X is a memmap whose rows do not follow each other (Fortran order, or a view of some "
            "columns or every other row): write it in rows (C order)."
        )
    n_rows, n_columns = mapped.shape
    per_row = max(1, mapped.dtype.itemsize * n_columns)
    # Blocks of whole leaves, so that no border cuts a leaf.
    size = max(1, FILE_BLOCK_BYTES // (per_row * LEAF_ROWS)) * LEAF_ROWS
    path = str(Path(mapped.filename).resolve())
    # The position of the first row in the file, also for a view of a memmap.
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
    """Return rows of a file without a copy, which would cost as much as a sum over them."""
    return np.asarray(np.memmap(path, dtype, "r", offset, shape))


def as_numbers(block: Any) -> Array:
    """Return a block as an aligned, contiguous array of float64 (see `_tasks`)."""
    if hasattr(block, "toarray"):
        raise TypeError("X has sparse blocks, which are not supported: pass dense arrays.")
    if isinstance(block, np.ma.MaskedArray):
        block = np.ma.filled(block.astype(np.float64), np.nan)
    if hasattr(block, "to_numpy"):  # a frame of numbers; nullable columns may miss some
        values = block.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.require(values, requirements=["C", "A"])
    values = np.asarray(block)
    if values.dtype.kind in "USMmc":
        raise ValueError(f"X has type {values.dtype}: could not convert to numbers.")
    return np.require(values, np.float64, ["C", "A"])


def single_or_double(dtypes: Iterable[Any]) -> np.dtype[Any]:
    """Return the type of results: float32 if all data are float32, else float64."""
    return np.dtype(np.float32 if all(one == np.float32 for one in dtypes) else np.float64)


def check_whole_rows(X: Any) -> None:
    """Raise an error if the chunks of a Dask array cut its rows."""
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X has {X.numblocks[1]} chunks along its columns, but a block needs whole rows. Pass "
            "X.rechunk({1: -1}), or dask.array.from_zarr(X).rechunk({1: -1}) for zarr."
        )


@dataclass(frozen=True)
class Blocks:
    """A table in blocks of rows.

    Attributes
    ----------
    tasks : list of Delayed
        Each gives a block.
    sizes : list of int or None
        Rows of each block, if known.
    n_columns : int
        Number of columns.
    names : ndarray of shape (n_columns,) or None
        Their names.
    dtype : dtype
        Type of results: float32 for float32, else float64.
    """

    tasks: list[Any]
    sizes: list[int] | None
    n_columns: int
    names: AnyArray | None
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Any) -> Blocks:
        """Take the blocks of a table."""
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
                "X has chunks of unknown size, so its rows cannot be counted. Call "
                "X.compute_chunk_sizes() first. If X came from a dataframe, pass the dataframe "
                "itself, or frame.to_dask_array(lengths=True)."
            )
        check_whole_rows(X)
        tasks = [task for (task,) in X.to_delayed().tolist()]
        sizes = [int(size) for size in X.chunks[0]]
        return cls(tasks, sizes, int(X.shape[1]), None, single_or_double([X.dtype]))

    @classmethod
    def _of_frame(cls, frame: Any) -> Blocks:
        dtypes = getattr(frame, "dtypes", None)
        if not hasattr(frame, "columns") or not hasattr(dtypes, "items"):
            raise ValueError("Expected 2D array: X is a series. Pass a dataframe.")
        for name, dtype in frame.dtypes.items():
            if getattr(dtype, "kind", "O") not in "fiub":
                raise ValueError(
                    f"column {name!r} of X has type {dtype}: could not convert to numbers. "
                    "Drop it, or convert it first."
                )
        names = np.array(frame.columns, dtype=object)
        named = names if all(isinstance(name, str) for name in names) else None
        dtype = single_or_double(frame.dtypes)
        return cls(list(frame.to_delayed()), None, len(names), named, dtype)
