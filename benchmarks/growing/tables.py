"""Tables that come in batches, and held-out rows."""

from dataclasses import dataclass

import numpy as np

from twofold.datasets import load_mnist, make_swiss_roll

LATE = {7: 3, 8: 5, 9: 7}
"""Digits that are missing at first, and the number of the batch in which they appear."""

N_BATCHES, N_TEST = 10, 1_000


@dataclass(frozen=True)
class Stream:
    """Batches of rows, and held-out rows of all kinds; ``late`` marks batches with new regions."""

    batches: list
    test: np.ndarray
    late: tuple


def mnist(n_rows, seed):
    """Return MNIST in ten batches of random rows; 7, 8 and 9 appear in batches 4, 6 and 8."""
    data, rng = load_mnist(), np.random.default_rng(seed)
    chosen = rng.permutation(len(data.X_train))[:n_rows]
    labels, left = data.y_train[chosen], np.ones(len(chosen), dtype=bool)
    batches, size = [], n_rows // N_BATCHES
    for number in range(N_BATCHES):
        present = np.isin(labels, [one for one in range(10) if LATE.get(one, 0) <= number])
        taken = np.flatnonzero(left & present)[:size]
        if number == N_BATCHES - 1:
            taken = np.flatnonzero(left)
        left[taken] = False
        batches.append(data.X_train[chosen[rng.permutation(taken)]].astype(np.float64))
    test = data.X_test[rng.permutation(len(data.X_test))[:N_TEST]].astype(np.float64)
    return Stream(batches, test, tuple(LATE.values()))


def roll(n_rows, seed):
    """Return a noisy roll that becomes longer: two fifths first, then three more fifths."""
    X, places = make_swiss_roll(n_rows + N_TEST, 0.3, random_state=seed)
    test, X, along = X[n_rows:], X[:n_rows], places[:n_rows, 0]
    cuts = np.quantile(along, [0.4, 0.6, 0.8])
    part = np.searchsorted(cuts, along)
    return Stream([X[part == number] for number in range(4)], test, (1, 2, 3))


def clusters(n_rows, seed, n_clusters=8, n_columns=10):
    """Return clusters along bent curves, of which four appear one by one among known ones."""
    rng = np.random.default_rng(seed)
    n_each = (n_rows + N_TEST) // n_clusters
    axes = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
    rows = []
    for number in range(n_clusters):
        at = rng.uniform(-2.0, 2.0, n_each)
        first, second = axes[number], axes[(number + 1) % n_columns]
        bent = at[:, None] * first + np.square(at)[:, None] * 0.5 * second
        noise = 0.3 * rng.standard_normal((n_each, n_columns))
        rows.append(bent + noise + 8.0 * axes[(number + 2) % n_columns])
    n_test = N_TEST // n_clusters
    test = np.concatenate([one[:n_test] for one in rows])
    rows = [one[n_test:] for one in rows]
    half = len(rows[0]) // 2
    batches = [np.concatenate([one[:half] for one in rows[:4]])]
    for number in range(4, n_clusters):
        known = [one[half + (number - 4) :: 4] for one in rows[:4]]
        batches.append(np.concatenate([*known, rows[number]]))
    return Stream(batches, test, tuple(range(1, len(batches))))


TABLES = {"MNIST": mnist, "growing roll": roll, "late clusters": clusters}
ROWS = {"MNIST": 20_000, "growing roll": 3_000, "late clusters": 3_000}
