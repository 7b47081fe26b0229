"""Model files: a fitted estimator in one file that holds data and no code.

A model is a graph of objects: estimators, maps, kernels, units (`twofold.export.object_graph`). The
file is a zip archive:

* ``model.json``: the format's number, versions, parameters and feature names for people to read,
  and the objects;
* ``0.npy``, ``1.npy``, ...: their arrays without loss, most of them deflated, in the forms of
  `twofold.export.array_forms`;
* ``sha256``: the digest of ``model.json``, which lists the digests of all arrays.

**Reading runs nothing from the file.** Arrays are read with ``allow_pickle=False``; classes come
from a list and are made without calling them; sizes are checked before memory is allocated, and
what a file unpacks to is bounded by a multiple of its size; digests are compared. They tell damage,
not intent: anyone can compute them. So every object is checked against the table of its class
(`twofold.export.contents`), and what it computes from its attributes is not stored. Anything else
raises a `ModelFileError`.

**Later versions read earlier files.** The format's number rises when a reader has to know
something new: a reader of format 1 does not know the classes of format 2, and says so.
`twofold.export.upgrades` makes today's objects from those of older formats.

**Parameters that are not data** (an estimator of another library, a function) are not stored. The
model works without them; they load as an `Unsaved` that prints what they were.

Files are written under another name in the same folder and then renamed, so a file is complete or
absent.
"""

from __future__ import annotations

import io
import json
import os
import platform
import zipfile
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final, TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from twofold._version import __version__
from twofold.export.archives import opened, read, write
from twofold.export.array_forms import N_PARTS, Allowance, Packed, Unpacking, digest
from twofold.export.decoder import Decoder
from twofold.export.documents import parsed
from twofold.export.encoder import Encoder
from twofold.export.errors import ModelFileError
from twofold.export.object_graph import ESTIMATORS, names_of_arrays
from twofold.export.roles import Roles
from twofold.export.upgrades import PLAIN_FORMATS, UPGRADES
from twofold.numerics.files import whole_file
from twofold.numerics.validation import check_choice
from twofold.pipelines import model_of
from twofold.protocols import AnyArray

FORMAT: Final = max(UPGRADES)
MARK: Final = "twofold model"
Thing = TypeVar("Thing")
MOST_JSON: Final = 256 * 2**20
PACKAGES: Final = ("numpy", "scipy", "scikit-learn")


def save(
    estimator: BaseEstimator, path: str | os.PathLike[str], *, precision: str = "exact"
) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    estimator : TwoWayEstimator, KPlanes or Pipeline
        A fitted model of one of the library's own classes, or a fitted pipeline that
        `twofold.from_pipeline` takes. That of a pipeline is stored as one model, in the units of
        the data before all steps.
    path : str or path-like
        The file to write, usually with the ending ``.twofold``; an existing file is replaced.
    precision : {"exact", "single"}, default="exact"
        "exact" keeps every bit: the loaded model returns the same bits. "single" rounds the
        training rows that Nadaraya-Watson maps and projections keep to single precision, which
        halves files of measured values. Decoded values then differ by at most 6e-8 of the largest
        centered value, and encoded ones accordingly. Tables of whole numbers or few distinct values
        are small without it.

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
    save_with_roles(estimator, path, None, precision=precision)


def save_with_roles(
    estimator: BaseEstimator,
    path: str | os.PathLike[str],
    roles: Roles | None,
    *,
    precision: str = "exact",
) -> None:
    """Write a fitted model to a file, with the roles of the columns beside its features."""
    estimator = model_of(estimator)
    if type(estimator).__name__ not in ESTIMATORS:
        raise TypeError(
            f"a model file holds one of {', '.join(sorted(ESTIMATORS))}, not a "
            f"{type(estimator).__name__}; save the fitted model itself, or a pipeline that ends in "
            "it, not a search around it."
        )
    check_is_fitted(estimator)
    check_choice("precision", precision, ("exact", "single"))
    encoder = Encoder(single=precision == "single")
    parameters = estimator.get_params(deep=False)
    encoder.add(estimator, loose=frozenset(parameters))
    names = getattr(estimator, "feature_names_in_", None)
    facts = {
        "class": type(estimator).__name__,
        "parameters": {name: repr(value)[:200] for name, value in parameters.items()},
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": int(estimator.n_features_in_),
        "n_components": int(estimator._n_features_out),
    }
    if roles is not None:
        facts["roles"] = roles.facts()
    _write_file(path, MARK, facts, encoder)


