"""The sets of the benchmark, the cheap ones first."""

import numpy as np

from benchmarks.rivals.continuum import make_continuum
from benchmarks.rivals.data import HELD_OUT, SPLIT_SEED, DataSet, Split, split

OWN_UNITS = ("iris", "wine", "glass", "wdbc", "vehicle", "segment")
"""Tables of UCI whose columns have units of their own: each column is standardized."""
COMMON_UNITS = ("sonar", "ionosphere", "optdigits", "satimage")
SIZES = {3: (10**3, 10**4, 10**5, 10**6), 100: (10**3, 10**4, 10**5, 10**6)}
QUICK_SIZES = {3: (500, 6_000), 100: (500,)}
MOST_ROWS, MOST_VALUES = 500_000, 5_000_000
"""A roll with more rows or more numbers runs only if it is named."""

DIGITS, PER_DIGIT, N_ANGLES = (2, 4, 7), 10, 48


def catalogue(quick):
    """Return the sets of a run: all, or all at reduced sizes."""
    from twofold import datasets

    def of(loader, rows):
        def load():
            return split(
                loader(), most=rows if quick else None, held_out=200 if quick else HELD_OUT
            )

        return load

    def uci(name):
        return DataSet(
            name, of(lambda: datasets.load_uci(name), 1_000), per_column=name in OWN_UNITS
        )

    def rolls(fewest, most):
        return [
            _synthetic(f"Swiss roll {d}-D, {n:,}", datasets.make_swiss_roll, n, d, quick)
            for d, rows in (QUICK_SIZES if quick else SIZES).items()
            for n in rows
            if fewest <= n <= most
        ]

    return [
        *(uci(name) for name in ("iris", "wine", "glass", "sonar", "ionosphere", "wdbc")),
        uci("vehicle"),
        DataSet("digits", of(load_digits, 500)),
        DataSet("oil flow", of(datasets.load_oil_flow, 400)),
        DataSet("COIL-20", of(datasets.load_coil20, 400)),
        DataSet("rotated digits", of(rotated_digits, 400)),
        _synthetic("S-curve", datasets.make_s_curve, 400 if quick else 1_500, 3, quick),
        *rolls(0, 1_000),
        uci("segment"),
        DataSet("branching continuum", of(continuum, 1_000)),
        uci("optdigits"),
        uci("satimage"),
        DataSet("USPS", of(datasets.load_usps, 1_000)),
        *rolls(1_001, 10_000),
        DataSet("MNIST", of(mnist, 6_000)),
        *rolls(10_001, 10**6),
    ]


def load_digits():
    from sklearn.datasets import load_digits as load

    return dict(zip(("X", "y"), load(return_X_y=True), strict=True))


def mnist():
    """Return MNIST with pixels in [0, 1], the unit of the published errors."""
    from twofold.datasets import load_mnist

    found = load_mnist()
    pixels = {name: found[name] / np.float32(255.0) for name in ("X_train", "X_test")}
    return pixels | {name: found[name] for name in ("y_train", "y_test")}


def rotated_digits():
    """Return ten images each of three digits of MNIST, rotated to 48 angles.

    The true parameters are the cosine and the sine of the angle.
    """
    from scipy.ndimage import rotate

    from twofold.datasets import load_mnist

    data = load_mnist()
    angles = np.arange(N_ANGLES) * 360.0 / N_ANGLES
    chosen = np.concatenate([np.flatnonzero(data.y_train == d)[:PER_DIGIT] for d in DIGITS])
    images = [
        rotate(data.X_train[row].reshape(28, 28) / 255.0, angle, reshape=False, order=1).ravel()
        for row in chosen
        for angle in angles
    ]
    turn = np.tile(np.radians(angles), len(chosen))
    return {
        "X": np.array(images),
        "y": np.repeat(data.y_train[chosen], N_ANGLES),
        "truth": np.column_stack([np.cos(turn), np.sin(turn)]),
    }


def continuum():
    return dict(zip(("X", "y"), make_continuum(), strict=True))


def _synthetic(name, make, rows, n_features, quick):
    n_test = 200 if quick else HELD_OUT

    def load():
        X, truth = make(rows + n_test, n_features=n_features, random_state=SPLIT_SEED)
        return Split(X[:rows], X[rows:], truth_train=truth[:rows], truth_test=truth[rows:])

    rare = rows > MOST_ROWS or rows * n_features > MOST_VALUES
    return DataSet(name, load, name.split(",")[0], on_request=rare)
