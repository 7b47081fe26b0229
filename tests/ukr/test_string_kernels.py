"""Meinicke et al. (2005), section 6: kernel regression of strings, end to end."""

import numpy as np
import pytest

from twofold import UKR

LETTERS = "acgt"


def drifting_strings(n, seed, length=40):
    """Return strings whose letters drift from mostly "ac" to mostly "gt", and their positions."""
    rng = np.random.default_rng(seed)
    positions = np.sort(rng.uniform(0.0, 1.0, n))
    codes = [
        np.where(
            rng.uniform(size=length) < t, rng.integers(2, 4, length), rng.integers(0, 2, length)
        )
        for t in positions
    ]
    return ["".join(LETTERS[code] for code in row) for row in codes], positions


def spectrum_kernel(strings, others, k=2):
    """Return the inner products of the counts of all substrings of k letters."""
    words = [a + b for a in LETTERS for b in LETTERS]

    def counts(rows):
        return np.array(
            [[sum(s[i : i + k] == w for i in range(len(s))) for w in words] for s in rows]
        )

    return (counts(strings) @ counts(others).T).astype(float)


def encoded(strings):
    return np.array([[LETTERS.index(letter) for letter in s] for s in strings], dtype=float)


def kernel_of_codes(A, B):
    """Return the spectrum kernel of strings that are rows of letter numbers."""
    return spectrum_kernel(*(["".join(LETTERS[int(c)] for c in row) for row in M] for M in (A, B)))


@pytest.fixture(scope="module")
def strings():
    every, positions = drifting_strings(90, 0)
    train = np.arange(90) % 3 > 0
    texts = np.array(every)
    return texts[train], texts[~train], positions[train], positions[~train]


def test_precomputed(strings):
    train, test, positions, test_positions = strings
    settings = {"init": "isomap", "random_state": 0}
    model = UKR(1, metric="precomputed", **settings).fit(spectrum_kernel(train, train))
    assert abs(np.corrcoef(positions, model.embedding_[:, 0])[0, 1]) > 0.9
    Z = model.transform(spectrum_kernel(test, train))
    assert abs(np.corrcoef(test_positions, Z[:, 0])[0, 1]) > 0.85
    with pytest.raises(NotImplementedError, match="rows themselves are unknown"):
        model.inverse_transform(Z)
    # Along the manifold, the nearest strings drift from "ac" to "gt".
    line = np.linspace(*np.quantile(model.embedding_, [0.05, 0.95]), 8)[:, None]
    shares = [np.mean([c in "gt" for c in s]) for s in train[model.nearest_rows(line)]]
    assert abs(shares[-1] - shares[0]) > 0.5
    # Eq. (16): inner products with the manifold need no pre-image.
    inner = model.kernel_inner(spectrum_kernel(test, train), line)
    assert inner.shape == (len(test), 8)


def test_a_function_gives_the_same(strings):
    train, test, _, _ = strings
    settings = {"init": "isomap", "random_state": 0}
    given = UKR(1, metric="precomputed", **settings).fit(spectrum_kernel(train, train))
    model = UKR(1, metric=kernel_of_codes, **settings).fit(encoded(train))
    np.testing.assert_allclose(model.embedding_, given.embedding_, atol=1e-6)
    rows = spectrum_kernel(test, train)
    np.testing.assert_allclose(model.transform(encoded(test)), given.transform(rows), atol=1e-6)
    nearest = model.nearest_rows(model.embedding_)
    np.testing.assert_array_equal(nearest, given.nearest_rows(given.embedding_))
    with pytest.raises(NotImplementedError, match="only its values are known"):
        model.inverse_transform(model.embedding_)


def test_nearest_rows_are_the_nearest_in_feature_space(strings):
    train, _, _, _ = strings
    K = spectrum_kernel(train, train)
    model = UKR(1, metric="precomputed", init="isomap", random_state=0).fit(K)
    Z = np.linspace(model.embedding_.min(), model.embedding_.max(), 20)[:, None]
    b = np.exp(-0.5 * np.square(Z - model.embedding_.T))
    b /= b.sum(axis=1, keepdims=True)
    naive = (np.diagonal(K) - 2.0 * b @ K).argmin(axis=1)
    np.testing.assert_array_equal(model.nearest_rows(Z), naive)
