"""Loaders for data sets in files outside the library, which licenses do not let us distribute.

The loaders look in one folder: ``TWOFOLD_DATA`` if that environment variable is set, else
``../shared/data`` beside the current project. Each file is a compressed ``.npz`` of plain arrays,
read without pickle.

Every loader returns a :class:`sklearn.utils.Bunch` of the file's arrays: ``X`` and ``y``, or, if
the set has an official split, ``X_train``, ``y_train`` to ``X_test``, ``y_test``. Labels are
integers from 0, ``classes[k]`` names label ``k`` if names are known, and images are rows in
row-major order, so ``x.reshape(image_shape)`` is upright.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from twofold.numerics.validation import check_choice

UCI_NAMES = (
    "glass",
    "ionosphere",
    "iris",
    "optdigits",
    "satimage",
    "segment",
    "sonar",
    "vehicle",
    "wdbc",
    "wine",
)
"""The names that :func:`load_uci` knows."""

_VARIABLE = "TWOFOLD_DATA"


def data_folder() -> Path:
    """Return the folder that the loaders read from; it need not exist.

    Returns
    -------
    Path
        The environment variable ``TWOFOLD_DATA`` if it is set and not empty, else
        ``../shared/data`` from the project's root: the nearest folder with a ``pyproject.toml``,
        from the current one upwards, or the current one if there is none.

    Examples
    --------
    >>> import os
    >>> from unittest.mock import patch
    >>> from twofold.datasets import data_folder
    >>> with patch.dict(os.environ, TWOFOLD_DATA="tables"):
    ...     print(data_folder())
    tables
    """
    if folder := os.environ.get(_VARIABLE):
        return Path(folder).expanduser()
    here = Path.cwd()
    root = next((p for p in (here, *here.parents) if (p / "pyproject.toml").is_file()), here)
    return root.parent / "shared" / "data"


def load_oil_flow() -> Bunch:
    """Load the three-phase oil flow data of Bishop & James (1993).

    Returns
    -------
    Bunch
        ``X_train``, ``X_valid``, ``X_test``, each of shape (1000, 12); labels ``y_*`` (1000,);
        phase fractions ``frac_*`` (1000, 2); ``classes`` (3,).

    Examples
    --------
    >>> from twofold.datasets import data_folder, load_oil_flow
    >>> if (data_folder() / "oil_flow.npz").exists():
    ...     assert load_oil_flow().X_train.shape == (1000, 12)
    """
    return _load("oil_flow.npz", classes=np.array(["homogeneous", "annular", "laminar"]))


def load_usps() -> Bunch:
    """Load the USPS digits, 16 x 16 pixels in [-1, 1].

    Returns
    -------
    Bunch
        ``X_train`` (7291, 256), ``y_train`` (7291,), ``X_test`` (2007, 256), ``y_test`` (2007,),
        ``image_shape``.

    Examples
    --------
    >>> from twofold.datasets import data_folder, load_usps
    >>> if (data_folder() / "usps.npz").exists():
    ...     assert load_usps().X_train.shape == (7291, 256)
    """
    return _load("usps.npz", image_shape=(16, 16))


def load_mnist() -> Bunch:
    """Load the MNIST digits, 28 x 28 pixels from 0 to 255 in uint8.

    Returns
    -------
    Bunch
        ``X_train`` (60000, 784), ``y_train`` (60000,), ``X_test`` (10000, 784), ``y_test``
        (10000,), ``image_shape``.

    Examples
    --------
    >>> from twofold.datasets import data_folder, load_mnist
    >>> if (data_folder() / "mnist.npz").exists():
    ...     assert load_mnist().image_shape == (28, 28)
    """
    return _load("mnist.npz", image_shape=(28, 28))


def load_coil20() -> Bunch:
    """Load COIL-20: 20 objects in 72 poses, 32 x 32 pixels in [0, 1].

    Returns
    -------
    Bunch
        ``X`` (1440, 1024), ``y`` (1440,), ``angle`` (1440,) in degrees, ``image_shape``.

    Examples
    --------
    >>> from twofold.datasets import data_folder, load_coil20
    >>> if (data_folder() / "coil20_32x32.npz").exists():
    ...     assert load_coil20().X.shape == (1440, 1024)
    """
    return _load("coil20_32x32.npz", image_shape=(32, 32))


def load_uci(name: str) -> Bunch:
    """Load a labeled set of the UCI repository.

    Parameters
    ----------
    name : str
        One of :data:`UCI_NAMES`.

    Returns
    -------
    Bunch
        ``X`` (n_samples, n_features) and ``y`` (n_samples,), for "optdigits" and "satimage" as
        ``*_train`` and ``*_test``; ``classes`` if the names are known.

    Examples
    --------
    >>> from twofold.datasets import UCI_NAMES, data_folder, load_uci
    >>> "wine" in UCI_NAMES
    True
    >>> if (data_folder() / "uci" / "wine.npz").exists():
    ...     assert load_uci("wine").X.shape == (178, 13)
    """
    return _load(f"uci/{check_choice('name', name, UCI_NAMES)}.npz")


def _load(file: str, **extra: Any) -> Bunch:
    """Return the arrays of a file in the data folder, and extra entries."""
    folder = data_folder()
    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(
            f"{file} is not in the data folder {folder}: put it there, or set the environment "
            f"variable {_VARIABLE} to the folder that has it."
        )
    with np.load(path, allow_pickle=False) as stored:
        return Bunch(**{key: stored[key] for key in stored.files}, **extra)
