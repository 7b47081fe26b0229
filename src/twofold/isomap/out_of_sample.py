"""The maps of a geodesic embedding: kernel ridge regression, or a general regression network.

Factorizing the kernel of n rows costs ``n^3``. So beyond 1,000 rows some of them are centers: the
scale of the kernel is chosen on a sample, then all rows are fitted once, with a new ridge.

Which of the two is better depends on the data. A ridge regression is smooth and shrinks toward the
mean, which suits sheets, overlapping classes and many dimensions. A network returns means of nearby
latents, which suits compact classes in few dimensions: with two dimensions for 10 or 15 classes of
24 rows it is up to 25 percentage points better in front of a classifier. Without labels the lower
leave-one-out error of the latents decides. With labels the error of a classifier decides.

The decoder is fitted to the latents of the embedding. New rows get their latents from the encoder,
and those may differ: labels that have little to do with the data move rows to places that no
encoder predicts. A decoder of the embedding can then be worse than the mean of the data. If it
loses more than a tenth of the variance at the encoder's latents, and more than twice as much as a
decoder that is fitted to them or more than the mean, that one is used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from twofold.kernels import Gaussian
from twofold.maps import GRNN, KernelRidgeMap
from twofold.maps.affine import Predictor
from twofold.numerics.density import LatentDensity, likelihood_cv_bandwidth
from twofold.numerics.linalg import row_norms_sq
from twofold.numerics.neighbors import nearest
from twofold.numerics.threads import some_rows
from twofold.protocols import AnyArray, Array, IntArray

MOST_CENTERS = 1_000
"""Rows up to which every row is a center."""

FEWER_CENTERS = 500
"""Least number of centers beyond. With ``M`` centers the cost is ``n M^2``, so in between ``M``
falls with the root of ``n``: no table costs more than a larger one."""

CHOICE_ROWS = 1_000
"""Rows on which the scale is chosen if all rows are centers."""

CHOICE_CENTERS = 300
"""Centers on which the scale is chosen if some rows are centers."""

MOST_COMPARED = 20_000
"""Rows up to which a general regression network is compared: it predicts from all of them."""

VOTERS = 5
"""Nearest latents whose labels predict that of a row, in the comparison by labels."""

STANDARD_ERRORS = 1.0
"""Standard errors of the difference by which a network must be better in the comparison by labels.
With 2 the choice is as good in 8 and 16 dimensions and worse in 2 and 4."""

FINE = 0.1
"""Share of the variance up to which an error at the encoder's latents is accepted as it is."""

MUCH_WORSE = 2.0
"""Ratio of errors from which on the decoder is fitted to the encoder's latents."""

DENSITY_POINTS = 4_000
"""Number of latents that carry the density."""

DENSITY_ROWS = 1_000
"""Number of latents on which its width is chosen."""


def centers_among(n: int, n_centers: int | str) -> int:
    """Return how many of n rows are centers, for a number or "auto"."""
    if n_centers == "auto":
        fewer = max(FEWER_CENTERS, int(MOST_CENTERS * np.sqrt(MOST_CENTERS / n)))
        n_centers = n if n <= MOST_CENTERS else fewer
    return min(n, int(n_centers))


def fitted_ridge(
    inputs: Array, targets: Array, n_centers: int | str, rng: np.random.Generator
) -> KernelRidgeMap:
    """Fit a kernel ridge regression; leave-one-out errors choose its scale and ridge."""
    n = len(inputs)
    n_centers = centers_among(n, n_centers)
    if n_centers >= n and n <= CHOICE_ROWS:
        return KernelRidgeMap(kernel="rbf").fit(inputs, targets)
    centers = None
    sample = some_rows(n, CHOICE_ROWS)
    if n_centers < n:
        chosen = np.sort(rng.choice(n, size=n_centers, replace=False))
        centers = inputs[chosen]
        sample = chosen[some_rows(n_centers, CHOICE_CENTERS)]
    scale = KernelRidgeMap(kernel="rbf").fit(inputs[sample], targets[sample]).gamma_
    return KernelRidgeMap(kernel="rbf", gamma=scale, centers=centers).fit(inputs, targets)


