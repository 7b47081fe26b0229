"""One measurement at a time; each returns a record of plain figures."""

import warnings

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from benchmarks.trust.sets import (
    KINDS,
    one_against_the_rest,
    scale_of,
    split,
    with_planted_errors,
)
from twofold import DRUR, UKR, AutoTwoWay, TwoWay

METHODS = {
    "UKR": UKR,
    "DRUR": DRUR,
    "t-SNE, both maps": lambda **options: TwoWay("tsne", **options),
    "AutoTwoWay": AutoTwoWay,
}
LEVELS = (0.01, 0.05, 0.1)
WITHIN = 1.6448536269514722


def fitted(method, X, scale, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method](scale=scale, random_state=seed).fit(X)


def intervals(name, method, seed, most=600):
    """Return how often cells of new rows lie in their 90 % intervals, and the rank correlation."""
    X, X_new = split(name, seed, most)
    model = fitted(method, X, scale_of(name), seed)
    decoded, std = model.inverse_transform(model.transform(X_new), return_std=True)
    errors = np.abs(X_new - decoded)
    unit = X.std(axis=0)
    covered = errors <= WITHIN * std
    ranks = spearmanr((errors / unit).ravel(), (std / unit).ravel())[0]
    return {
        "covered": float(covered.mean()),
        "worst_column": float(covered.mean(axis=0).min()),
        "rank_correlation": float(ranks),
    }


def alarms(name, method, seed, most=600):
    """Return how many new rows there are, and how many of them are flagged at each level."""
    X, X_new = split(name, seed, most)
    scores = fitted(method, X, scale_of(name), seed).outlier_scores(X_new)
    flagged = {str(level): int((scores >= -np.log10(level) - 1e-6).sum()) for level in LEVELS}
    return {"rows": len(X_new), "flagged": flagged}


def one_class(name, label, seed, methods, most=400):
    """Return the area under the ROC curve of each detector."""
    X, X_new, strange = one_against_the_rest(name, label, seed, most)
    scores = {
        "IsolationForest": -IsolationForest(random_state=seed).fit(X).score_samples(X_new),
        "LocalOutlierFactor": -LocalOutlierFactor(novelty=True).fit(X).score_samples(X_new),
        "PCA, 95 %": _lost(PCA(0.95, svd_solver="full"), X, X_new),
        "PCA, 2 components": _lost(PCA(2, svd_solver="full"), X, X_new),
    }
    for method in methods:
        model = fitted(method, X, None, seed)
        scores[method] = model.outlier_scores(X_new)
        scores[f"{method}, error alone"] = model.reconstruction_error(X_new)
    return {one: float(roc_auc_score(strange, found)) for one, found in scores.items()}


def _lost(pca, X, X_new):
    rebuilt = pca.fit(X).inverse_transform(pca.transform(X_new))
    return np.square(X_new - rebuilt).sum(axis=1)


def planted(name, method, seed):
    """Return the ranks of planted errors by the score, the error and the density; 1 is first."""
    X, rows = with_planted_errors(name, seed)
    model = fitted(method, X, scale_of(name), seed)
    by = {
        "score": model.outlier_scores(X),
        "error": model.reconstruction_error(X),
        "density": -model.log_density(model.transform(X)),
    }
    ranks = {
        one: [int((found > found[row]).sum()) + 1 for row in rows] for one, found in by.items()
    }
    return {"rows": len(X), "kinds": list(KINDS), "ranks": ranks}
