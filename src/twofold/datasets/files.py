"""Loaders for data sets kept as files outside the library.

The files are not distributed with the library, since their licences differ. They are looked for
in one folder: ``TWOFOLD_DATA`` if that environment variable is set, else ``../shared/data`` beside
the project being worked in. Each is a compressed ``.npz`` of plain arrays, read without pickle.

Every loader returns a :class:`sklearn.utils.Bunch` of the file's arrays: ``X`` and ``y``, or, where
the set has an official split, ``X_train``, ``y_train`` and so on to ``X_test``, ``y_test``. Labels
are integers from 0, ``classes[k]`` names label ``k`` where names are known, and images are rows in
row-major order, so that ``x.reshape(image_shape)`` is upright.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

__all__ = [
    "UCI_NAMES",
    "data_folder",
    "load_coil20",
    "load_mnist",
    "load_oil_flow",
    "load_uci",
    "load_usps",
]

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
    """Return the folder where the loaders look; it need not exist.

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
    What the file holds, here with two rows in each part:

    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from unittest.mock import patch
    >>> import numpy as np
    >>> from twofold.datasets import load_oil_flow
    >>> widths = {"X": (2, 12), "y": (2,), "frac": (2, 2)}
    >>> parts = [(name, part) for name in widths for part in ("train", "valid", "test")]
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, TWOFOLD_DATA=folder):
    ...     arrays = {f"{name}_{part}": np.zeros(widths[name]) for name, part in parts}
    ...     np.savez(Path(folder, "oil_flow.npz"), **arrays)
    ...     data = load_oil_flow()
    >>> data.X_train.shape, data.frac_test.shape, data.classes.tolist()
    ((2, 12), (2, 2), ['homogeneous', 'annular', 'laminar'])
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
    What the file holds, here with two digits:

    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from unittest.mock import patch
    >>> import numpy as np
    >>> from twofold.datasets import load_usps
    >>> X, y = np.zeros((2, 256)), np.array([3, 8])
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, TWOFOLD_DATA=folder):
    ...     np.savez(Path(folder, "usps.npz"), X_train=X, y_train=y, X_test=X, y_test=y)
    ...     digits = load_usps()
    >>> digits.X_train[0].reshape(digits.image_shape).shape, digits.y_train.tolist()
    ((16, 16), [3, 8])
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
    What the file holds, here with two digits:

    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from unittest.mock import patch
    >>> import numpy as np
    >>> from twofold.datasets import load_mnist
    >>> X, y = np.zeros((2, 784), dtype=np.uint8), np.array([3, 8])
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, TWOFOLD_DATA=folder):
    ...     np.savez(Path(folder, "mnist.npz"), X_train=X, y_train=y, X_test=X, y_test=y)
    ...     digits = load_mnist()
    >>> digits.X_train[0].reshape(digits.image_shape).shape, digits.y_train.tolist()
    ((28, 28), [3, 8])
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
    Where the file is absent, an error says where it was looked for:

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from twofold.datasets import load_coil20
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, TWOFOLD_DATA=folder):
    ...     try:
    ...         load_coil20()
    ...     except FileNotFoundError as error:
    ...         print(str(error)[:42])
    coil20_32x32.npz is not in the data folder
    """
    return _load("coil20_32x32.npz", image_shape=(32, 32))


def load_uci(name: str) -> Bunch:
    """Load a labelled set of the UCI repository.

    Parameters
    ----------
    name : str
        One of :data:`UCI_NAMES`.

    Returns
    -------
    Bunch
        ``X`` (n_samples, n_features) and ``y`` (n_samples,), for "optdigits" and "satimage" as
        ``*_train`` and ``*_test``; ``classes`` where the names are known.

    Examples
    --------
    What a file holds, here with two rows:

    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from unittest.mock import patch
    >>> import numpy as np
    >>> from twofold.datasets import UCI_NAMES, load_uci
    >>> "wine" in UCI_NAMES
    True
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, TWOFOLD_DATA=folder):
    ...     Path(folder, "uci").mkdir()
    ...     np.savez(Path(folder, "uci", "wine.npz"), X=np.zeros((2, 13)), y=np.array([0, 1]))
    ...     wines = load_uci("wine")
    >>> wines.X.shape, wines.y.shape
    ((2, 13), (2,))
    """
    if name not in UCI_NAMES:
        raise ValueError(f"name must be one of {', '.join(UCI_NAMES)}, got {name!r}.")
    return _load(f"uci/{name}.npz")


def _load(file: str, **extra: Any) -> Bunch:
    """Return the arrays of a file in the data folder, and what is known besides."""
    folder = data_folder()
    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(
            f"{file} is not in the data folder {folder}: put it there, or set the environment "
            f"variable {_VARIABLE} to the folder that has it."
        )
    with np.load(path, allow_pickle=False) as stored:
        return Bunch(**{key: stored[key] for key in stored.files}, **extra)