def ridge_or_network(
    inputs: Array,
    targets: Array,
    n_centers: int | str,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> KernelRidgeMap | GRNN:
    """Return the ridge map or general regression network of the lower leave-one-out error.

    Copies of a row would predict each other, in a network without any error, so both are compared
    on distinct rows.
    """
    ridge = fitted_ridge(inputs, targets, n_centers, rng)
    if len(inputs) > MOST_COMPARED:
        return ridge
    network = GRNN(n_jobs=n_jobs).fit(inputs, targets)
    error_of_ridge, error_of_network = ridge.error_, network.error_
    first = _distinct(inputs)
    if len(first) < len(inputs):
        distinct, wanted = inputs[first], targets[first]
        error_of_ridge = fitted_ridge(distinct, wanted, n_centers, rng).error_
        error_of_network = GRNN(n_jobs=n_jobs).fit(distinct, wanted).error_
    return network if error_of_network < error_of_ridge else ridge


def ridge_or_network_by_labels(
    inputs: Array,
    targets: Array,
    labels: AnyArray,
    n_centers: int | str,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> KernelRidgeMap | GRNN:
    """Return the network if its latents predict clearly more labels than those of the ridge map.

    Both maps predict the latents of each row from the other rows. Five nearest neighbors among
    these latents predict its label. The network is returned if its share of right labels exceeds
    that of the ridge map by more than one standard error of the difference. Copies of a row would
    predict each other, so both are compared on distinct rows. Beyond 20,000 rows it is the ridge
    map.
    """
    ridge = fitted_ridge(inputs, targets, n_centers, rng)
    first = _distinct(inputs)
    if len(inputs) > MOST_COMPARED or len(first) <= VOTERS:
        return ridge
    network = GRNN(n_jobs=n_jobs).fit(inputs, targets)
    pair: tuple[KernelRidgeMap, GRNN] = ridge, network
    if len(first) < len(inputs):
        inputs, targets, labels = inputs[first], targets[first], labels[first]
        pair = (
            fitted_ridge(inputs, targets, n_centers, rng),
            GRNN(n_jobs=n_jobs).fit(inputs, targets),
        )
    right = [
        _right_votes(one.leave_one_out(inputs, targets), labels, n_jobs).astype(float)
        for one in pair
    ]
    gain = right[1] - right[0]
    clear = STANDARD_ERRORS * gain.std() / np.sqrt(len(gain))
    return network if gain.mean() > clear else ridge


def decoder_for(
    encoder: Predictor,
    fit: Callable[[Array, Array], KernelRidgeMap | GRNN],
    latents: Array,
    data: Array,
) -> KernelRidgeMap | GRNN:
    """Return the decoder of the latents, or of those that the encoder gives to rows.

    ``fit`` fits a decoder to latents (n, q) and data (n, D). Decoders are judged at the latents
    that the encoder gives to the rows, and, if it can leave a row out, to each row by the others.
    """
    decoder = fit(latents, data)
    places = [encoder.predict(data)]
    if hasattr(encoder, "leave_one_out"):
        places.append(encoder.leave_one_out(data, latents))

    def error(one: KernelRidgeMap | GRNN) -> float:
        return max(float(row_norms_sq(data - one.predict(codes)).mean()) for codes in places)

    errors, variance = [error(decoder)], float(row_norms_sq(data - data.mean(axis=0)).mean())
    if errors[0] <= min(max(MUCH_WORSE * decoder.error_, FINE * variance), variance):
        return decoder
    decoders = [decoder]
    for codes in places:
        if np.ptp(codes, axis=0).any():
            decoders += [fit(codes, data), GRNN().fit(codes, data)]
    # These have seen the rows at their latents, so that their leave-one-out error counts too.
    errors += [max(error(one), one.error_) for one in decoders[1:]]
    best = int(np.argmin(errors))
    is_better = errors[0] > MUCH_WORSE * errors[best] or errors[0] > variance
    return decoders[best] if is_better else decoder


def _right_votes(Z: Array, labels: AnyArray, n_jobs: int | None) -> AnyArray:
    """Return for each row (n,) whether its nearest others, by majority, have its label."""
    classes, numbers = np.unique(labels, return_inverse=True)
    near = nearest(Z, None, VOTERS, n_jobs=n_jobs)[0]
    votes = np.zeros((len(Z), len(classes)), dtype=np.int8)
    np.add.at(votes, (np.arange(len(Z))[:, None], numbers[near]), 1)
    right: AnyArray = votes.argmax(axis=1) == numbers
    return right


def _distinct(inputs: Array) -> IntArray:
    """Return the numbers of the first of equal rows, in ascending order."""
    first: IntArray = np.sort(np.unique(inputs, axis=0, return_index=True)[1])
    return first


def fitted_density(Z: Array) -> LatentDensity:
    """Fit the density of latents (n, q); beyond 4,000 to a sample."""
    some = Z[some_rows(len(Z), DENSITY_POINTS)]
    width = likelihood_cv_bandwidth(some, Gaussian(), most=DENSITY_ROWS)
    return LatentDensity(bandwidth=width).fit(some)