def save_objects(
    thing: Any, path: str | os.PathLike[str], mark: str, *, compact: bool = True
) -> None:
    """Write an object of a listed class to a file of the same format, under another mark.

    Arrays that are read and written again many times need not be ``compact``.
    """
    encoder = Encoder()
    encoder.add(thing)
    _write_file(path, mark, {"class": type(thing).__name__}, encoder, compact=compact)


def load_objects(path: str | os.PathLike[str], mark: str, cls: type[Thing]) -> Thing:
    """Read the object of a class that `save_objects` wrote under this mark."""
    with opened(path) as archive:
        return _object(archive, mark, cls)


def to_bytes(thing: Any, mark: str) -> bytes:
    """Return the content of the file that `save_objects` writes."""
    encoder = Encoder()
    encoder.add(thing)
    text, packed = _contents(mark, {"class": type(thing).__name__}, encoder)
    while True:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            _write_entries(archive, text, packed)
        allowed = Allowance.of_file(content.tell()).left
        if packed.unpacked <= allowed or not packed.deflate_less():
            return content.getvalue()


def from_bytes(content: bytes, mark: str, cls: type[Thing], name: str) -> Thing:
    """Return the object of such content, which need not be trusted; errors call it ``name``."""
    with opened(io.BytesIO(content), name) as archive:
        return _object(archive, mark, cls)


def _write_file(
    path: str | os.PathLike[str],
    mark: str,
    facts: dict[str, Any],
    encoder: Encoder,
    *,
    compact: bool = True,
) -> None:
    text, packed = _contents(mark, facts, encoder, compact=compact)
    with whole_file(path) as unfinished:
        while True:
            with zipfile.ZipFile(unfinished, "w") as archive:
                _write_entries(archive, text, packed)
            # A model of long constant runs shrinks more than a reader allows.
            allowed = Allowance.of_file(unfinished.stat().st_size).left
            if packed.unpacked <= allowed or not packed.deflate_less():
                break


def _contents(
    mark: str, facts: dict[str, Any], encoder: Encoder, *, compact: bool = True
) -> tuple[bytes, Packed]:
    """Return the text of the document and the arrays."""
    packed = Packed.of(encoder.arrays, compact=compact)
    document = {
        "mark": mark,
        "format": FORMAT,
        "versions": {
            "python": platform.python_version(),
            "twofold": __version__,
            **{package: version(package) for package in PACKAGES},
        },
        **facts,
        "objects": encoder.nodes,
        "arrays": packed.listed,
    }
    try:
        text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1).encode()
    except UnicodeEncodeError as error:
        raise ModelFileError(
            f"the text {error.object[error.start : error.end]!r} cannot be written to a model file."
        ) from None
    return text, packed


