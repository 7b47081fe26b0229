"""What a fit and the use of its model may do: the documented warnings and errors."""

import re

WARNINGS = (
    r"The data vary in only \d+ directions, fewer than n_components=",
    r"neighborhood graph had \d+ connected components, which were joined",
    r"max_iter=\d+: one iteration cannot show whether",
    r"was still falling by .* % per iteration when max_iter=",
    r"The iterations ran out \(max_iter=\d+\) while steps were still guided",
    r"Most rows of X lie far from the rows of the fit: ",
    r"Column .* has .*% of the variance, so the map shows little else",
    r"The data look like pure noise",
    r"No method is better than PCA with n_components=",
    r"The held-out error of .* is not lower than that of PCA",
    r"methods: '.*' ",
    r"init: the latents of .* vary in only \d+ of \d+ directions",
    r"Only \d+ of n_components=\d+ eigenvectors converged",
    r"\d+ % of the pairs have exponents e\^2 / beta above 36",
    r"All pairs have exponents e\^2 / beta close to 0",
    r"sees all rows as equally far apart, so the map has no order",
    r"All rows of X are equal: every plane passes through that row",
    r"All counts of X are 0: there is no library size to learn",
    r"Row \d+ of X has no counts",
    r"Column .* is left out: it has ",
    r"Column .* has levels that the fit has not seen",
)
"""Warnings that the documentation describes, as patterns."""

ERRORS = (
    r"n_components=\d+ must be (less than n_samples|at most n_features)=\d+",
    r"n_components=\d+ must be between 0 and \d+",
    r"domain='circle' has one dimension; n_components=\d+",
    r"\brange\b",
    r"[Rr]ow \d+ of X has only missing values",
    r"[Cc]olumn .* has only missing values",
    r"Row \d+ has no observed value in a column that varies",
    r"y has (one|1) class",
    r"X contains (NaN|infinity)",
    r"Found array with 1 sample",
    r"X has no column that varies: .* A map needs at least one\.",
    r"Negative values in data passed to LogCounts",
)
"""What a `ValueError` about data may say, as patterns."""


def documented(message, patterns):
    """Return whether a message is one of those."""
    return any(re.search(pattern, message) for pattern in patterns)
