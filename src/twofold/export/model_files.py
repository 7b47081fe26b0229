"""Model files: a fitted estimator in one file that holds data and no code.

A model is a graph of objects: estimators, maps, kernels, units (`twofold.export.object_graph`). The file is a zip archive whose entries are stored
as they are:

* ``model.json``: the format's number, versions, parameters and feature names for people to read, and the objects;
* ``0.npy``, ``1.npy``, ...: their arrays, in NumPy's own format;
* ``sha256``: the digest of ``model.json``, which has those of all arrays.

**Reading runs nothing from the file.** Arrays are read with ``allow_pickle=False``; classes come from a list and are made without
calling them; sizes are checked before anything is allocated; digests are compared. What does not fit is a `ModelFileError`.

**Later versions read earlier files.** The format's number rises when a reader has to know something new.

**Parameters that are no data** (an estimator of another library that made the embedding, a function) are not stored. The model works without
them; they come back as an `Unsaved` that prints what they were.

Files are written under another name in the same folder and then renamed: a file is there whole, or not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Final

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from twofold.export.object_graph import ESTIMATORS, Decoder, Encoder, ModelFileError, Unsaved
from twofold.numerics.files import whole_file
from twofold.protocols import AnyArray

__all__ = [
    "ModelFileError",
    "Unsaved",
    "describe",
    "load",
    "load_objects",
    "save",
    "save_objects",
]

FORMAT: Final = 1
MARK: Final = "twofold model"
MOST_JSON: Final = 256 * 2**20
EPOCH: Final = (1980, 1, 1, 0, 0, 0)
PACKAGES: Final = ("twofold", "numpy", "scipy", "scikit-learn")


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    estimator : TwoWayEstimator
        A fitted model of one of the library's own classes.
    path : str or path-like
        Where to; a file that is there is replaced. The usual ending is ``.twofold``.

    Raises
    ------
    ModelFileError
        If the model needs code to work, such as a metric that is a function.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import twofold
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(60, random_state=0)
    >>> model = twofold.TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     twofold.save(model, Path(folder, "curve.twofold"))
    ...     again = twofold.load(Path(folder, "curve.twofold"))
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    if type(estimator).__name__ not in ESTIMATORS:
        raise TypeError(
            f"a model file holds one of {', '.join(sorted(ESTIMATORS))}, not a {type(estimator).__name__}; save the "
            "fitted model itself, not a pipeline or search around it."
        )
    check_is_fitted(estimator)
    encoder = Encoder()
    parameters = estimator.get_params(deep=False)
    encoder.add(estimator, loose=frozenset(parameters))
    names = getattr(estimator, "feature_names_in_", None)
    facts = {
        "class": type(estimator).__name__,
        "parameters": {name: repr(value)[:200] for name, value in parameters.items()},
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": int(estimator.n_features_in_),
        "n_components": int(estimator.embedding_.shape[1]),
    }
    _write_file(path, MARK, facts, encoder)


def save_objects(thing: Any, path: str | os.PathLike[str], mark: str) -> None:
    """Write any object of a listed class to a file of the same make, under another mark.

    Parameters
    ----------
    thing : object
        Of a class that model files know.
    path : str or path-like
        Where to; a file that is there is replaced as a whole, or not at all.
    mark : str
        What kind of file it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from twofold.principal_manifold.domains import Domain
    >>> from twofold.export.model_files import load_objects, save_objects
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "domain.file")
    ...     save_objects(Domain((True, False)), path, mark="example")
    ...     again = load_objects(path, mark="example")
    >>> again
    Domain(wrapped=(True, False))
    """
    encoder = Encoder()
    encoder.add(thing)
    _write_file(path, mark, {"class": type(thing).__name__}, encoder)


def load_objects(path: str | os.PathLike[str], mark: str) -> Any:
    """Read what `save_objects` wrote; nothing in the file is run.

    Parameters
    ----------
    path : str or path-like
        The file.
    mark : str
        The mark it was written under.

    Returns
    -------
    object

    Raises
    ------
    ModelFileError
        If the file has another mark, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from twofold.principal_manifold.domains import Points
    >>> from twofold.export.model_files import ModelFileError, load_objects, save_objects
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "points.file")
    ...     save_objects(Points(3), path, mark="example")
    ...     print(load_objects(path, mark="example"))
    ...     try:
    ...         load_objects(path, mark="another")
    ...     except ModelFileError:
    ...         print("refused")
    Points(n_points=3)
    refused
    """
    with _opened(path) as archive:
        document = _document(archive, mark)
        return Decoder(document.get("objects"), _arrays(archive, document)).get()


def _write_file(
    path: str | os.PathLike[str], mark: str, facts: dict[str, Any], encoder: Encoder
) -> None:
    payloads = [_as_npy(array) for array in encoder.arrays]
    document = {
        "mark": mark,
        "format": FORMAT,
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
        **facts,
        "objects": encoder.nodes,
        "arrays": [{"sha256": _digest(payload), "bytes": len(payload)} for payload in payloads],
    }
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1).encode()
    with whole_file(path) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        _write(archive, "model.json", text)
        _write(archive, "sha256", _digest(text).encode())
        for number, payload in enumerate(payloads):
            _write(archive, f"{number}.npy", payload)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file; nothing in the file is run.

    Parameters
    ----------
    path : str or path-like
        A file that `save` wrote.

    Returns
    -------
    TwoWayEstimator
        The fitted model; its maps give the same bits as those of the model that was saved.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or was written in a format newer than this version of twofold reads.

    Examples
    --------
    The file need not come from somebody you trust: what is not a model is refused, and nothing in it is run.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import twofold
    >>> from twofold.datasets import make_s_curve
    >>> X, _ = make_s_curve(60, random_state=0)
    >>> model = twofold.TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "curve.twofold"))
    ...     again = twofold.load(Path(folder, "curve.twofold"))
    >>> again
    TwoWay(down='nw', embedding='pca', random_state=0, up='nw')
    """
    with _opened(path) as archive:
        document = _document(archive)
        arrays = _arrays(archive, document)
        model = Decoder(document.get("objects"), arrays).get()
    if type(model).__name__ not in ESTIMATORS:
        raise ModelFileError(f"{path}: it holds a {type(model).__name__}, not an estimator.")
    try:
        check_is_fitted(model)
    except (NotFittedError, AttributeError) as error:
        raise ModelFileError(f"{path}: the model in it is not fitted ({error}).") from None
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file says of its model: class, parameters, features, versions; arrays are not read.

    Parameters
    ----------
    path : str or path-like
        A file that `save` wrote.

    Returns
    -------
    dict

    Raises
    ------
    ModelFileError
        If the file is no model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from twofold import TwoWay
    >>> from twofold.datasets import make_s_curve
    >>> from twofold.export.model_files import describe
    >>> X, _ = make_s_curve(60, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "curve.twofold")
    ...     TwoWay("pca", up="nw", down="nw", random_state=0).fit(X).save(path)
    ...     facts = describe(path)
    >>> sorted(facts)
    ['class', 'feature_names', 'format', 'mark', 'n_components', 'n_features', 'parameters', 'versions']
    >>> facts["class"], facts["parameters"]["embedding"]
    ('TwoWay', "'pca'")
    """
    with _opened(path) as archive:
        document = _document(archive)
    return {key: value for key, value in document.items() if key not in ("objects", "arrays")}


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
    """Open a file; what is wrong with it, found then or while it is read, is told with its name."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise ModelFileError(
            f"{path}: not a model file of twofold, or cut short ({error})."
        ) from None
    with archive:
        try:
            yield archive
        # NotImplementedError: entries that are encrypted, or of a kind that this Python does not read.
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RecursionError) as error:
            raise ModelFileError(f"{path}: the file is damaged ({error}).") from None
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}.") from None


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)  # no time of writing: the same model is the same file
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise ModelFileError(f"{name} is missing") from None
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > most:
        raise ModelFileError(
            f"{name} is compressed or has {entry.file_size} bytes, at most {most} are expected"
        )
    return archive.read(entry)


