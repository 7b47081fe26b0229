"""The imputers: functions of a table with NaN that return it filled, with deviations if they can.

Default settings, except where the name says otherwise. All run in one thread.
"""

import numpy as np

from benchmarks.imputation import iterated_pca


def two_way(name):
    """Return the imputer that is an estimator of ours with default settings."""

    def impute(X, seed):
        model = estimator(name, seed).fit(X)
        return model.impute(X, return_std=True)

    return impute


def estimator(name, seed):
    """Return one of ours."""
    import twofold

    return getattr(twofold, name)(random_state=seed)


def nearest(**settings):
    """Return scikit-learn's imputer by neighbors."""

    def impute(X, seed):  # noqa: ARG001 - it draws nothing
        from sklearn.impute import KNNImputer

        return KNNImputer(keep_empty_features=True, **settings).fit_transform(X), None

    return impute


def iterative(X, seed):
    """Impute by scikit-learn's regressions of each column on all others."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - it is experimental
    from sklearn.impute import IterativeImputer

    return IterativeImputer(random_state=seed, keep_empty_features=True).fit_transform(X), None


def principal_components(X, seed):  # noqa: ARG001 - its hidden cells are the same for all seeds
    """Impute by iterated PCA."""
    return iterated_pca.impute(X)[0], None


def column_mean(X, seed):  # noqa: ARG001 - it draws nothing
    """Impute the mean of each column."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X), None


OURS = ("UKR",)
JUDGED = ("UKR", "AutoTwoWay")
"""Fits that are judged by held-out rows; gaps are filled before a fit, by all of ours alike."""

METHODS = {
    **{name: two_way(name) for name in OURS},
    "KNNImputer": nearest(),
    'KNNImputer(weights="distance")': nearest(weights="distance"),
    "iterated PCA": principal_components,
    "column mean": column_mean,
    "IterativeImputer": iterative,
}
"""Ours come first, since the time limit of the others is a multiple of theirs."""

LIMITED = ("IterativeImputer",)
"""Methods that are stopped after ten times the seconds of ours."""