def _write_entries(archive: zipfile.ZipFile, text: bytes, packed: Packed) -> None:
    write(archive, "model.json", text)
    write(archive, "sha256", digest(text).encode())
    for name, payload, deflate in packed.entries:
        write(archive, name, payload, deflate=deflate)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file, without running anything in it.

    Parameters
    ----------
    path : str or path-like
        A file that `save` wrote.

    Returns
    -------
    TwoWayEstimator or KPlanes
        The fitted model. Its maps return the same bits as those of the saved model.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or has a format newer than this version reads.

    Examples
    --------
    The file need not be trusted: anything but a model raises an error, and nothing in it is run.

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
      fitted: 60 rows of 3 columns to 2 latents
    """
    return load_with_roles(path)[0]


def load_with_roles(path: str | os.PathLike[str]) -> tuple[Any, Roles]:
    """Read a model, and the roles of the columns beside its features if the file has them."""
    with opened(path) as archive:
        document = _document(archive, MARK)
        roles = Roles.of(document.get("roles"))
        model = Decoder(
            document.get("objects"), _arrays(archive, document), document["format"]
        ).get()
        _check_facts(document)
    if type(model).__name__ not in ESTIMATORS:
        raise ModelFileError(f"{path}: it holds a {type(model).__name__}, not an estimator.")
    try:
        check_is_fitted(model)
    except (NotFittedError, AttributeError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: the model in it is not fitted ({error}).") from None
    if not _describes(document, model):
        raise ModelFileError(f"{path}: its header describes another model.")
    return model, roles


def _describes(document: dict[str, Any], model: Any) -> bool:
    """Tell whether the facts for people are those of a model."""
    names = getattr(model, "feature_names_in_", None)
    return (
        document["class"] == type(model).__name__
        and document["n_features"] == model.n_features_in_
        and document.get("n_components") in (None, model._n_features_out)
        and document.get("feature_names")
        == (None if names is None else [str(name) for name in names])
    )


def sizes(path: str | os.PathLike[str]) -> list[tuple[str, int]]:
    """Return the attributes of a file's arrays and their bytes in it, the largest first.

    An array that several attributes share counts for the first one.
    """
    with opened(path) as archive:
        document = _document(archive, MARK)
        stored = {entry.filename: entry.compress_size for entry in archive.infolist()}
    objects, listed = document.get("objects"), document.get("arrays")
    names = names_of_arrays(objects if isinstance(objects, list) else [])
    found = []
    for number in range(len(listed) if isinstance(listed, list) else 0):
        parts = (f"{number}{part}.npy" for part in ("", *(f"-{place}" for place in range(N_PARTS))))
        n_bytes = sum(stored.get(part, 0) for part in parts)
        found.append((names.get(number, "unused"), n_bytes))
    return sorted(found, key=lambda one: -one[1])


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a file's class, parameters, features and versions, without reading its arrays."""
    with opened(path) as archive:
        document = _document(archive, MARK)
        _check_facts(document)
    return {key: value for key, value in document.items() if key not in ("objects", "arrays")}


def _check_facts(document: dict[str, Any]) -> None:
    """Raise an error if the facts for people are not of the types that `save` writes."""
    names, parameters, versions = (
        document.get(key) for key in ("feature_names", "parameters", "versions")
    )
    good = {
        "class": isinstance(document.get("class"), str),
        "n_features": _is_count(document.get("n_features")),
        "n_components": document.get("n_components") is None or _is_count(document["n_components"]),
        "feature_names": names is None or (isinstance(names, list) and _are_texts(names)),
        "parameters": isinstance(parameters, dict) and _are_texts(parameters.values()),
        "versions": isinstance(versions, dict) and _are_texts(versions.values()),
    }
    if bad := [key for key, fine in good.items() if not fine]:
        raise ModelFileError(f"{bad[0]} is not what a model file has there")
    Roles.of(document.get("roles"))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _object(archive: zipfile.ZipFile, mark: str, cls: type[Thing]) -> Thing:
    document = _document(archive, mark)
    arrays = _arrays(archive, document)
    found = Decoder(document.get("objects"), arrays, document["format"]).get()
    if not isinstance(found, cls):
        raise ModelFileError(f"it holds {type(found).__name__}, not {cls.__name__}")
    return found


def _document(archive: zipfile.ZipFile, mark: str) -> dict[str, Any]:
    """Return the checked contents of ``model.json``."""
    text = read(archive, "model.json", MOST_JSON)
    document = parsed(text)
    if not isinstance(document, dict) or document.get("mark") != mark:
        raise ModelFileError(f"model.json is not that of a {mark}")
    number = document.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ModelFileError(f"format={number!r} is not a number of a format")
    if number > FORMAT:
        versions = document.get("versions")
        writer = versions.get("twofold") if isinstance(versions, dict) else "later"
        raise ModelFileError(
            f"format {number} was written by twofold {str(writer)[:40]!r}; this version reads "
            f"up to format {FORMAT}: upgrade twofold"
        )
    if read(archive, "sha256", 64) != digest(text).encode():
        raise ModelFileError("the digest of model.json does not match: the file is damaged")
    return document


def _arrays(archive: zipfile.ZipFile, document: dict[str, Any]) -> list[AnyArray]:
    assert archive.fp is not None
    allowance = Allowance.of_file(archive.fp.seek(0, os.SEEK_END))
    plain_only = document["format"] in PLAIN_FORMATS

    def entry(name: str, n_bytes: int) -> bytes:
        return read(archive, name, n_bytes, None if plain_only else allowance)

    return Unpacking(entry, allowance, plain_only=plain_only).arrays(document.get("arrays"))