def _document(archive: zipfile.ZipFile, mark: str = MARK) -> dict[str, Any]:
    """Return the checked contents of ``model.json``."""
    text = _read(archive, "model.json", MOST_JSON)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ModelFileError(f"model.json cannot be read ({error})") from None
    if not isinstance(document, dict) or document.get("mark") != mark:
        raise ModelFileError(f"model.json is not that of a {mark}")
    number = document.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ModelFileError(f"format={number!r} is no number of a format")
    if number > FORMAT:
        writer = (document.get("versions") or {}).get("twofold", "a later version")
        raise ModelFileError(
            f"format {number} was written by twofold {writer}; this version reads up to format {FORMAT}: upgrade twofold"
        )
    if _read(archive, "sha256", 64) != _digest(text).encode():
        raise ModelFileError("the digest of model.json does not fit: the file is damaged")
    return document


def _arrays(archive: zipfile.ZipFile, document: dict[str, Any]) -> list[AnyArray]:
    listed = document.get("arrays")
    if not isinstance(listed, list):
        raise ModelFileError("the list of arrays is missing")
    arrays = []
    for number, entry in enumerate(listed):
        if not isinstance(entry, dict) or not isinstance(entry.get("bytes"), int):
            raise ModelFileError(f"array {number} is not described")
        payload = _read(archive, f"{number}.npy", entry["bytes"])
        if _digest(payload) != entry.get("sha256"):
            raise ModelFileError(f"the digest of array {number} does not fit: the file is damaged")
        try:
            arrays.append(_from_npy(payload))
        except (ValueError, EOFError, OverflowError) as error:
            raise ModelFileError(f"array {number} cannot be read ({error})") from None
    return arrays


def _as_npy(array: AnyArray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _from_npy(payload: bytes) -> AnyArray:
    """Return the array, after a look at whether it is as large as it says: memory is allocated by what it says."""
    buffer = io.BytesIO(payload)
    first = np.lib.format.read_magic(buffer)
    headers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if first not in headers:
        raise ValueError(f"its version is {first}")
    shape, _, dtype = headers[first](buffer)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(payload) - buffer.tell():
        raise ValueError("its size is not the one it says")
    buffer.seek(0)
    array: AnyArray = np.lib.format.read_array(buffer, allow_pickle=False)
    return array


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
